"""Commands about access: grants, tickets, the policy, the audit, and what is told about them.

As in `commands.py`, which has them all under one name; apart only for length.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hindsight_ray.domain.access import Action
from hindsight_ray.domain.audit import Seal
from hindsight_ray.domain.base import Command, Value
from hindsight_ray.domain.caller import TicketRequest
from hindsight_ray.domain.faults import shown
from hindsight_ray.domain.ids import (
    AgentId,
    CommandId,
    TenantId,
    TicketId,
    TicketName,
    UserId,
    checked_name,
)
from hindsight_ray.domain.numbers import Whole
from hindsight_ray.domain.privacy import Handling
from hindsight_ray.domain.scope import Scope
from hindsight_ray.domain.text import Moment, Short, Text
from hindsight_ray.errors import InvalidInput

_TICKET = re.compile(r"[0-9a-f]{32}\Z")  # what an issued ticket's id looks like


def _grantee(text: str) -> str:
    kind, colon, name = text.partition(":")
    if not colon or kind not in ("agent", "user", "role"):
        raise InvalidInput(f"`name` {shown(text)} must be `agent:<id>`, `user:<id>` or `role:<id>`")
    return f"{kind}:{checked_name(name)}"


Grantee = Annotated[Text, AfterValidator(_grantee)]  # whom a scope is shared with


class DropTenant(Command):
    """Delete a tenant with everything in it. For `agent:operator` alone."""

    tenant: TenantId


class ListTenants(Command):
    """Which tenants there are. For `agent:operator` alone, whatever tenant its ticket names."""


class Share(Command):
    """Let `to` (a principal or role) act on a scope, until a time if one is given."""

    command_id: CommandId
    scope: Scope
    to: Grantee
    actions: tuple[Action, ...] = Field(default=("read",), min_length=1)
    until: Moment | None = None


class Revoke(Command):
    """Take back what was shared."""

    command_id: CommandId
    scope: Scope
    to: Grantee
    actions: tuple[Action, ...] | None = Field(default=None, min_length=1)  # None: every action


class Why(Command):
    """Why a caller may or may not do something: the rule, the role path, the revision."""

    agent: AgentId | None = None
    user: UserId | None = None
    action: Action
    object: Short  # a scope, a label, or a memory's id


class WhoSees(Command):
    """Who may do something on a scope: every kind of caller that the policy lets, by which rule."""

    scope: Scope
    action: Action = "read"


class Sees(Command):
    """What a caller holds: every scope that the policy or a record names, and which actions."""

    agent: AgentId | None = None
    user: UserId | None = None


class WhoAmI(Command):
    """Who the ticket says its holder is, if it is still good."""


class IssueTicket(Command):
    """Make a ticket for somebody of this tenant or another one (operator)."""

    request: TicketRequest


def _of_a_ticket(name: TicketName) -> TicketName:
    if not _TICKET.match(name):
        raise InvalidInput(f"`id` {name!r} is no ticket's id, which is 32 digits 0-9 and a-f")
    return name


class RevokeTicket(Command):
    """End a ticket before its time, by its id."""

    ticket_id: Annotated[TicketId, AfterValidator(_of_a_ticket)]


class LoadPolicy(Command):
    """Replace the policy by the text of a csv file; refused whole if it has any fault."""

    text: Text


class ReadPolicy(Command):
    """The policy in force, as the text of a csv file (operator)."""


class VerifyAudit(Command):
    """Whether the audit of the caller's tenant is whole, up to these seals kept elsewhere too."""

    seals: tuple[Seal, ...] = Field(default=(), max_length=1_000)


class ReadSeal(Command):
    """The heads of the tenant's audit, signed together: to be kept elsewhere."""


class SetPrivacy(Command):
    """What becomes of secrets and personal data in a tenant's texts; None leaves it (operator)."""

    secrets: Handling | None = None
    personal: Handling | None = None


class Erase(Command):
    """Erase a user of the caller's tenant: every text of theirs, and what rests on it."""

    user: UserId


class ReadAudit(Command):
    """The newest audit entries of the caller's tenant, or those before `skip` of them.

    Only those of an effect, of a principal, or since a time, where these are given.
    """

    skip: Whole = Field(default=0, ge=0, le=10**12)
    limit: Whole = Field(default=50, ge=1, le=1_000)
    effect: Literal["allow", "deny"] | None = None
    principal: Grantee | None = None  # no text: one that is an address is not masked
    since: Moment | None = None


class WhyAnswer(Value):
    """A decision with its audience: what else a reader would have to read."""

    decisions: tuple["WhyOne", ...]
    allowed: bool
    revision: int
    audience: tuple[str, ...] = ()  # of a memory: every scope that its reader must be able to read
    labels: tuple[str, ...] = ()
    status: str | None = None  # of a memory: what waits or was put away needs `review` besides


class WhyOne(Value):
    """The decision on one scope or label of the audience."""

    action: Action
    object: str
    allowed: bool
    reason: str
    rule: str | None
    role_path: tuple[str, ...]


class Seer(Value):
    """A kind of caller that holds an action on a scope, and why.

    An agent does whomever it acts for, any other agent among all that have no line: both but for
    those in `but_not`.
    """

    who: str
    but_not: tuple[str, ...] = ()
    rule: str | None
    role_path: tuple[str, ...]
    until: Moment | None
    grantor: str | None  # who shared it; None for a rule of the policy's file


class SeersAnswer(Value):
    """Who holds an action on a scope. `complete` is False where they were too many to look at all;
    then `but_not` may lack some, too."""

    scope: str
    action: Action
    seers: tuple[Seer, ...]
    complete: bool
    revision: int


class SeesAnswer(Value):
    """What a caller holds. Scopes that neither the policy nor any record names are decided as
    `agent:any-other` and `user:any-other`."""

    who: str
    scopes: dict[str, tuple[Action, ...]]
    denied_labels: tuple[str, ...]
    reads_everything: bool
    complete: bool
    revision: int
