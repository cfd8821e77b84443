"""Erasing a user from the ledger and from whatever lies beside it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hindsight_ray.domain.erasure import Erasure, Remains
from hindsight_ray.domain.memory import Memory
from hindsight_ray.ports.ledger import Unit


@dataclass(frozen=True, slots=True)
class Wiped:
    """What an erasure removed: rows by kind, and the texts that were in them."""

    rows: Mapping[str, int]
    texts: frozenset[str] = field(default_factory=frozenset[str])


class Erasing(Protocol):
    """What a ledger can do to have no byte left of a user."""

    async def named(self, unit: Unit, tenant: str, user: str) -> Sequence[str]:
        """Ids of memories of which any revision, forgotten or not, is the user's or names them."""
        ...

    async def revisions(self, unit: Unit, tenant: str, memory_id: str) -> Sequence[Memory]:
        """Every revision of a memory whose text is still kept, oldest first."""
        ...

    async def wipe(
        self, unit: Unit, erasure: Erasure, keep_to: Mapping[str, tuple[int, int]]
    ) -> Wiped:
        """Remove the user's rows, and the texts of these memories.

        `keep_to` says for each memory by id which texts stay: those of revisions up to the first
        number, and from the second on. Notes that the erasure has been carried out.
        """
        ...

    async def carried_out(self, unit: Unit, ids: Collection[str]) -> frozenset[str]:
        """Which of these erasures this ledger has carried out."""
        ...

    async def note(self, erasure: Erasure) -> None:
        """Put it into the list, durably, before anything is erased."""
        ...

    async def listed(self) -> Sequence[Erasure]: ...

    async def remains(self, texts: Collection[str]) -> Remains:
        """Give freed space back and search everything there is for these texts."""
        ...
