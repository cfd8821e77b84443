"""Values made of what a caller gives; what is refused of it is not said again by the error."""

from collections.abc import Mapping
from typing import Any, TypeVar

from hindsight_ray.domain.base import Value, build
from hindsight_ray.domain.privacy import EVERYTHING
from hindsight_ray.errors import InvalidInput

V = TypeVar("V", bound=Value)


def made(kind: type[V], fields: Mapping[str, Any]) -> V:
    """`build`, whose errors quote no secret and no personal data: no door has seen them yet."""
    try:
        return build(kind, fields)
    except InvalidInput as error:
        raise clean(error) from None


def clean(error: InvalidInput) -> InvalidInput:
    """The error as it may be told and logged, whatever the tenant keeps: it is not known here."""
    from hindsight_ray.core.cleaning import clean_error  # noqa: PLC0415 - for who errs alone

    told = clean_error(error, EVERYTHING)
    return told if isinstance(told, InvalidInput) else error
