"""What looking after memories asks of the ledger: pages of them, verdicts, another space."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.upkeep import Verdict
from hindsight_ray.ports.stored import Placed, StoredObject, Vector


@dataclass(frozen=True, slots=True)
class Text:
    """A memory's text to be embedded, and the revision at which it says that."""

    number: int
    revision: int
    content: str


class UpkeepLog(Protocol):
    """Memories by page, where a pass has come to, and what people said of samples."""

    async def page(
        self, row_filter: RowFilter, *, after: int, limit: int
    ) -> Sequence[tuple[int, Memory]]:
        """Rows that pass with a number above `after`, in order: numbers are given once."""
        ...

    async def named(self, tenant: str, ids: Sequence[str]) -> Mapping[str, int]:
        """The numbers of these memories."""
        ...

    async def scopes(self, tenant: str, *, archived: bool = False) -> Mapping[str, int]:
        """How many memories that are not archived, or that are, each scope holds."""
        ...

    async def first_said(self, tenant: str, scope: str, by: str) -> int:
        """How many memories of a scope this principal made, archived ones too: whatever they say
        by now, and whose word it is."""
        ...

    async def made(self, row_filter: RowFilter, by: str) -> int:
        """How many of the rows that pass this principal made."""
        ...

    async def on_project(self, tenant: str, project: str) -> Sequence[Memory]:
        """Current memories of a project that are not archived."""
        ...

    async def cursor(self, name: str) -> int:
        """Where the pass of this name has come to, 0 at its beginning."""
        ...

    async def set_cursor(self, name: str, value: int) -> None: ...

    async def judge(self, tenant: str, verdict: Verdict) -> None: ...

    async def verdicts(self, tenant: str) -> Sequence[Verdict]:
        """What was said of samples, oldest first."""
        ...


class VectorsBeside(Protocol):
    """Vectors of a model that is not the one in use: the next one's, or the one's before.

    A memory that changes loses them, so that what is here is always of its current text.
    """

    async def lacking(self, model: str, *, limit: int) -> Sequence[Text]:
        """Memories of all tenants that have no vector of this model yet."""
        ...

    async def put(self, model: str, texts: Sequence[Text], vectors: Vector) -> int:
        """Keep those of memories that are still at the revision; return how many.

        None of the model in use, whose vectors lie elsewhere.
        """
        ...

    async def counts(self, model: str) -> tuple[int, int]:
        """(memories with a vector of this model, memories with one in use)."""
        ...

    async def numbers(self) -> Sequence[int]:
        """Of every memory with a vector in use."""
        ...

    async def of(self, model: str | None, numbers: Sequence[int]) -> Mapping[int, Vector]:
        """Vectors of this model kept beside, or of the one in use (None)."""
        ...

    async def texts(self, numbers: Sequence[int]) -> Sequence[Text]:
        """What these memories say."""
        ...

    async def nearest(
        self, model: str | None, number: int, vector: Vector, *, limit: int
    ) -> Sequence[int]:
        """The other memories of the same tenant that are nearest in that space."""
        ...

    async def switch(self, model: str, dimension: int) -> None:
        """Use these vectors from now on, keep those used so far beside. All or nothing.

        Raises `SpaceMismatch` if a memory lacks one.
        """
        ...

    async def drop(self, model: str) -> None: ...

    async def models(self) -> Sequence[str]:
        """The models of which there are vectors beside."""
        ...


@dataclass(frozen=True, slots=True)
class Apart:
    """Another space of a memory store apart: being built, or left since then."""

    dimension: int
    left: datetime | None = None


@dataclass(frozen=True, slots=True)
class InHand:
    """What somebody puts beside, or has been stopped putting there: noted before it is sent."""

    token: str
    model: str
    dimension: int
    at: datetime
    placed: tuple[Placed, ...]


class SpacesApart(Protocol):
    """What a memory store apart holds, or may hold, where the ledger's tenants do not look."""

    async def spaces(self) -> Mapping[str, Apart]:
        """The other spaces by model. One that was left stays noted until none can put there."""
        ...

    async def keep(self, model: str, space: Apart) -> None:
        """Note it before anything is put there, and when it is left."""
        ...

    async def drop(self, model: str) -> None:
        """Note that nothing is there any more, nor will be."""
        ...

    async def take(self, slice_: InHand) -> None: ...

    async def in_hand(self) -> Sequence[InHand]: ...

    async def let_go(self, token: str) -> None: ...

    async def keep_place(self, place: str, at: datetime) -> None:
        """Note a place that was left: who did not know may make it once more."""
        ...

    async def left_places(self) -> Mapping[str, datetime]: ...

    async def drop_place(self, place: str) -> None: ...

    async def places(self) -> Mapping[str, str]:
        """Every tenant's place."""
        ...

    async def counted(self, placed: Sequence[Placed]) -> frozenset[Placed]:
        """Those that are a memory of its tenant as it is now."""
        ...

    async def objects(
        self, model: str, texts: Sequence[Text], vectors: Vector
    ) -> Sequence[StoredObject]:
        """What to put for these memories, as far as they are still at the revision."""
        ...

    async def placed(self) -> Mapping[int, Placed]:
        """Where every memory with a vector in use belongs, by number."""
        ...

    async def tell_others(self, told: Collection[MemoryRef]) -> int:
        """Let what was open be, and open what the store is not known to search: how many."""
        ...
