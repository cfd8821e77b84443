"""What looking after memories reports: who waits, what a sample showed, what was put away.

Apart from memories themselves, because these are answers to whoever keeps a memory in order.
"""

from typing import Literal

from pydantic import Field

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.ids import MemoryId
from hindsight_ray.domain.memory import Memory, MemoryType, Status
from hindsight_ray.domain.scope import Scope
from hindsight_ray.domain.text import CONTENT_CHARACTERS_MAX, Moment, Short

SampleVerdict = Literal["good", "bad", "unsure"]
LabelledKind = Literal["duplicate", "paraphrase", "near", "related", "unrelated"]


class Waiting(Value):
    """A memory that waits for a person, why, and what it cannot stand beside."""

    memory: Memory
    why: str
    conflicts: tuple[Memory, ...] = ()  # of the same topic and readers, as far as the caller reads


class Verdict(Value):
    """What a person said of one sampled memory at one revision. Metadata, never text."""

    memory_id: MemoryId
    revision: int
    scope: Scope
    verdict: SampleVerdict
    by: str
    at: Moment


class Sample(Value):
    """Memories drawn to be looked at, out of how many."""

    seed: int
    population: int
    memories: tuple[Memory, ...]


class SampleWeek(Value):
    """The share of bad memories among those judged in the seven days from `since`.

    `low` and `high` bound it with 95 % confidence (Wilson 1927); `unsure` ones are left out.
    """

    since: Moment
    judged: int
    bad: int
    unsure: int
    share: float | None
    low: float
    high: float


class SampleReport(Value):
    """How good memories are, as people judged samples: in all, and week by week."""

    total: SampleWeek | None
    weeks: tuple[SampleWeek, ...]


class Maintained(Value):
    """What one slice of upkeep did. `done` says that the pass over the tenant has ended."""

    looked_at: int
    archived: tuple[MemoryId, ...] = ()  # cold, expired, or over their scope's quota
    forgotten: tuple[MemoryId, ...] = ()  # archived before: for as long, or as many, as may be
    swept: int = 0  # objects of a memory store apart that nobody counts
    done: bool = True


class Tier(Value):
    """How a memory stands: its tier, its retention, and the last use that both follow from."""

    memory_id: MemoryId
    tier: Literal["hot", "warm", "cold", "archived"]
    retention: float
    last_use: Moment


class ProjectClosed(Value):
    """The memories that closing a project retired, and those that the caller could not."""

    project: str
    archived: tuple[MemoryId, ...]
    left: int  # of the project and readable, where the caller holds no `forget`


class Reembedding(Value):
    """How far a change of the embedding model has come.

    `building`: vectors of the new model are made beside the old ones, which are searched.
    `switched`: the new ones are searched, the old ones still there. `done`: they are dropped.
    """

    model: str
    state: Literal["building", "switched", "done"]
    embedded: int
    total: int
    checked: int = 0  # memories whose vector and neighbours were looked at
    neighbours_kept: float | None = None  # share of their five nearest that both spaces name


class LabelledPair(Value):
    """Two statements and how they stand to one another."""

    a: str = Field(min_length=1, max_length=CONTENT_CHARACTERS_MAX * 5)
    b: str = Field(min_length=1, max_length=CONTENT_CHARACTERS_MAX * 5)
    kind: LabelledKind


class Spread(Value):
    """How similar the pairs of one kind are to a model: least, tenths, most."""

    kind: LabelledKind
    pairs: int
    least: float
    p10: float
    median: float
    p90: float
    most: float


class Calibration(Value):
    """The thresholds that a model's similarities of labelled pairs give, and how they lie."""

    model: str
    dimension: int
    duplicate_at: float
    merge_at: float
    spreads: tuple[Spread, ...]
    duplicates_below: int  # rewordings that `duplicate_at` misses
    others_above: int  # anything but rewordings and near statements that it takes in


class Lineage(Value):
    """Where a piece of knowledge comes from, as far as its reader may see it."""

    memory_id: MemoryId
    revision: int
    run: str | None
    events: tuple[str, ...]
    derived_from: tuple[str, ...]
    agent: str | None
    prompt: str
    reviewed_by: str
    created_at: Moment


class Knowledge(Value):
    """An approved experience as a document for an ordinary knowledge base."""

    title: Short
    advice: str
    steps: tuple[str, ...]
    type: MemoryType
    scope: Scope
    audience: tuple[str, ...]
    labels: tuple[str, ...]
    task_type: str | None
    tools: tuple[str, ...]
    intent: str
    applicability: str | None
    sharing: str | None
    confidence: float
    status: Status
    lineage: Lineage
