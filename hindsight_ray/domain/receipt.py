"""Receipts: what a write did, ids and why."""

from typing import Literal

from hindsight_ray.domain.access import Revision, Rule
from hindsight_ray.domain.base import Value
from hindsight_ray.domain.ids import CommandId, MemoryId
from hindsight_ray.domain.memory import MemoryType, Status

WriteResult = Literal[
    "stored",
    "duplicate",
    "merged",
    "superseded",
    "pending",
    "split",
    "refused",
    "forgotten",
    "archived",
    "restored",
]


class Receipt(Value):
    """What became of a write. A caller without `read` on the scope only ever learns `stored`."""

    command_id: CommandId
    result: WriteResult
    ids: tuple[MemoryId, ...]
    revision: Revision  # of the policy that allowed it
    why: str = ""


class Grant(Value):
    """What `share` or `revoke` did: once it is returned, `revision` is in force everywhere."""

    command_id: CommandId
    revision: Revision
    rules: tuple[str, ...]


class PolicyLoaded(Value):
    """What `load_policy` put in force. Grants that people made stay beside the file's rules."""

    revision: Revision
    rules: int
    memberships: int
    grants: int
    grants_ended: int  # whose grantors may give them no longer


class PolicyRead(Value):
    """The rules and memberships in force, as a csv file's text; grants that people made are beside
    them, and stay as far as another policy lets them."""

    revision: Revision
    text: str
    grants: int
    shared: tuple[Rule, ...] = ()  # those grants


class TicketRevoked(Value):
    """From `revision` on the ticket is refused everywhere."""

    ticket_id: str
    revision: Revision


class Tenants(Value):
    """The tenants of a memory, by name; and those that were dropped, whose audit stays."""

    names: tuple[str, ...]
    dropped: tuple[str, ...] = ()


class TenantDropped(Value):
    """The tenant is gone, with so many rows; its audit stays."""

    tenant: str
    rows: int
    grants_ended: int


class Exists(Value):
    """A memory as the `audit` action sees it: metadata, never text."""

    id: MemoryId
    scope: str
    audience: tuple[str, ...]
    type: MemoryType
    status: Status
    revision: int
