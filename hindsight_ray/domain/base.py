"""What every value of the domain shares: frozen, strict about fields, plain to serialise."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hindsight_ray.domain.faults import named, told
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
        plain = _plain(fields)
        if plain is not None:
            return build(kind, plain)
        raise told(error) from None
    except InvalidInput as error:
        field = _refused(kind, fields)
        raise (error if field is None else named(error, field)) from None


def _plain(fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The fields with Python's own numbers for numpy's; None where there are none of those.

    Looked for only in what was refused: numbers are taken strictly, and simulations have numpy's.
    """
    found = {
        name: value.item()
        for name, value in fields.items()
        if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0
    }
    return {**fields, **found} if found else None


def _refused(kind: type[Value], fields: Mapping[str, Any]) -> str | None:
    """The field whose own check refuses what was given; None where only together they are wrong."""
    for name, value in fields.items():
        if name not in kind.model_fields:
            continue
        try:
            _alone(kind, name).validate_python(value)
        except InvalidInput:
            return name
        except ValidationError:
            continue
    return None


@lru_cache(maxsize=256)
def _alone(kind: type[Value], name: str) -> TypeAdapter[Any]:
    """What checks one field without the others."""
    return TypeAdapter(kind.model_fields[name].rebuild_annotation())
