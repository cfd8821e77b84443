"""What services need besides the ledger: vectors, models, callers, time, ids, jobs."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Literal, Protocol

from hindsight_ray.domain.access import Action, Policy
from hindsight_ray.domain.caller import Caller, Ticket, TicketRequest
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import EmbeddingSpace, Near, RowFilter
from hindsight_ray.ports.ledger import Unit
from hindsight_ray.ports.stored import Placed, StoredObject, Vector


class MemoryStore(Protocol):
    """Vectors and their search. The ledger says which revision counts; rows are re-checked.

    A store whose vectors lie in the ledger's own database commits with it (`shares_ledger`): it
    has nothing to be told, and its `put` and `delete` do nothing.
    """

    @property
    def shares_ledger(self) -> bool: ...

    @property
    def life(self) -> int:
        """Another number after the server was away: it may have lost what it told us last."""
        ...

    async def check(self, *, surely: bool = False) -> None:
        """Raises `Unavailable`, naming address and remedy, if the store would take nothing now.

        `surely` asks it, whatever it answered lately: `life` is then what it is at this moment.
        """
        ...

    async def check_space(self, unit: Unit) -> None:
        """Raises `SpaceMismatch` if the home is in another space than what this store is told."""
        ...

    async def nearest(
        self, unit: Unit, row_filter: RowFilter, vector: Vector, *, limit: int
    ) -> Sequence[Near]:
        """The `limit` nearest current rows that pass the filter, by cosine, nearest first."""
        ...

    async def lacks(self, place: str) -> bool:
        """Whether there is no such place, be it not yet or no more: it holds nothing then."""
        ...

    async def put(self, objects: Sequence[StoredObject]) -> None:
        """Make these objects searched, and their places where they are new; again changes nothing.

        Raises `Unavailable`, also for a place that was lost since it was looked for, or
        `StoreRefused` for objects that it will never take, having put the others.
        """
        ...

    async def delete(self, gone: Sequence[Placed]) -> None:
        """Take these objects away; what is not there is no matter."""
        ...

    async def held(
        self, place: str, *, after: MemoryRef | None = None, limit: int | None = None
    ) -> Sequence[MemoryRef]:
        """Every object of a place, for sweeping what nobody counts.

        At most `limit` of them, those that follow `after` in the store's own order, which may be
        gone by now; there are no more once none comes.
        """
        ...

    async def leave(self, place: str) -> None:
        """Delete a place with all that is in it."""
        ...

    async def close(self) -> None: ...


class StoreBeside(MemoryStore, Protocol):
    """A store apart over another space than the one in use, on the same server."""

    async def named(self, place: str, vector: Vector, limit: int) -> Sequence[MemoryRef]:
        """The objects of a place that are nearest, whatever the ledger says of them."""
        ...

    async def made(self) -> bool:
        """Whether anything is kept for the space; asking makes nothing."""
        ...

    async def end(self) -> None:
        """Delete what is kept for the space, unless somebody else still has a place there."""
        ...


Purpose = Literal["query", "passage"]


class Embedder(Protocol):
    """Texts to unit vectors in one pinned space."""

    @property
    def space(self) -> EmbeddingSpace: ...

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        """Shape (len(texts), dimension), float32, each row of length 1. Raises `ModelFailed`."""
        ...


class Tickets(Protocol):
    """Signing and verifying callers. A verifier alone raises `Unavailable` on `issue`."""

    async def issue(self, request: TicketRequest, now: datetime, *, age: int | None = 0) -> Ticket:
        """A ticket for the tenant of that name at `age`; at None for whichever there is."""
        ...

    async def verify(self, token: str, now: datetime) -> Caller:
        """Raises `InvalidTicket` for whatever is not a ticket of this home in its time."""
        ...

    def vouched_for(self, token: str) -> Caller | None:
        """Whom a ticket names that this home has signed, in its time or not; else None."""
        ...


class PolicyEngine(Protocol):
    """The authority that the compiled access must equal (Casbin)."""

    async def enforce(
        self, policy: Policy, caller: Caller, action: Action, target: str, now: datetime
    ) -> bool: ...

    async def check(self, policy: Policy, now: datetime) -> None:
        """Raises `InvalidPolicy` unless the policy is read exactly as it was written."""
        ...


class Clock(Protocol):
    """Time, aware and in UTC; and a steady count of seconds for durations."""

    def now(self) -> datetime: ...

    def steady_s(self) -> float: ...


class IdSource(Protocol):
    """Fresh ids."""

    def event_id(self) -> str:
        """A UUIDv7: ordered by time of making."""
        ...

    def token(self) -> str:
        """32 random hex digits."""
        ...


Background = Callable[[Awaitable[None]], None]  # starts a job that the home awaits when closing
