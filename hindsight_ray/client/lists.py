"""Lists as callers give them, who may have no type checker: one of them, or `InvalidInput`."""

from collections.abc import Iterable
from typing import TypeVar

from hindsight_ray.errors import InvalidInput

T = TypeVar("T")


def listed(items: Iterable[T], name: str) -> tuple[T, ...]:
    """Return `items` as a tuple. A bare text is no list: its characters are not what is meant."""
    if isinstance(items, str | bytes | bytearray):
        raise InvalidInput(
            f"`{name}` must be a list, not a single {type(items).__name__}: put it in brackets",
            field=name,
        )
    try:
        given = iter(items)
    except TypeError:
        raise InvalidInput(
            f"`{name}` must be a list, not {type(items).__name__}", field=name
        ) from None
    return tuple(given)  # an error of a generator of the caller's own stays as it is


def listed_or_none(items: Iterable[T] | None, name: str) -> tuple[T, ...] | None:
    """The same where None says that nothing is given."""
    return None if items is None else listed(items, name)
