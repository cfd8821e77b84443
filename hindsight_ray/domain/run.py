"""Runs: one task done by one or more agents, its outcomes, and what closing it found."""

from pydantic import Field

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.event import Event, SequenceGap
from hindsight_ray.domain.ids import AgentId, EventId, RunId, SessionId, TenantId, UserId
from hindsight_ray.domain.numbers import Seed
from hindsight_ray.domain.scope import Audience, Scope
from hindsight_ray.domain.text import TOOLS_MAX, Line, Moment, Short, Summary

STATE_ENTRIES_MAX = 100


class Participant(Value):
    """An agent of a run, and the user its ticket acts for. `agent` alone names a log's label."""

    agent: AgentId | None = None
    user: UserId | None = None


class Run(Value):
    """One task. `audience` = scope and the users that its participants' tickets act for."""

    run_id: RunId
    tenant: TenantId
    scope: Scope
    audience: Audience
    goal: Line
    task_type: Short
    goal_digest: str
    tools: tuple[Short, ...] = Field(default=(), max_length=TOOLS_MAX)
    intent: Summary = ""
    project: Short | None = None
    seed: Seed | None = None
    participants: tuple[Participant, ...] = ()
    started_at: Moment
    closed_at: Moment | None = None
    imported: bool = False  # agent names in it are labels, not principals
    timed: bool = True  # False: its log says no times; it was imported at `started_at`
    trusted: bool = True  # False: what is learned from it is quarantined
    vouched_by: str | None = None  # the principal that imported it as trusted


class Outcome(Value):
    """A revisable score of a run. Who asserted it comes from the ticket, never from an argument.

    `evaluator` is a free label; `by` the principal; `participant` whether it took part;
    `evaluates` whether it held `evaluate` (only non-participants who do move utility).
    """

    outcome_id: str
    run_id: RunId
    value: float = Field(ge=-1.0, le=1.0)
    success: bool
    evaluator: Short
    by: str
    participant: bool
    evaluates: bool
    at: Moment
    revision: int = 1


class Annotation(Value):
    """Somebody's remark on a run, such as a culprit label. No attribution ever reads it."""

    run_id: RunId
    kind: Short
    agent: str | None = None
    event: EventId | None = None
    text: Summary = ""


class RunClosure(Value):
    """What closing a run found: causes that no event answers to, and missing numbers.

    Without `ended` whoever asked has left it, and it goes on.
    """

    run_id: RunId
    events: int
    dangling: int
    gaps: tuple[SequenceGap, ...] = ()
    ended: bool = True


class RecordAck(Value):
    """A batch made durable: how many events were new, how many had been there before."""

    stored: int
    repeated: int
    gaps: tuple[SequenceGap, ...] = ()


class Trajectory(Value):
    """A run and its events in order of time, then agent and sequence."""

    run: Run
    events: tuple[Event, ...]
    outcomes: tuple[Outcome, ...] = ()
    gaps: tuple[SequenceGap, ...] = ()
    dangling: tuple[EventId, ...] = ()


class RunSummary(Value):
    """A line of a list of runs."""

    run: Run
    events: int
    outcome: float | None = None


class WorkingState(Value):
    """What an agent is at within a run; injected whole, dropped when the run closes."""

    goal: Summary = ""
    subtask: Summary = ""
    state: dict[Short, Summary] = Field(default_factory=dict, max_length=STATE_ENTRIES_MAX)


class Flushed(Value):
    """What has become of a recorder's events since it was opened. Counts, none of them silent.

    `stored` and `repeated` are durable; `dropped` ones met a full buffer; `truncated` summaries
    were cut to their limit; `gaps` are this agent's missing numbers.
    """

    stored: int = 0
    repeated: int = 0
    dropped: int = 0
    truncated: int = 0
    outcomes: int = 0
    gaps: tuple[SequenceGap, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody should know about, in words."""
        found: list[str] = []
        if self.dropped:
            found.append(f"{self.dropped} events were dropped: the buffer was full")
        if self.gaps:
            found.append(f"{len(self.gaps)} gaps in the sequence: events never arrived")
        if self.truncated:
            found.append(f"{self.truncated} summaries were cut to their limit")
        return tuple(found)


class ShortTerm(Value):
    """The short-term window of a session, oldest line first."""

    session: SessionId
    lines: tuple[str, ...] = ()
