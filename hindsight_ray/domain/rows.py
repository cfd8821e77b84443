"""What routes exchange with stores: the filter that keeps foreign rows out, and what comes back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Layer, Memory, MemoryType, Status

AudienceKey = str  # 32 hex digits: the digest of a sorted audience
Ints = NDArray[np.int64]


def _no_numbers() -> Ints:
    return np.empty(0, dtype=np.int64)


def _listed(numbers: Ints) -> list[int]:
    return numbers.tolist()


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows a route may return. Every field narrows; an empty set matches nothing.

    `keys` are the audience keys that the caller may read in full, None only for a caller who
    reads every scope of the tenant. `denied_labels` hide single records whatever their audience.
    """

    tenant: str
    now: datetime
    keys: frozenset[AudienceKey] | None
    denied_labels: frozenset[str] = frozenset()
    scopes: frozenset[str] | None = None
    types: frozenset[MemoryType] | None = None
    layers: frozenset[Layer] | None = None
    statuses: frozenset[Status] = frozenset({"active", "outdated"})
    task_type: str | None = None  # experiences of another task type are left out
    since: datetime | None = None  # bounds on `created_at`
    until: datetime | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing can match, so that no store need be asked."""
        narrowed = (self.keys, self.scopes, self.types, self.layers, self.statuses)
        return any(part is not None and not part for part in narrowed)


@dataclass(frozen=True, slots=True)
class Near:
    """A row of the vector route: cosine similarity in [-1, 1]."""

    ref: MemoryRef
    similarity: float


@dataclass(frozen=True, slots=True)
class NearAt:
    """The nearest rows to each of several vectors, as they were at one change of the tenant."""

    change: int
    near: Sequence[Sequence[Near]]


@dataclass(frozen=True, slots=True)
class Stated:
    """What a record says and how it stands; the rest is taken out of it when it is asked for."""

    content: str
    status: Status
    labelled: bool
    memory: Callable[[], Memory]


@dataclass(frozen=True, slots=True, eq=False)
class KeywordMatches:
    """Postings of the asked terms over the readable rows only, and the statistics over the same.

    Rows are numbered: `ids` and `sizes` (in terms) are those of any row, readable or not, and
    `postings[term]` says in which readable ones the term is, and how often. Arrays, since a common
    word is in thousands of rows.
    """

    documents: int
    total_length: int
    ids: Sequence[MemoryUuid] = ()
    sizes: Ints = field(default_factory=_no_numbers)
    postings: Mapping[str, tuple[Ints, Ints]] = field(default_factory=dict[str, tuple[Ints, Ints]])

    @property
    def frequencies(self) -> dict[str, dict[MemoryUuid, int]]:
        """How often each term is in each memory, by id: for looking at, not for ranking."""
        return {
            term: {self.ids[row]: count for row, count in zip(*map(_listed, found), strict=True)}
            for term, found in self.postings.items()
        }

    @property
    def lengths(self) -> dict[MemoryUuid, int]:
        """The terms of each matched memory, by id."""
        matched = {row for at, _ in self.postings.values() for row in _listed(at)}
        return {self.ids[row]: int(self.sizes[row]) for row in matched}


@dataclass(frozen=True, slots=True)
class Standing:
    """What the ledger says of a ticket at this moment, read in one transaction with the rows."""

    revision: int
    tenant_known: bool
    ticket_revoked: bool
    age: int = 0  # how many tenants of this name were dropped before
    settled: bool = True  # False where this transaction changed the policy: nothing to remember yet


@dataclass(frozen=True, slots=True)
class Offered:
    """What an agent was offered in a run: its derived records inherit these scopes and labels."""

    audience: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    untrusted: bool = False
    refs: frozenset[MemoryRef] = frozenset()


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """A model's name and dimension, and its calibrated thresholds on cosine similarity."""

    model: str
    dimension: int
    duplicate_at: float
    merge_at: float


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the audit: metadata, never text. As it is read, with its place in its chain."""

    tenant: str
    at: datetime
    principal: str
    verb: str
    object: str
    effect: str
    rule: str
    revision: int
    digest: str = ""
    writer: str = field(default="", compare=False, repr=False)
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RecallEntry:
    """One search: what was asked (redacted), and every id that was offered, with its revision."""

    tenant: str
    at: datetime
    principal: str
    user: str | None
    session: str | None
    run_id: str | None
    query: str
    top_scores: tuple[float, ...]
    offered: tuple[MemoryRef, ...]
    revision: int
