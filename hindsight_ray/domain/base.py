"""What every value of the domain shares: frozen, strict about fields, plain to serialise."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hindsight_ray.errors import InvalidInput


class Value(BaseModel):
    """A frozen pydantic model that refuses fields it does not know, infinities and NaN.

    Validators of this package raise `InvalidInput`, which pydantic lets through as it is; what
    pydantic itself finds (a missing field, a wrong type) arrives as its `ValidationError`. Use
    `build` where input comes from outside, and both are `InvalidInput`.
    """

    # Validators are built when a class is first used: a one-shot command uses few of them.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class Command(Value):
    """Base of all commands (`domain/commands.py`)."""


V = TypeVar("V", bound=Value)


def build(kind: type[V], fields: Mapping[str, Any]) -> V:
    """Return `kind(**fields)`; raise `InvalidInput` naming the first field that is wrong."""
    try:
        return kind.model_validate(dict(fields))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or kind.__name__
        raise InvalidInput(
            f"`{field}` of {kind.__name__} is not valid: {first['msg']}", field=field
        ) from None
