"""Callers: who asks, as a verified ticket says. Never built from an argument of a call."""

from datetime import datetime
from typing import Self

from pydantic import model_validator

from hindsight_ray.domain.access import Action
from hindsight_ray.domain.base import Value
from hindsight_ray.domain.ids import AgentId, AgentName, SessionId, TenantId, UserId
from hindsight_ray.domain.numbers import Whole
from hindsight_ray.domain.scope import Scope, ScopeName, agent_scope, user_scope
from hindsight_ray.domain.text import Moment
from hindsight_ray.errors import InvalidInput

REVIEWER = AgentName("reviewer")  # the agent as which reviews run


class Caller(Value):
    """Who asks: a tenant, an agent and/or a user, a session.

    `scopes` and `actions`, where set, narrow what the policy gives; nothing widens it. Of the
    tenants that had this name one after the other it is the one at `age`; None is whichever there
    is, for who holds the operator key.
    """

    tenant: TenantId
    agent: AgentId | None = None
    user: UserId | None = None
    session: SessionId | None = None
    ticket_id: str
    expires_at: Moment
    scopes: frozenset[Scope] | None = None
    actions: frozenset[Action] | None = None
    age: Whole | None = None

    @model_validator(mode="after")
    def _names_somebody(self) -> Self:
        if self.agent is None and self.user is None:
            raise InvalidInput("`ticket` must name an agent, a user, or both")
        return self

    @property
    def principal(self) -> ScopeName:
        """The caller's own principal: the agent if one is named, else the user."""
        if self.agent is not None:
            return agent_scope(self.agent)
        assert self.user is not None  # noqa: S101 - the validator above guarantees it
        return user_scope(self.user)

    @property
    def receipt_owner(self) -> str:
        """Whose the caller's commands are: its own principal, and the user that it acts for.

        Receipts, ids and outcomes follow from it. The blank is in no id, so none is ambiguous.
        """
        acting = self.acting_scope
        return self.principal if acting is None else f"{self.principal} {acting}"

    @property
    def recorded_as(self) -> str:
        """The name that the caller's events carry: the agent's, or else the user's."""
        return self.agent or self.user or ""

    @property
    def sitting(self) -> str:
        """What the caller's open runs are known by: its session and the user it acts for.

        Sessions are named by people, so one name may come with two users. The blank is in no id.
        """
        return f"{self.session or ''} {self.user or ''}"

    @property
    def acting_scope(self) -> ScopeName | None:
        """The scope of the user that an agent's ticket acts for, or None."""
        if self.agent is None or self.user is None:
            return None
        return user_scope(self.user)


class Ticket(Value):
    """An issued ticket: the signed token and what it says. Keep the token secret."""

    token: str
    caller: Caller


class TicketRequest(Value):
    """What the holder of the operator key may ask a ticket for."""

    tenant: TenantId
    agent: AgentId | None = None
    user: UserId | None = None
    session: SessionId | None = None
    lifetime_s: Whole = 12 * 3600
    scopes: frozenset[Scope] | None = None
    actions: frozenset[Action] | None = None


def expired(caller: Caller, now: datetime) -> bool:
    """Whether the caller's ticket has run out at `now`."""
    return now >= caller.expires_at
