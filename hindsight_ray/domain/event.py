"""Events: one recorded step of one agent in a run."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.ids import AgentId, EventId, MemoryId, RunId
from hindsight_ray.domain.numbers import Code, Count, Seed
from hindsight_ray.domain.text import Moment, Short, Summary
from hindsight_ray.errors import InvalidInput

EventKind = Literal["llm", "tool", "user", "state", "message", "decision"]
EdgeEvidence = Literal["observed", "declared", "inferred"]
REFS_MAX = 1_000  # of each kind that one event may name
_PRINTABLE = r"^[ -~]*$"  # ASCII

Digest = Annotated[str, Field(strict=True, max_length=128, pattern=_PRINTABLE)]


class MemoryRef(Value):
    """A memory at the revision that was seen."""

    id: MemoryId
    revision: int = Field(ge=0, le=2**31)  # 0: before the first


class ToolCall(Value):
    """What is kept of a tool call: never its full arguments or result, only digests of them."""

    name: Short
    arguments_digest: Digest = ""
    status: Literal["ok", "error"] = "ok"
    status_code: Code | None = None
    error_type: Summary = ""
    error_text: Summary = ""
    result_digest: Digest = ""


class Snapshot(Value):
    """Where the agent stood: goal, subtask and the user's last words, nothing more."""

    goal: Summary = ""
    subtask: Summary = ""
    last_user_input: Summary = ""


class Event(Value):
    """One step. `seq` counts from 0 within run, agent and incarnation, without gaps.

    `causes` are events this one consumed; one of another host may still be in flight, so they are
    checked when the run closes. `edge_evidence` says how the causes are known.
    """

    event_id: EventId
    run_id: RunId
    agent: AgentId
    incarnation: str = Field(strict=True, min_length=1, max_length=64, pattern=_PRINTABLE)
    seq: Count
    timestamp: Moment
    kind: EventKind
    summary: Summary
    tool: ToolCall | None = None
    snapshot: Snapshot | None = None
    to: AgentId | None = None  # whom a message goes to
    causes: tuple[EventId, ...] = Field(default=(), max_length=REFS_MAX)
    edge_evidence: EdgeEvidence = "declared"
    offered: tuple[MemoryRef, ...] = Field(default=(), max_length=REFS_MAX)
    used: tuple[MemoryRef, ...] = Field(default=(), max_length=REFS_MAX)
    model: Short | None = None
    seed: Seed | None = None
    tokens: Count | None = None
    truncated: bool = False  # the summary was cut to its limit
    state_digest: Digest = ""  # of a simulation's state just before

    @model_validator(mode="after")
    def _not_its_own_cause(self) -> Self:
        if self.causes and self.event_id in self.causes:
            raise InvalidInput(f"`causes` of event {self.event_id} name itself", field="causes")
        return self


class SequenceGap(Value):
    """Events that an agent numbered and nobody received: `first` to `last`, both missing."""

    agent: AgentId
    incarnation: str
    first: int
    last: int
