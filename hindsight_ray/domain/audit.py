"""The audit as a chain: entries that hold each other, heads that are signed together, what is off.

Each writer of a tenant (a home, or one process of a deployment) has a chain of its own, so that
writers need not wait for one another; a seal signs where all of them stand.
"""

from dataclasses import dataclass
from typing import Literal

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.domain.text import Moment

Fault = Literal["flipped", "dropped", "reordered", "truncated", "forged"]


@dataclass(frozen=True, slots=True)
class Chained:
    """An entry in its chain. `number` is the order of writing over all chains of the ledger."""

    entry: AuditEntry
    writer: str
    place: int
    hash: str
    number: int


class Head(Value):
    """Where a chain ends: its last place and that entry's hash."""

    writer: str
    place: int
    hash: str


class Seal(Value):
    """The heads of a tenant's chains, signed together with the home's audit key.

    Keep one elsewhere: a ledger that ends before it, or says otherwise up to it, was tampered with.
    """

    tenant: str
    at: Moment
    heads: tuple[Head, ...]
    kid: str = ""
    signature: str = ""  # base64; empty where no process that wrote held the audit key


class AuditFault(Value):
    """The first thing that is wrong with a chain: which writer's, at which place, and what."""

    writer: str
    place: int
    fault: Fault


class AuditReport(Value):
    """What verifying the chains of a tenant found. Sound means: no fault, and signed to the end."""

    tenant: str
    entries: int
    faults: tuple[AuditFault, ...]
    unsigned: int  # entries after the last seal
    seal: Seal | None

    @property
    def sound(self) -> bool:
        return not self.faults
