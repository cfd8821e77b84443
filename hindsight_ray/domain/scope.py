"""Scopes: who a memory belongs to inside a tenant. `global`, `user:<id>` or `agent:<id>`."""

from collections.abc import Iterable
from typing import Annotated, Literal, NewType

from pydantic import AfterValidator, Strict

from hindsight_ray.domain.faults import shown
from hindsight_ray.domain.ids import checked_name
from hindsight_ray.errors import InvalidInput

ScopeName = NewType("ScopeName", str)
ScopeClass = Literal["global", "user", "agent"]

GLOBAL = ScopeName("global")


def checked_scope(text: str) -> ScopeName:
    """Return `text` as a scope, or raise `InvalidInput` saying which forms there are."""
    if text == "global":
        return GLOBAL
    kind, colon, name = text.partition(":")
    if not colon or kind not in ("user", "agent"):
        raise InvalidInput(
            f"`scope` {shown(text)} must be `global`, `user:<id>` or `agent:<id>`", value=text
        )
    return ScopeName(f"{kind}:{checked_name(name)}")


def scope_class(scope: str) -> ScopeClass:
    """Return `global`, `user` or `agent` for a checked scope."""
    if scope == "global":
        return "global"
    return "user" if scope.startswith("user:") else "agent"


def user_scope(user: str) -> ScopeName:
    return ScopeName(f"user:{user}")


def agent_scope(agent: str) -> ScopeName:
    return ScopeName(f"agent:{agent}")


def checked_audience(scopes: Iterable[str]) -> tuple[ScopeName, ...]:
    """Return the scopes sorted and without repeats: the form in which audiences are compared."""
    audience = tuple(sorted({checked_scope(scope) for scope in scopes}))
    if not audience:
        raise InvalidInput("`audience` is empty; a record's own scope always belongs to it")
    return audience


Scope = Annotated[ScopeName, Strict(), AfterValidator(checked_scope)]
Audience = Annotated[tuple[ScopeName, ...], AfterValidator(checked_audience)]
