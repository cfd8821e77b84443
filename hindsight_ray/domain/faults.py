"""What is wrong with a value, in one sentence: which argument, what it was, what is allowed.

pydantic says what it found in words of its own, with types and patterns that only this package
knows; whoever calls is told the argument and the rule.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from hindsight_ray.errors import InvalidInput

SHOWN_CHARACTERS_MAX = 80  # of a value that an error repeats
# What a check calls a value when it cannot know of which argument it is.
_NAMELESS = frozenset(
    {"id", "text", "name", "time", "scope", "summary", "content", "query", "audience"}
)
_FIRST_NAME = re.compile(r"`([^`]*)`")
_Rule = Callable[[Mapping[str, Any]], str]


def shown(value: str | float) -> str:
    """The value as an error repeats it: never long, never a character that cannot be written."""
    if isinstance(value, str):
        text = ascii(value[:SHOWN_CHARACTERS_MAX]) if _unwritable(value) else repr(value)
    else:
        text = "a very large number" if _huge(value) else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"


def _huge(value: object) -> bool:
    return isinstance(value, int) and abs(value) >= 10**SHOWN_CHARACTERS_MAX


def _unwritable(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text[: SHOWN_CHARACTERS_MAX + 1])


_NUMBER = "must be a number"
_WHOLE = "must be a whole number"
_TRUTH = "must be true or false"
_TEXT = "must be text"
_LIST = "must be a list"
_TIME = "must be a time with its zone, such as 2026-03-01T10:00:00+00:00"
_GROUP = "must be fields by name"

_RULES: dict[str, str | _Rule] = {
    "missing": "is missing",
    "literal_error": lambda known: f"must be one of {_choices(str(known['expected']))}",
    "string_type": _TEXT,
    "string_sub_type": _TEXT,
    "string_unicode": "holds what is no character",
    "string_pattern_mismatch": "must be printable ASCII",
    "string_too_long": lambda known: f"has more than {known['max_length']} characters",
    "string_too_short": lambda known: f"has fewer than {known['min_length']} characters",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": "is too large a number",
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "must be a finite number",
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "greater_than": lambda known: f"must be more than {known['gt']:g}",
    "greater_than_equal": lambda known: f"must be at least {_bound(known['ge'])}",
    "less_than": lambda known: f"must be less than {_bound(known['lt'])}",
    "less_than_equal": lambda known: f"must be at most {_bound(known['le'])}",
    "too_long": lambda known: f"has more than {known['max_length']} entries",
    "too_short": lambda known: f"must have {known['min_length']} or more entries",
    "tuple_type": _LIST,
    "list_type": _LIST,
    "set_type": _LIST,
    "frozen_set_type": _LIST,
    "iterable_type": _LIST,
    "dict_type": _GROUP,
    "mapping_type": _GROUP,
    "model_type": _GROUP,
    "model_attributes_type": _GROUP,
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
    "datetime_object_invalid": _TIME,
    "date_type": _TIME,
    "timezone_aware": _TIME,
}
_OF_A_VALUE = frozenset({"missing", "extra_forbidden", "too_long", "too_short", "string_too_long"})


def told(error: ValidationError) -> InvalidInput:
    """The first thing that pydantic found, as this package says it."""
    first, *others = error.errors(include_url=False)
    field = _place(first["loc"]) or "value"
    unknown = [_place(one["loc"]) for one in others if one["type"] == "extra_forbidden"]
    if first["type"] == "extra_forbidden":
        return InvalidInput(f"`{field}` is not known here", field=field)
    rule = _RULES.get(first["type"], "is not valid")
    known: Mapping[str, Any] = first.get("ctx", {})
    said = rule if isinstance(rule, str) else rule(known)
    if first["type"] == "missing" and unknown:  # misspelt, more likely than left out
        return InvalidInput(f"`{field}` {said}, and `{unknown[0]}` is not known here", field=field)
    if first["type"] in _OF_A_VALUE:
        return InvalidInput(f"`{field}` {said}", field=field)
    given = first["input"]
    if isinstance(given, str | int | float):
        return InvalidInput(f"`{field}` {shown(given)} {said}", field=field)
    kind = "nothing" if given is None else type(given).__name__
    return InvalidInput(f"`{field}` {said}, not {kind}", field=field)


def named(error: InvalidInput, field: str) -> InvalidInput:
    """The same error about the argument `field`, where the check that raised could not know it."""
    first = _FIRST_NAME.match(error.message)
    message = error.message
    if first is None:
        message = f"`{field}`: {message}"
    elif first.group(1) in _NAMELESS:
        message = f"`{field}`{message[first.end() :]}"
    return type(error)(message, **{**error.details, "field": field})


def _place(location: tuple[int | str, ...]) -> str:
    """Where in the input, as one writes it: `events[3].summary`. Arms of unions are left out."""
    parts: list[str] = []
    for part in location:
        if isinstance(part, int):
            parts.append(f"[{part}]")
        elif part.isidentifier():
            parts.append(f".{part}")
    return "".join(parts).lstrip(".")


def _bound(number: object) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


def _choices(expected: str) -> str:
    """`'a', 'b' or 'c'` with each in backticks."""
    return expected.replace("'", "`")
