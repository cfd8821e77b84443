"""What did a model answer? Reads JSON out of whatever came, loses nothing that can be used.

Models wrap their answers in fences and prose, stop halfway, leave commas, answer by a tool call,
give a list for an object, repeat the schema, refuse, or say nothing. What can be repaired is, and
every repair is named; what cannot is a `ModelFailed` whose `failure` says which. Nothing else is
ever raised, and no name that was not in the question comes back.
"""

import contextlib
import functools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, cast, get_args

from pydantic import TypeAdapter, ValidationError

from hindsight_ray.core.shapes import ITEMS_MAX, Shape
from hindsight_ray.domain.chat import Failure
from hindsight_ray.domain.text import cut_text
from hindsight_ray.errors import ModelFailed

CHARACTERS_MAX = 100_000  # of an answer that is looked at
DEPTH_MAX = 40
_CANDIDATES_MAX = 4

_FENCE = re.compile(r"```[a-zA-Z0-9_-]{0,20}\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_SPECIAL = re.compile(r"<\|[a-z_]{1,40}\|>|</?tool_call>|\[TOOL_CALLS\]")
_REFUSES = re.compile(
    r"\b(?:i(?:'m| am)? (?:sorry|unable|afraid)|i can(?:'t|not| not)|i won't|as an ai|cannot assist"
    r"|can't (?:help|assist)|not able to (?:help|assist|comply))\b"
    r"|抱歉|对不起|我无法|无法提供|不能协助"
)
_WRAPPERS = ("arguments", "parameters", "input", "result", "response", "answer", "output", "data")
_SCHEMA_WORDS = frozenset({"$ref", "anyof", "allof", "items", "properties", "title", "enum"})
_SCHEMA_TYPES = ("string", "object", "array", "number", "integer", "boolean")

S = TypeVar("S", bound=Shape)


@dataclass(frozen=True, slots=True)
class Read(Generic[S]):
    """The answer, and what had to be done or left out to have it."""

    value: S
    repairs: tuple[str, ...] = ()


def read_answer(text: str, shape: type[S]) -> Read[S]:
    """Return the answer in `text` as `shape`. Raises `ModelFailed` with `failure` and no other."""
    repairs: list[str] = []
    clean = _clean(text, repairs)
    if not clean.strip():
        fail("empty", "the model answered nothing")
    fields: dict[str, Any] | None = None
    for found, done in _readings(clean):
        more = [done] if done else []
        fields = _fields(found, shape, more)
        if fields is not None:
            repairs += more
            break
    if fields is None:
        if _REFUSES.search(clean[:600].casefold()):
            fail("refusal", f"the model refused: {_begin(clean)}")
        fail("unparsable", f"the answer is no {shape.__name__}: {_begin(clean)}")
    return Read(_validated(fields, shape, repairs), tuple(dict.fromkeys(repairs)))


def fail(failure: Failure, why: str) -> NoReturn:
    """Raise the typed failure of an answer."""
    raise ModelFailed(cut_text(why, 400)[0], failure=failure)


def _begin(text: str) -> str:
    return repr(cut_text(" ".join(text[:400].split()), 160)[0])


def _clean(text: str, repairs: list[str]) -> str:
    if len(text) > CHARACTERS_MAX:
        repairs.append("cut to its first characters")
        text = text[:CHARACTERS_MAX]
    clean = cut_text(text, CHARACTERS_MAX + 1)[0]
    if "\ufffd" in clean and "\ufffd" not in text:
        repairs.append("characters that are none replaced")
    bare = _SPECIAL.sub(" ", _THOUGHT.sub(" ", clean)).strip("\ufeff \t\r\n")
    if bare != clean.strip():
        repairs.append("taken out of marks")
    return bare


def _readings(text: str) -> Iterator[tuple[object, str]]:
    """Every JSON value that the text may be meant as, the surest first, and how it was had."""
    with contextlib.suppress(ValueError, RecursionError):
        yield _strict(text), ""
    fenced = sorted((m.group(1) for m in _FENCE.finditer(text)), key=len, reverse=True)
    marked = [(one, "taken out of a fence") for one in fenced[:_CANDIDATES_MAX]]
    marked += [(one, "taken out of prose") for one in _bracketed(text)]
    for candidate, how in marked:
        try:
            yield _strict(candidate), how
        except (ValueError, RecursionError):
            continue
    for candidate, _ in marked:
        yield _repaired(candidate), "broken JSON repaired"


def _bracketed(text: str) -> list[str]:
    """From the first bracket to the last that closes it, and to the end where none does."""
    found: list[str] = []
    for opening, closing in (("{", "}"), ("[", "]")):
        start = text.find(opening)
        if start < 0:
            continue
        end = text.rfind(closing)
        if end > start:
            found.append(text[start : end + 1])
        found.append(text[start:])
    return sorted(found, key=lambda one: text.find(one[:1]))


def _strict(text: str) -> object:
    return json.loads(text, parse_constant=_no_number)


def _no_number(_name: str) -> None:
    """`NaN` and infinities are no numbers: nothing was said there."""
    return


def _repaired(text: str) -> object:
    import json_repair  # noqa: PLC0415 - few answers need mending

    try:
        return cast("object", json_repair.loads(text, skip_json_loads=True))
    except Exception:  # noqa: BLE001 - whatever a repair stumbles over, the answer is unparsable
        return None


def _fields(found: object, shape: type[Shape], repairs: list[str]) -> dict[str, Any] | None:
    """The object that answers, taken out of lists, wrappers, tool calls and schemas."""
    for _ in range(4):
        if isinstance(found, str):
            told = _readings(found) if found.strip()[:1] in ("{", "[") else iter(())
            found = next((one for one, _ in told if _holds(one)), None)
        if isinstance(found, list):
            found = _of_list(cast("list[object]", found), shape, repairs)
        if not isinstance(found, dict):
            return None
        fields = _plain(cast("dict[object, object]", found))
        if set(fields) & set(shape.model_fields) or (not fields and _all_optional(shape)):
            return _without_schema(fields, shape, repairs)
        inner = _wrapped(fields, shape, repairs)
        if inner is None:
            return None
        found = inner
    return None


def _all_optional(shape: type[Shape]) -> bool:
    return not any(field.is_required() for field in shape.model_fields.values())


def _holds(value: object) -> bool:
    return isinstance(value, dict | list) and bool(cast("object", value))


def _of_list(items: list[object], shape: type[Shape], repairs: list[str]) -> object:
    """A list where an object belongs: its one object, or the shape's only list."""
    objects = [cast("dict[object, object]", one) for one in items if isinstance(one, dict)]
    lists = [name for name, field in shape.model_fields.items() if _is_list(field.annotation)]
    ours = [one for one in objects if set(map(str, one)) & set(shape.model_fields)]
    if ours:
        repairs.append("taken out of a list")
        return ours[0] if len(ours) == 1 else _merged(ours, lists)
    if len(objects) == 1 and len(items) == 1 and (len(lists) != 1 or _enveloped(objects[0])):
        repairs.append("taken out of a list")
        return objects[0]
    if len(lists) == 1:
        repairs.append(f"a list read as `{lists[0]}`")
        return {lists[0]: items}
    return None


def _enveloped(item: Mapping[object, object]) -> bool:
    return bool({*_WRAPPERS, "function", "tool_calls", "properties"} & set(_plain(item)))


def _merged(objects: list[dict[object, object]], lists: list[str]) -> dict[object, object]:
    whole: dict[object, object] = {}
    for one in objects:
        for name, value in one.items():
            kept = whole.get(name)
            if name in lists and isinstance(kept, list) and isinstance(value, list):
                whole[name] = [*cast("list[object]", kept), *cast("list[object]", value)]
            else:
                whole.setdefault(name, value)
    return whole


def _is_list(annotation: object) -> bool:
    return str(annotation).startswith("list[")


def _plain(fields: Mapping[object, object]) -> dict[str, Any]:
    return {str(name).strip().strip("\"'`").casefold(): value for name, value in fields.items()}


def _wrapped(fields: dict[str, Any], shape: type[Shape], repairs: list[str]) -> object:
    """What a tool call, an envelope or a schema holds inside."""
    if "properties" in fields:
        inner: object = fields["properties"]
        if isinstance(inner, dict) and not _is_schema(cast("dict[object, object]", inner)):
            repairs.append("taken out of a schema")
            return cast("object", inner)
        fail("echoed schema", "the model repeated the schema instead of filling it in")
    function = fields.get("function")
    if isinstance(function, dict):
        repairs.append("taken out of a tool call")
        return cast("object", function)
    calls = fields.get("tool_calls")
    if isinstance(calls, list) and calls:
        repairs.append("taken out of a tool call")
        return cast("object", calls[0])
    for name in (shape.__name__.casefold(), *_WRAPPERS):
        if isinstance(fields.get(name), dict | list | str):
            called = name in ("arguments", "parameters", "input")
            repairs.append("taken out of a tool call" if called else f"taken out of `{name}`")
            return fields[name]
    if len(fields) == 1:
        (only,) = fields.values()
        if isinstance(only, dict | list):
            repairs.append("taken out of an envelope")
            return cast("object", only)
    return None


def _is_schema(properties: Mapping[object, object]) -> bool:
    """Whether these describe fields (`{"path": {"type": "string"}}`) instead of giving them."""
    told = [
        isinstance(one, dict) and _describes(_plain(cast("dict[object, Any]", one)))
        for one in properties.values()
    ]
    return bool(told) and all(told)


def _describes(fields: Mapping[str, Any]) -> bool:
    return bool(_SCHEMA_WORDS & set(fields)) or fields.get("type") in _SCHEMA_TYPES


def _without_schema(
    fields: dict[str, Any], shape: type[Shape], repairs: list[str]
) -> dict[str, Any]:
    """The shape's fields; a description that stands in a field's place is nothing said."""
    own = {name: fields[name] for name in shape.model_fields if name in fields}
    schemas = [name for name, value in own.items() if _is_schema({"one": value})]
    if schemas and len(schemas) == len(own):
        fail("echoed schema", "the model repeated the schema instead of filling it in")
    unknown = sorted(set(fields) - set(own))
    if unknown:
        repairs.append(f"unknown field `{cut_text(unknown[0], 40)[0]}` left out")
    return {name: value for name, value in own.items() if name not in schemas}


def _validated(fields: dict[str, Any], shape: type[S], repairs: list[str]) -> S:
    """Check field by field and item by item, so that one bad item costs itself alone."""
    fitting: dict[str, Any] = {}
    for name, raw in fields.items():
        value = _fitted(raw, 0)
        if value is None:
            continue
        if _is_list(shape.model_fields[name].annotation):
            value = _items(name, value, shape, repairs)
        fitting[name] = value
    try:
        return shape.model_validate(fitting)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or shape.__name__
        fail("unfit", f"`{where}` of the answer: {first['msg']}")


def _items(name: str, value: Any, shape: type[Shape], repairs: list[str]) -> list[Any]:
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    if len(items) > ITEMS_MAX:
        repairs.append(f"only {ITEMS_MAX} of `{name}` looked at")
    kept: list[Any] = []
    for item in items[:ITEMS_MAX]:
        ready = _named(cast("dict[object, object]", item)) if isinstance(item, dict) else item
        try:
            _item_of(shape, name).validate_python(ready)
        except ValidationError:
            repairs.append(f"an item of `{name}` left out")
            continue
        kept.append(ready)
    return kept


@functools.cache
def _item_of(shape: type[Shape], name: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_args(shape.model_fields[name].annotation)[0])


def _named(item: Mapping[object, object]) -> dict[str, Any]:
    """An item's fields; ids are taken as a list, whatever they came as."""
    fields = _plain(item)
    events = fields.get("events", fields.get("event", fields.get("event_ids")))
    if events is not None:
        fields["events"] = _names(cast("object", events))
    for name in ("tools", "steps"):
        if isinstance(fields.get(name), str):
            fields[name] = [fields[name]]
    return fields


def _names(events: object) -> list[str]:
    if isinstance(events, str):
        return [part for part in re.split(r"[\s,;\[\]()]+", events) if part]
    if isinstance(events, list):
        return [str(one).strip("[]() ") for one in cast("list[object]", events)]
    return [str(events)]


def _fitted(value: Any, depth: int) -> Any:
    """A value without what JSON cannot hold, cut where it is too deep."""
    if depth > DEPTH_MAX:
        return None
    if isinstance(value, dict):
        items = cast("dict[object, Any]", value).items()
        fitted = {str(name): _fitted(one, depth + 1) for name, one in items}
        return {name: one for name, one in fitted.items() if one is not None}
    if isinstance(value, list):
        many = (_fitted(one, depth + 1) for one in cast("list[Any]", value))
        return [one for one in many if one is not None]
    if isinstance(value, str):
        return cut_text(value, CHARACTERS_MAX)[0]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True, slots=True)
class Names:
    """The short names under which a prompt shows events, so that answers can cite them."""

    ids: Mapping[str, str]  # `e12` to the event's id

    def of(self, said: list[str]) -> tuple[tuple[str, ...], str | None]:
        """The ids of what was cited, each once, and the first name that is unknown."""
        found: list[str] = []
        for one in said:
            name = one.strip().strip("#`'\"").casefold()
            known = self.ids.get(name) or (name if name in self._all else None)
            if known is None:
                return (), one
            found.append(known)
        return tuple(dict.fromkeys(found)), None

    @property
    def _all(self) -> frozenset[str]:
        return frozenset(self.ids.values())
