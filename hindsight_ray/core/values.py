"""Values out of JSON, narrowed: what is not of the wanted kind is None."""

from collections.abc import Mapping
from typing import cast

Fields = Mapping[str, object]


def as_object(value: object) -> Fields | None:
    """`value` if it is an object with text keys (as JSON's always are), else None."""
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[object, object]", value)
    return cast("Fields", fields) if all(isinstance(key, str) for key in fields) else None


def as_list(value: object) -> list[object] | None:
    """`value` if it is a list, else None."""
    return cast("list[object]", value) if isinstance(value, list) else None


def as_text(value: object) -> str:
    """`value` without the white space around it if it is text, else ""."""
    return value.strip() if isinstance(value, str) else ""
