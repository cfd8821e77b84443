"""Every text that a value holds, by the types of its fields: ids, scopes and choices are none.

So a field that is added is looked at like all others, keys of mappings too. What is no text to its
type is left as it is: an agent's name says who, whatever it looks like.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.event import Digest
from hindsight_ray.domain.text import (
    CONTENT_CHARACTERS_MAX,
    LONG_TEXT_CHARACTERS_MAX,
    QUERY_CHARACTERS_MAX,
    SUMMARY_CHARACTERS_MAX,
    Content,
    Line,
    LongText,
    Query,
    Short,
    Summary,
    cut_text,
)

V = TypeVar("V", bound=Value)
Change = Callable[[str], str]

_DIGEST_CHARACTERS_MAX = 128
LIMITS: tuple[tuple[object, int], ...] = (
    (Summary, SUMMARY_CHARACTERS_MAX),
    (Line, SUMMARY_CHARACTERS_MAX),
    (Short, CONTENT_CHARACTERS_MAX),
    (Content, CONTENT_CHARACTERS_MAX),
    (LongText, LONG_TEXT_CHARACTERS_MAX),
    (Query, QUERY_CHARACTERS_MAX),
)
_HEXADECIMAL = re.compile(r"~?[0-9a-f]*\Z")


def texts_of(value: Value) -> list[str]:
    """All texts of the value, those of its parts with them."""
    found: list[str] = []
    _Fields.of(type(value)).read(value, found)
    return found


def texts_by_field(value: Value) -> Mapping[str, list[str]]:
    """The same by the value's own fields."""
    found: dict[str, list[str]] = {}
    for name, shape in _Fields.of(type(value)).shapes:
        shape.read(getattr(value, name), found.setdefault(name, []))
    return found


def changed(value: V, change: Change) -> V:
    """The value with each text as `change` makes it, cut to its limit; itself if none differs."""
    return cast("V", _Fields.of(type(value)).changed(value, change))


@dataclass(frozen=True, slots=True)
class _Text:
    limit: int

    def read(self, value: Any, found: list[str]) -> None:
        if value:
            found.append(value)

    def changed(self, value: Any, change: Change) -> Any:
        made = change(value) if value else value
        return value if made == value else cut_text(made, self.limit)[0]


@dataclass(frozen=True, slots=True)
class _Digest:
    """What should be a digest, and is a text where it has not the form of one."""

    def read(self, value: Any, found: list[str]) -> None:
        if not _HEXADECIMAL.match(value):
            found.append(value)

    def changed(self, value: Any, change: Change) -> Any:
        if _HEXADECIMAL.match(value):
            return value
        return _Text(_DIGEST_CHARACTERS_MAX).changed(value, change)


@dataclass(frozen=True, slots=True)
class _Each:
    of: "_Shape"

    def read(self, value: Any, found: list[str]) -> None:
        for one in value:
            self.of.read(one, found)

    def changed(self, value: Any, change: Change) -> Any:
        made = tuple([self.of.changed(one, change) for one in value])
        same = all(one is other for one, other in zip(made, value, strict=True))
        return value if same else made


@dataclass(frozen=True, slots=True)
class _Entries:
    key: "_Shape | None"
    of: "_Shape | None"

    def read(self, value: Any, found: list[str]) -> None:
        for key, one in value.items():
            if self.key is not None:
                self.key.read(key, found)
            if self.of is not None:
                self.of.read(one, found)

    def changed(self, value: Any, change: Change) -> Any:
        made = {
            key if self.key is None else self.key.changed(key, change): one
            if self.of is None
            else self.of.changed(one, change)
            for key, one in value.items()
        }
        return value if made == value else made


@dataclass(frozen=True, slots=True)
class _Maybe:
    of: "_Shape"

    def read(self, value: Any, found: list[str]) -> None:
        if value is not None:
            self.of.read(value, found)

    def changed(self, value: Any, change: Change) -> Any:
        return None if value is None else self.of.changed(value, change)


@dataclass(frozen=True, slots=True)
class _Fields:
    shapes: tuple[tuple[str, "_Shape"], ...]

    @staticmethod
    @lru_cache(maxsize=256)
    def of(kind: type[Value]) -> "_Fields":
        hints = get_type_hints(kind, include_extras=True)
        found = ((name, _shape(hints[name])) for name in kind.model_fields)
        return _Fields(tuple((name, shape) for name, shape in found if shape is not None))

    def read(self, value: Any, found: list[str]) -> None:
        for name, shape in self.shapes:
            shape.read(getattr(value, name), found)

    def changed(self, value: Any, change: Change) -> Any:
        changes: dict[str, object] = {}
        for name, shape in self.shapes:
            before = getattr(value, name)
            after = shape.changed(before, change)
            if after is not before:
                changes[name] = after
        return value.model_copy(update=changes) if changes else value


_Shape = _Text | _Digest | _Each | _Entries | _Maybe | _Fields


def _shape(annotation: Any) -> _Shape | None:
    """How texts are reached in what is annotated so; None where there are none."""
    limit = next((limit for known, limit in LIMITS if annotation == known), None)
    if limit is not None:
        return _Text(limit)
    if annotation == Digest:
        return _Digest()
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(inner[0])
    if origin in (Union, UnionType):
        return _maybe([one for one in inner if one is not type(None)])
    if origin is tuple:
        of = _shape(inner[0])
        return None if of is None else _Each(of)
    if origin in (dict, Mapping):
        key, of = _shape(inner[0]), _shape(inner[1])
        return None if key is None and of is None else _Entries(key, of)
    if isinstance(annotation, type) and issubclass(annotation, Value):
        fields = _Fields.of(annotation)
        return fields if fields.shapes else None
    return None


def _maybe(arms: list[Any]) -> _Shape | None:
    shapes = [shape for shape in map(_shape, arms) if shape is not None]
    if len(shapes) > 1:  # it would take more than this to say which of them a value is
        raise TypeError(f"a field of texts is one of several kinds: {arms}")
    return _Maybe(shapes[0]) if shapes else None
