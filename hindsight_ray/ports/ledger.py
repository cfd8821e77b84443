"""The ledger: one small log per kind of record, all sharing one unit of work.

What is written through one unit is committed together or not at all, and what is read through one
unit is one snapshot.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from hindsight_ray.domain.access import Membership, PlacedPolicy, Policy, PolicyChange, Rule
from hindsight_ray.domain.audit import Chained, Seal
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import Memory, MemoryStatistics, RevisionNote
from hindsight_ray.domain.rows import (
    AudienceKey,
    AuditEntry,
    KeywordMatches,
    Near,
    NearAt,
    RecallEntry,
    RowFilter,
    Standing,
    Stated,
)
from hindsight_ray.ports.asking import AskingLog
from hindsight_ray.ports.credits import CreditLog, OutcomeLog
from hindsight_ray.ports.layers import LayerLog
from hindsight_ray.ports.privacy import PrivacyLog
from hindsight_ray.ports.reviewing import ReviewLog
from hindsight_ray.ports.runs import RunLog
from hindsight_ray.ports.stored import Intent, Vector
from hindsight_ray.ports.upkeep import SpacesApart, UpkeepLog, VectorsBeside


class CommandLog(Protocol):
    """Receipts by owner (`Caller.receipt_owner`) and command id, with the payload's digest."""

    async def get(self, tenant: str, principal: str, command_id: str) -> tuple[str, str] | None:
        """(digest of the payload, receipt as JSON), or None."""
        ...

    async def put(
        self, tenant: str, principal: str, command_id: str, digest: str, receipt: str
    ) -> None: ...


class PolicyLog(Protocol):
    """The policy at its revision, known tenants, revoked tickets."""

    async def standing(self, tenant: str, ticket_id: str) -> Standing:
        """Revision, whether the tenant exists, whether the ticket is revoked: one query."""
        ...

    async def standings(self, tickets: Sequence[tuple[str, str]]) -> Sequence[Standing]:
        """`standing` of many, each a tenant and a ticket's id: one query too."""
        ...

    async def current(self) -> Policy: ...

    async def placed(self) -> PlacedPolicy:
        """The policy with the places of its lines, by which `change` and `changes` name them."""
        ...

    async def changes(self, since: int) -> PolicyChange | None:
        """What came and went after revision `since`; None if that must be read as a whole."""
        ...

    async def replace(
        self, rules: Iterable[Rule], memberships: Iterable[Membership], at: datetime
    ) -> int:
        """Put these rules in force and return the next revision. Grants are rules with grantor."""
        ...

    async def change(self, removed: Iterable[int], added: Iterable[Rule], at: datetime) -> int:
        """Take out the rules at these places, put others after all; return the next revision.

        Raises `RevisionConflict` if there is no rule at one of the places.
        """
        ...

    async def add_tenant(self, tenant: str, at: datetime) -> None:
        """Make the tenant known; nothing happens if it is."""
        ...

    async def tenants(self) -> Sequence[str]: ...

    async def drop_tenant(self, tenant: str) -> int:
        """Delete every row of the tenant but its audit; how many there were."""
        ...

    async def revoke_ticket(self, tenant: str, ticket_id: str, at: datetime) -> int:
        """End a ticket of this tenant; returns the revision from which it is refused."""
        ...


class AuditLog(Protocol):
    """Denials, writes, grants, promotions, exports: metadata only."""

    async def append(self, entry: AuditEntry) -> None:
        """Into this writer's chain, at the end of the transaction; without it nothing commits."""
        ...

    async def newest(
        self,
        tenant: str,
        *,
        limit: int,
        skip: int = 0,
        effect: str | None = None,
        principal: str | None = None,
        since: datetime | None = None,
    ) -> Sequence[AuditEntry]:
        """Newest first; what is given narrows."""
        ...

    async def tenants(self) -> Sequence[str]:
        """Whoever has an audit, those that were dropped among them."""
        ...

    async def writers(self, tenant: str) -> Sequence[str]:
        """Whoever has a chain in this tenant."""
        ...

    async def chain(
        self, tenant: str, writer: str, *, after: tuple[int, int], limit: int
    ) -> Sequence[Chained]:
        """Entries by place, then by number, after this (place, number)."""
        ...

    async def seal(self, tenant: str) -> Seal | None:
        """The heads as they were last signed, or None if nobody who wrote held the key."""
        ...

    async def signed(self, seal: Seal) -> bool:
        """Whether the home's audit key has signed exactly this."""
        ...


