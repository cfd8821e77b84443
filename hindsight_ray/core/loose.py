"""What was meant by a field that a model filled in nearly right?

A share as a percentage or on a scale of ten, a word in capitals, one thing where a list belongs, a
list where one thing does, an object that holds the name which was asked for. What cannot be told
is left as it came, for the shape to refuse; only of confidence it is doubt.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast, get_args, get_origin

from hindsight_ray.core.shapes import REFS_MAX, Shape

DOUBT = 0.5  # below every gate: a person decides
_SHARES = {
    "very low": 0.1, "low": 0.3, "medium": 0.5, "moderate": 0.5, "high": 0.8, "very high": 0.95,
    "极低": 0.1, "低": 0.3, "中": 0.5, "中等": 0.5, "高": 0.8, "很高": 0.95,
}  # fmt: skip
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*(%|/\s*10{1,2})?")
_EVENTS = ("events", "event", "event_ids", "evidence", "citations", "cites", "sources")
_NOTHING = frozenset({"", "-", "none", "null", "nil", "n/a", "na", "无", "没有"})
_ID_NAMES = ("id", "event_id", "event", "name", "text", "step", "content", "value")


def fields_of(item: Mapping[str, Any], shape: type[Shape]) -> dict[str, Any]:
    """The item's fields as `shape` would have them, as far as that can be told."""
    fields = dict(item)
    if "events" in shape.model_fields and "events" not in fields:
        named = next((name for name in _EVENTS if fields.get(name) is not None), None)
        if named is not None:
            fields["events"] = fields[named]
    for name, field in shape.model_fields.items():
        if name in fields:
            read = _reader(name, field.annotation)
            fields[name] = fields[name] if read is None else read(fields[name])
    return {name: value for name, value in fields.items() if value is not None}


def says_nothing(value: object) -> bool:
    """Whether a text in a list's place says that there is nothing."""
    return isinstance(value, str) and value.strip().casefold() in _NOTHING


def share(value: object) -> object:
    """A number from 0 to 1, however it was written; what is none as it came."""
    if isinstance(value, str):
        said = value.strip().casefold()
        if said in _SHARES:
            return _SHARES[said]
        found = _NUMBER.fullmatch(said)
        if found is None:
            return value
        number, scale = float(found[1]), (found[2] or "").replace(" ", "")
        if scale:
            return number / (10 if scale == "/10" else 100)
        return share(number)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if 1 < value <= 10 and value == int(value):
        return value / 10
    return value / 100 if 10 < value <= 100 else value


def _confidence(value: object) -> object:
    found = share(value)
    fits = isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= 1
    return found if fits or value is None else DOUBT


@functools.cache
def _reader(name: str, annotation: object) -> Callable[[object], object] | None:
    if name == "confidence":
        return _confidence
    if annotation is float:
        return share
    if get_origin(annotation) is Literal:
        return functools.partial(
            _one_of, {str(one).casefold(): one for one in get_args(annotation)}
        )
    if name == "events":
        return event_names
    if annotation == list[str]:
        return _texts
    if annotation is str:
        return _text
    return _optional if annotation == str | None else None


def _one_of(words: Mapping[str, object], value: object) -> object:
    return words.get(value.strip().casefold(), value) if isinstance(value, str) else value


def _text(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        parts = [one for one in cast("list[object]", value) if isinstance(one, str)]
        return " ".join(parts) or None
    return value


def _optional(value: object) -> object:
    if isinstance(value, list):
        items = cast("list[object]", value)
        return _optional(items[0]) if len(items) == 1 else None
    return None if says_nothing(value) else _text(value)


def _texts(value: object) -> object:
    """A list of texts; of objects what they are called. One text of several lines is several."""
    if isinstance(value, str):
        return [line for line in value.splitlines() if line.strip()] or [value]
    if not isinstance(value, list):
        return value
    found = [_called(one) for one in cast("list[object]", value)]
    return [one for one in found if one is not None]


def _called(value: object) -> object:
    if isinstance(value, dict):
        inner = cast("dict[str, object]", value)
        return next((inner[name] for name in _ID_NAMES if isinstance(inner.get(name), str)), None)
    return _text(value)


def event_names(value: object) -> object:
    """Ids as a list, whatever they came as."""
    if isinstance(value, str):
        return [part for part in re.split(r"[\s,;、，；\[\]()]+", value) if part][:REFS_MAX]
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    names = [str(called).strip("[]() ") for one in items if (called := _called(one)) is not None]
    return names[:REFS_MAX]
