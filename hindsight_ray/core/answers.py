"""What did a model answer? Reads JSON out of whatever came, loses nothing that can be used.

Models wrap their answers in fences and prose, stop halfway, leave commas, answer by a tool call,
give a list for an object, repeat the schema, refuse, or say nothing. What can be repaired is, and
every repair is named; what cannot is a `ModelFailed` whose `failure` says which. Nothing else is
ever raised, and no name that was not in the question comes back.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, cast, get_args

from pydantic import ValidationError

from hindsight_ray.core.json_in_text import REPAIRED, readings, unquoted
from hindsight_ray.core.loose import fields_of, says_nothing
from hindsight_ray.core.shapes import ITEMS_MAX, REFS_MAX, Shape
from hindsight_ray.domain.chat import Failure
from hindsight_ray.domain.text import cut_text
from hindsight_ray.errors import ModelFailed

CHARACTERS_MAX = 100_000  # of an answer that is looked at
DEPTH_MAX = 40
_NO_WORDS = frozenset({"null", "none", "true", "false", "json"})

# Some templates open the thought themselves, so that an answer has its end alone.
_THINKS = r"(?:think(?:ing)?|thoughts?|reasoning|analysis|reflection|scratchpad)"
_THOUGHT_ENDS = re.compile(rf"</{_THINKS}>", re.IGNORECASE)
_THOUGHT = re.compile(rf"<{_THINKS}>.*?</{_THINKS}>", re.DOTALL | re.IGNORECASE)
_THOUGHTS_MAX = 16
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
    lost: tuple[str, ...] = ()  # those repairs by which something that was said is not there


def read_answer(text: str, shape: type[S]) -> Read[S]:
    """Return the answer in `text` as `shape`. Raises `ModelFailed` with `failure` and no other."""
    repairs: list[str] = []
    clean = _clean(text, repairs)
    if not clean.strip():
        fail("empty", "the model answered nothing")
    fields: dict[str, Any] | None = None
    for found, done in readings(clean):
        more = [done] if done else []
        fields = _fields(found, shape, more)
        if fields is not None and not (done == REPAIRED and _lost_all(fields, clean, shape)):
            repairs += more
            break
        fields = None
    if fields is None:
        if _REFUSES.search(clean[:600].casefold()):
            fail("refusal", f"the model refused: {_begin(clean)}")
        fail("unparsable", f"the answer is no {shape.__name__}: {_begin(clean)}")
    lost: list[str] = []
    value = _validated(fields, shape, lost)
    return Read(value, tuple(dict.fromkeys([*repairs, *lost])), tuple(dict.fromkeys(lost)))


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
    bare = _SPECIAL.sub(" ", _without_thoughts(clean)).strip("\ufeff \t\r\n")
    if bare != clean.strip():
        repairs.append("taken out of marks")
    return bare


def _lost_all(fields: Mapping[str, Any], text: str, shape: type[Shape]) -> bool:
    """Whether a repair has made nothing of a text that does say something."""
    if any(fields.values()):
        return False
    own = {part for name in shape.model_fields for part in name.casefold().split("_")}
    said = (word.casefold() for word in re.findall(r"[^\W_]+", text))
    return any(word not in own | _NO_WORDS for word in said)


def _fields(found: object, shape: type[Shape], repairs: list[str]) -> dict[str, Any] | None:
    """The object that answers, taken out of lists, wrappers, tool calls and schemas."""
    for _ in range(6):
        if isinstance(found, str):
            found = unquoted(found)
        if isinstance(found, list):
            found = _of_list(cast("list[object]", found), shape, repairs)
        if not isinstance(found, dict):
            return None
        fields = _plain(cast("dict[object, object]", found))
        if set(fields) & set(shape.model_fields) or (not fields and _all_optional(shape)):
            return _without_schema(fields, shape, repairs)
        item = _item_of_one_list(fields, shape)
        inner = _wrapped(fields, shape, repairs) if item is None else item
        if inner is None:
            return None
        found = inner
    return None


def _item_of_one_list(fields: dict[str, Any], shape: type[Shape]) -> dict[str, Any] | None:
    """One item, or items by name, where an object with a list of them belongs."""
    for found, items in _item_shapes(shape).items():
        needed = {name for name, field in items.model_fields.items() if field.is_required()}
        if needed <= set(fields) and len(needed) > 1:
            return {found: [fields]}
        inner = [
            cast("dict[object, object]", one) for one in fields.values() if isinstance(one, dict)
        ]
        if not fields or len(inner) < len(fields) or len(_item_shapes(shape)) > 1:
            continue
        lacking = [needed - set(_plain(one)) for one in inner]
        if all(len(one) <= 1 for one in lacking) and len(needed) > 1:
            named = zip(fields, inner, lacking, strict=True)
            return {found: [_plain(one) | dict.fromkeys(lacks, name) for name, one, lacks in named]}
    return None


def _item_shapes(shape: type[Shape]) -> dict[str, type[Shape]]:
    """The lists whose items are objects, each kind of item that one list alone has."""
    kinds = {name: _kind_of_items(shape, name) for name in shape.model_fields}
    found = {name: kind for name, kind in kinds.items() if kind is not None}
    return {name: kind for name, kind in found.items() if list(found.values()).count(kind) == 1}


def _kind_of_items(shape: type[Shape], name: str) -> type[Shape] | None:
    annotation = shape.model_fields[name].annotation
    if not _is_list(annotation):
        return None
    (kind,) = get_args(annotation)
    return kind if isinstance(kind, type) and issubclass(kind, Shape) else None


def _without_thoughts(text: str) -> str:
    """What comes after the last of them; where nothing does, what is beside them."""
    ends = [found.end() for found in _THOUGHT_ENDS.finditer(text)]
    if not ends:
        return text
    rest = text[ends[-1] :]
    if "{" in rest or "[" in rest:
        return rest
    return _THOUGHT.sub(" ", text) if len(ends) <= _THOUGHTS_MAX else text


def _all_optional(shape: type[Shape]) -> bool:
    return not any(field.is_required() for field in shape.model_fields.values())


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


def _validated(fields: dict[str, Any], shape: type[S], lost: list[str]) -> S:
    """Check field by field and item by item, so that one bad item costs itself alone."""
    fitting: dict[str, Any] = {}
    for name, raw in fields_of(fields, shape).items():
        value = _fitted(raw, 0)
        if value is None:
            continue
        if _is_list(shape.model_fields[name].annotation):
            value = _items(name, value, shape, lost)
        fitting[name] = value
    value, bad = _model(fitting, shape, shape.__name__, lost)
    if value is None:
        fail("unfit", f"{bad} of the answer does not fit")
    return value


def _items(name: str, value: Any, shape: type[Shape], lost: list[str]) -> list[Any]:
    """The items that fit. Where none of several does, the list was not read: that is a failure."""
    kind = _kind_of_items(shape, name)
    items = _listed(value, kind)
    if len(items) > ITEMS_MAX:
        lost.append(f"only {ITEMS_MAX} of `{name}` looked at")
    kept: list[Any] = []
    why = ""
    for item in items[:ITEMS_MAX]:
        if kind is None:
            fits = isinstance(item, str)
            if fits:
                kept.append(item)
            bad = "" if fits else "it is no text"
        elif isinstance(item, dict):
            named = _plain(cast("dict[object, object]", item))
            found, bad = _model(fields_of(named, kind), kind, f"an item of `{name}`", lost)
            if found is not None:
                kept.append(found)
        else:
            bad = "it is no object"
        if bad:
            lost.append(f"an item of `{name}` left out: {bad}")
            why = why or bad
    if items and not kept:
        fail("unfit", f"no item of `{name}` fits: {why}")
    return kept


def _listed(value: Any, kind: type[Shape] | None) -> list[Any]:
    """A list, whatever came in its place: one item, items by number, or a word for nothing."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    if says_nothing(value):
        return []
    if isinstance(value, dict) and kind is not None:
        inner = cast("dict[object, Any]", value)
        if all(isinstance(one, dict) for one in inner.values()):
            return list(inner.values())
    return [value]


