"""Credit: shares of an outcome, or the reason why none can be given."""

from typing import Literal

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.ids import RunId

EvidenceClass = Literal["replayed", "statistical", "structural", "opinion"]
TargetKind = Literal["event", "agent", "memory"]


class Target(Value):
    """What credit is given to: an event, an agent or a memory, with a line for people."""

    kind: TargetKind
    id: str
    label: str = ""


class Credit(Value):
    """A share of an outcome with its interval. G7: without evidence there is none."""

    target: Target
    value: float
    low: float
    high: float
    method: str
    evidence: EvidenceClass
    evaluations: int = 0
    residual: float = 0.0  # what efficiency lacks: outcome less the sum of all shares


class Abstained(Value):
    """No number, and why."""

    method: str
    reason: str


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
    """The credits of one run under one method, or its abstention; flags name suspect steps."""

    run_id: RunId
    outcome: float | None
    method: str
    credits: tuple[Credit, ...] = ()
    abstained: Abstained | None = None
    coverage: Coverage | None = None
    suspects: tuple[Target, ...] = ()  # flagged steps with no flagged ancestor
    memories: tuple[Target, ...] = ()  # used within the slice; only those the reader may read
