"""Credit: shares of an outcome, or the reason why none can be given."""

from typing import Literal

from pydantic import Field

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.ids import RunId
from hindsight_ray.domain.text import Moment, Short, Summary

EvidenceClass = Literal["replayed", "statistical", "structural", "opinion"]
TargetKind = Literal["event", "agent", "memory"]
Effect = Literal["useful", "harmful", "idle", "unclear"]
CREDITS_MAX = 1_000
METHODS_MAX = 32  # of one run, by one author: each method's newest is kept
IDLE_WITHIN = 0.02  # an interval this near to zero is that of something without effect


class Target(Value):
    """What credit is given to: an event, an agent or a memory, with a line for people."""

    kind: TargetKind
    id: str = Field(max_length=128)
    label: Summary = ""


class Credit(Value):
    """A share of an outcome with its interval. G7: without evidence there is none."""

    target: Target
    value: float
    low: float
    high: float
    method: Short
    evidence: EvidenceClass
    evaluations: int = 0
    residual: float = 0.0  # what efficiency lacks: outcome less the sum of all shares

    @property
    def effect(self) -> Effect:
        """What the interval says: it helped, it harmed, it did nothing, or one cannot tell."""
        if self.low > 0:
            return "useful"
        if self.high < 0:
            return "harmful"
        return "idle" if max(-self.low, self.high) <= IDLE_WITHIN else "unclear"


class Abstained(Value):
    """No number, and why."""

    method: Short
    reason: Summary


class Coverage(Value):
    """How well the record supports a statement about causes."""

    events: int
    in_slice: int
    observed_edges: int
    declared_edges: int
    inferred_edges: int
    dangling: int
    gaps: int

    @property
    def complete(self) -> bool:
        """Whether a non-ancestor can be said to have had no part: all observed, no gaps."""
        unsure = self.declared_edges + self.inferred_edges + self.dangling + self.gaps
        return unsure == 0


class Attribution(Value):
    """The credits of one run under one method, or its abstention; flags name suspect steps.

    On the scale `share`, `outcome` = `baseline` + the sum of `credits` + their residual, where
    `baseline` is the mean outcome with every player replaced (none: 0). A `score` only orders its
    targets. `beside` holds credits of other games over the same outcome, each naming its method;
    they are no part of that sum. Where runs were compared, `compared_runs` is how many: those of
    the same task type and the same goal with an outcome, this one among them, and no others.
    """

    run_id: RunId
    outcome: float | None
    method: Short
    credits: tuple[Credit, ...] = Field(default=(), max_length=CREDITS_MAX)
    abstained: Abstained | None = None
    coverage: Coverage | None = None
    suspects: tuple[Target, ...] = ()  # flagged steps with no flagged ancestor
    memories: tuple[Target, ...] = ()  # used within the slice; only those the reader may read
    scale: Literal["share", "score"] = "share"
    baseline: float | None = None
    policy: Summary = ""  # the declared baseline that re-decided
    evaluations: int = Field(default=0, ge=0)  # replays spent, those taken from the cache included
    beside: tuple[Credit, ...] = Field(default=(), max_length=CREDITS_MAX)
    compared_runs: int = Field(default=0, ge=0)

    @property
    def word(self) -> str:
        """What people are to call the numbers: only a share is credit."""
        return "credit" if self.scale == "share" else "score"


class Credited(Value):
    """An attribution as it is kept: of which group of runs, by whom, when.

    `group` is the run, or for comparisons the task that the runs share; these name the runs that
    were `compared`, and are shown to who may review all of them. `counts` is whether it moves the
    utility of memories: the outcome is by an evaluator who took no part, and so is this.
    """

    group: str
    by: str
    at: Moment
    counts: bool
    why_not: str = ""  # why it does not count
    attribution: Attribution
    compared: tuple[RunId, ...] = ()

    def tells_of(self, run_id: str) -> frozenset[str] | None:
        """The runs that it tells of besides its own, which is this; None where nobody knows."""
        if self.group == run_id:
            return frozenset()
        return frozenset(self.compared) - {run_id} if self.compared else None