class RecallLog(Protocol):
    """What was asked and offered."""

    async def append(self, entries: Sequence[RecallEntry]) -> None: ...

    async def newest(self, tenant: str, *, limit: int) -> Sequence[RecallEntry]: ...


class MemoryStats(Protocol):
    """Accesses, verification and utility, beside the memories."""

    async def touch(self, accesses: Sequence[tuple[str, str, datetime]]) -> None:
        """Count accesses, each a tenant, a memory's id and a time; the last of a memory is kept."""
        ...

    async def verify(self, tenant: str, ids: Sequence[str], at: datetime) -> None: ...

    async def set_utility(self, tenant: str, memory_id: str, utility: float) -> None: ...

    async def of(self, tenant: str, ids: Sequence[str]) -> Mapping[str, MemoryStatistics]: ...


class AudienceKeys(Protocol):
    """The catalogue of audiences that occur in a tenant, each under its key."""

    async def version(self, tenant: str) -> int: ...

    async def all(self, tenant: str) -> Mapping[AudienceKey, tuple[str, ...]]: ...

    async def ensure(self, tenant: str, audience: tuple[str, ...]) -> AudienceKey:
        """The audience's key, added to the catalogue if it is new."""
        ...


class Memories(Protocol):
    """The memories' records: the truth about which revision counts and what it says."""

    async def change_number(self, tenant: str) -> int: ...

    # The change number of the last change in this scope, 0 if there was none.
    async def scope_change(self, tenant: str, scope: str) -> int: ...

    # Ids of the memories of a scope whose last change is later than `change`.
    async def changed_since(self, tenant: str, scope: str, change: int) -> Sequence[str]: ...

    # Current revisions of those that exist and are not forgotten, whatever their status.
    async def current(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Memory]: ...

    # The same, for whoever reads most of them no further than what they state.
    async def stated(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Stated]: ...

    async def at(self, tenant: str, refs: Sequence[MemoryRef]) -> Mapping[MemoryRef, Memory]:
        """Revisions as they were, also of what has changed since; not of what was erased."""
        ...

    async def put(
        self,
        memory: Memory,
        vector: Vector | None,
        *,
        key: AudienceKey,
        terms: Mapping[str, int],
        by: str,
        why: str,
    ) -> int:
        """Make this revision current, with its vector and keyword postings; return its change.

        Without a vector the one of the revision before stays: its text is the same.
        Raises `RevisionConflict` unless the revision is the current one plus one (1 if new).
        """
        ...

    async def forget(self, tenant: str, memory_id: str, *, by: str, why: str, at: datetime) -> None:
        """Leave a tombstone: out of every route, postings and vector dropped."""
        ...

    async def history(self, tenant: str, memory_id: str) -> Sequence[RevisionNote]: ...

    async def on_topic(self, row_filter: RowFilter, topic: str) -> Sequence[Memory]: ...

    async def recent(self, row_filter: RowFilter, *, limit: int) -> Sequence[Memory]:
        """Newest first by creation."""
        ...

    async def keyword_matches(self, row_filter: RowFilter, terms: Sequence[str]) -> KeywordMatches:
        """Postings and statistics over the rows that pass the filter, and no others."""
        ...

    async def derived_from(self, tenant: str, ids: Sequence[str]) -> Sequence[str]:
        """Ids of current memories that name one of these in `derived_from`."""
        ...

    async def count(self, row_filter: RowFilter) -> int: ...

    async def nearest_of(
        self, row_filter: RowFilter, vector: Vector, ids: Sequence[str] | None
    ) -> Sequence[Near]:
        """Those of these that pass, with their exact similarity as of this unit, nearest first.

        None for all that pass: as slow as there are many.
        """
        ...

    async def nearest_or_untold(
        self, row_filter: RowFilter, vector: Vector, ids: Sequence[str]
    ) -> Sequence[Near]:
        """`nearest_of` these and all whose store has not been told of them yet."""
        ...

    async def nearest_known(
        self, row_filter: RowFilter, vectors: Sequence[Vector], *, limit: int
    ) -> NearAt | None:
        """The nearest rows of the filter's one scope, if this process keeps its vectors in memory.

        Exact, but as of a change that may be shortly before this unit's; the answer names it. None
        where a store that is apart has to be asked, and in units that have changed memories.
        """
        ...


