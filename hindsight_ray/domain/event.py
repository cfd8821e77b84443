"""Events: one recorded step of one agent in a run."""

from typing import Literal

from pydantic import Field

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.ids import AgentId, EventId, MemoryId, RunId
from hindsight_ray.domain.text import Moment, Short, Summary

EventKind = Literal["llm", "tool", "user", "state", "message", "decision"]
EdgeEvidence = Literal["observed", "declared", "inferred"]
REFS_MAX = 1_000  # of each kind that one event may name


class MemoryRef(Value):
    """A memory at the revision that was seen."""

    id: MemoryId
    revision: int


class ToolCall(Value):
    """What is kept of a tool call: never its full arguments or result, only digests of them."""

    name: Short
    arguments_digest: str = ""
    status: Literal["ok", "error"] = "ok"
    status_code: int | None = None
    error_type: Summary = ""
    error_text: Summary = ""
    result_digest: str = ""


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
    incarnation: str = Field(max_length=64)
    seq: int = Field(ge=0)
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
    seed: int | None = None
    tokens: int | None = Field(default=None, ge=0)
    truncated: bool = False  # the summary was cut to its limit
    state_digest: str = Field(default="", max_length=128)  # of a simulation's state just before


class SequenceGap(Value):
    """Events that an agent numbered and nobody received: `first` to `last`, both missing."""

    agent: AgentId
    incarnation: str
    first: int
    last: int
