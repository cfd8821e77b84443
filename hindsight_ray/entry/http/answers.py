"""What a command's answer, or its error, looks like over HTTP: a status and a JSON document."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_core import from_json

from hindsight_ray import errors as e
from hindsight_ray.core.cleaning import clean_error
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.privacy import EVERYTHING
from hindsight_ray.entry.http.verbs import COMMANDS
from hindsight_ray.entry.once import fresh_unless

_ANY = TypeAdapter[Any](Any)
_BUSY_S = 1  # when to come back, where nothing better is known

# The first that an error is an instance of counts.
STATUSES: tuple[tuple[type[e.HindsightError], int], ...] = (
    (e.InvalidInput, 422),
    (e.InvalidTicket, 401),
    (e.AccessDenied, 403),
    (e.NotFound, 404),
    (e.CommandReused, 409),
    (e.EventConflict, 409),
    (e.RunClosed, 409),
    (e.RevisionConflict, 409),
    (e.OverQuota, 409),
    (e.RateLimited, 429),
    (e.Unfinished, 202),  # committed, and will be carried out
    (e.ModelFailed, 502),
    (e.Busy, 503),
    (e.BufferFull, 503),
    (e.Unavailable, 503),
    (e.StoreRefused, 503),
    (e.StorageFailed, 503),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a JSON document, and the headers that say more."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def answered(value: object) -> Answer:
    """What a verb returned; `null` where it returns nothing."""
    return Answer(200, _ANY.dump_json(value))


def refused(error: e.HindsightError) -> Answer:
    """An error as `{"error", "message", "details"}`; `Retry-After` where waiting helps.

    What it quotes of a request is masked, also where no tenant's own word was asked for.
    """
    error = clean_error(error, EVERYTHING)
    status = next((code for kind, code in STATUSES if isinstance(error, kind)), 500)
    told = {"error": type(error).__name__, "message": error.message, "details": error.details}
    headers: dict[str, str] = {}
    after_s = error.details.get("retry_after_s")
    if isinstance(after_s, int | float):
        headers["Retry-After"] = str(math.ceil(after_s))
    elif status == 503:
        headers["Retry-After"] = str(_BUSY_S)
    elif status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Answer(status, _ANY.dump_json(told, fallback=str), headers)


def faulty() -> Answer:
    """A fault of ours: the log says which; whoever asked learns nothing of it."""
    told = {"error": "HindsightError", "message": "a fault of ours; the log says more"}
    return Answer(500, _ANY.dump_json(told))


def kind_of(word: str) -> type[c.Command]:
    """The command that a path's last word stands for. Raises `NotFound`."""
    kind = COMMANDS.get(word)
    if kind is None:
        raise e.NotFound(f"`{word[:64]}` is no verb here; `/openapi.json` lists them", kind="verb")
    return kind


def command_of(kind: type[c.Command], body: bytes, idempotency_key: str | None) -> c.Command:
    """The command of this kind that a body makes.

    A command id may come in the body, or as `Idempotency-Key`; without one it gets one of its own.
    Raises `InvalidInput` for a body that is no such command.
    """
    fields = _fields(body)
    if "command_id" in kind.model_fields and "command_id" not in fields:
        fields["command_id"] = fresh_unless(idempotency_key)
    return build(kind, fields)


def _fields(body: bytes) -> dict[str, Any]:
    try:
        found = from_json(body or b"{}", allow_inf_nan=False)
    except ValueError as error:
        raise e.InvalidInput(f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise e.InvalidInput("the body must be a JSON object, the command's fields by name")
    return cast("dict[str, Any]", found)