def _model(
    fields: dict[str, Any], shape: type[S], what: str, lost: list[str]
) -> tuple[S | None, str]:
    """The value, without fields that do not fit and need not be there; else None, and why."""
    own = {name: value for name, value in fields.items() if name in shape.model_fields}
    try:
        return shape.model_validate(own), ""
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)
    bad = {str(one["loc"][0]): str(one["msg"]) for one in told if one["loc"]}
    name = next((one for one in bad if shape.model_fields[one].is_required()), None)
    if name is not None or not bad:
        return None, f"`{name or what}`: {bad.get(name or '', 'it does not fit')}"
    lost += [f"`{one}` of {what} left out" for one in bad]
    return shape.model_validate({one: value for one, value in own.items() if one not in bad}), ""


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


_CITED = re.compile(r"(?:(?:events?|steps?|事件|步骤)\s*)?#?e?(\d{1,9})")
_RANGE = re.compile(r"e?(\d{1,9})\s*(?:-|\u2013|\u2014|~|\.{2,3}|to|至|到)\s*e?(\d{1,9})")


def _cited(name: str) -> list[str]:
    """The short names that a citation names: `e3`, `3`, `event e3`, `e3-e5`."""
    span = _RANGE.fullmatch(name)
    if span is not None and 0 <= int(span[2]) - int(span[1]) < REFS_MAX:
        return [f"e{n}" for n in range(int(span[1]), int(span[2]) + 1)]
    one = _CITED.fullmatch(name)
    return [name if one is None else f"e{int(one[1])}"]


@dataclass(frozen=True, slots=True)
class Names:
    """The short names under which a prompt shows events, so that answers can cite them."""

    ids: Mapping[str, str]  # `e12` to the event's id

    def of(self, said: list[str]) -> tuple[tuple[str, ...], str | None]:
        """The ids of what was cited, each once, and the first name that is unknown."""
        found: list[str] = []
        for one in said:
            name = one.strip().strip("#`'\"").casefold()
            known = [name] if name in self._all else [self.ids.get(each) for each in _cited(name)]
            if None in known:
                return (), one
            found += [each for each in known if each is not None]
        return tuple(dict.fromkeys(found)), None

    @property
    def _all(self) -> frozenset[str]:
        return frozenset(self.ids.values())