class IntentLog(Protocol):
    """What was committed here and a memory store apart from the ledger has not been told yet.

    Always empty where the store shares the ledger's transaction.
    """

    async def opened(self) -> Sequence[Intent]:
        """Those that this unit has opened."""
        ...

    async def waiting(self, *, limit: int, until: datetime) -> Sequence[Intent]:
        """The oldest open ones that nobody has had in hand since `until`."""
        ...

    async def claim(self, intents: Sequence[Intent], at: datetime) -> Sequence[Intent]:
        """Take them in hand, as far as nobody else has since they were read."""
        ...

    async def again(self, numbers: Sequence[int]) -> Sequence[Intent]:
        """These, as far as they are open, as they are now."""
        ...

    async def count(self) -> int: ...

    async def close(self, numbers: Sequence[int]) -> None: ...

    async def refused(self, number: int, why: str) -> int:
        """Note that the store would not take it; return how often that has been."""
        ...

    async def set_aside(self, number: int) -> tuple[bool, Vector | None]:
        """Try it no more. Whether the revision before may come back, and its vector if another."""
        ...

    async def told_to(self) -> str:
        """The name of the store that these intents are for; empty for the ledger's own."""
        ...

    async def tell_all(self, store: str) -> int:
        """Begin with another store: it is to be told of every memory. Returns of how many."""
        ...

    async def settled(self, tenant: str) -> Sequence[MemoryRef]:
        """The tenant's memories that nothing is open for: the store should hold them."""
        ...

    async def tell(self, tenant: str, ids: Sequence[str]) -> int:
        """Have the store told anew of these memories; of how many, beside what is open already."""
        ...

    async def place(self, tenant: str) -> str | None:
        """The tenant's name in the store; None while it holds nothing."""
        ...

    async def leave_place(self, tenant: str) -> str | None:
        """Forget the tenant's place and intents: what it writes next goes to a fresh one."""
        ...


class EmbeddingSpaces(Protocol):
    """The one embedding space that a home is pinned to."""

    async def pinned(self) -> tuple[str, int] | None:
        """(model, dimension); None before the first vector. `Memories.put` pins what is open."""
        ...

    async def pin(self, model: str, dimension: int) -> None:
        """Raises `SpaceMismatch` if the home is pinned to another."""
        ...


class Unit(Protocol):
    """One transaction on the ledger."""

    runs: RunLog
    outcomes: OutcomeLog
    credits: CreditLog
    reviews: ReviewLog
    layers: LayerLog
    commands: CommandLog
    policy: PolicyLog
    audit: AuditLog
    recalls: RecallLog
    stats: MemoryStats
    keys: AudienceKeys
    privacy: PrivacyLog
    memories: Memories
    intents: IntentLog
    spaces: EmbeddingSpaces
    asking: AskingLog
    upkeep: UpkeepLog
    beside: VectorsBeside
    elsewhere: SpacesApart

    def step(self) -> AbstractAsyncContextManager[None]:
        """A part of a writing unit (a savepoint): left by an exception, it alone is undone."""
        ...


class Ledger(Protocol):
    """The one place of record. `reading` is one snapshot; `writing` commits when it is left well.

    Both raise `Busy` when a lock does not come free in time and `StorageFailed` when the disk
    refuses; leaving `writing` by an exception changes nothing.
    """

    def reading(self) -> AbstractAsyncContextManager[Unit]: ...

    def writing(self) -> AbstractAsyncContextManager[Unit]: ...

    async def close(self) -> None: ...
