"""Commands: what a caller may ask, one value per verb. The same words at every door.

A command never names its caller: that comes from the ticket it arrives with. `command_id` makes a
retry harmless: the same id and payload has one effect, with another payload it is refused.
"""

from typing import Literal

from pydantic import Field

from hindsight_ray.domain.access_commands import (
    DropTenant,
    Erase,
    IssueTicket,
    ListTenants,
    LoadPolicy,
    ReadAudit,
    ReadPolicy,
    ReadSeal,
    Revoke,
    RevokeTicket,
    Seer,
    SeersAnswer,
    Sees,
    SeesAnswer,
    SetPrivacy,
    Share,
    VerifyAudit,
    WhoAmI,
    WhoSees,
    Why,
    WhyAnswer,
    WhyOne,
)
from hindsight_ray.domain.base import Command, Value
from hindsight_ray.domain.credit import Attribution, Credit, Credited
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.ids import CommandId, LabelName, MemoryId, RunId
from hindsight_ray.domain.memory import Layer, MemoryType, Scene, SourceKind, Status
from hindsight_ray.domain.numbers import Count, Portion, Real, Seed, Truth, Whole
from hindsight_ray.domain.run import Trajectory, WorkingState
from hindsight_ray.domain.scope import Scope
from hindsight_ray.domain.text import (
    STEPS_MAX,
    TAGS_MAX,
    TOOLS_MAX,
    Line,
    LongText,
    Moment,
    Query,
    Short,
    Summary,
    Text,
)
from hindsight_ray.domain.upkeep_commands import (
    Archive,
    Calibrate,
    CloseProject,
    DecidePending,
    DrawSample,
    ExportKnowledge,
    JudgeSample,
    ListPending,
    Maintain,
    ReadSamples,
    ReadTiers,
    Reembed,
    Restore,
)

RESULTS_MAX = 100
NARROWED_MAX = 1_000  # names that one search is narrowed to
BATCH_EVENTS_MAX = 2_000

# What `access_commands` has is reached by this module's name too, like every other command.
OF_ACCESS: tuple[type[Value], ...] = (
    DropTenant, Erase, IssueTicket, ListTenants, LoadPolicy, ReadAudit, ReadPolicy, ReadSeal,
    Revoke, RevokeTicket, Seer, SeersAnswer, Sees, SeesAnswer, SetPrivacy, Share, VerifyAudit,
    WhoAmI, WhoSees, Why, WhyAnswer, WhyOne,
)  # fmt: skip

# Likewise those of `upkeep_commands`.
OF_UPKEEP: tuple[type[Value], ...] = (
    Archive,
    Calibrate,
    CloseProject,
    DecidePending,
    DrawSample,
    ExportKnowledge,
    JudgeSample,
    ListPending,
    Maintain,
    ReadSamples,
    ReadTiers,
    Reembed,
    Restore,
)


class StartRun(Command):
    """Begin a run. `scope` defaults to the acting user's; without a user it must be named."""

    command_id: CommandId
    goal: Line
    task_type: Short = "task"
    tools: tuple[Short, ...] = Field(default=(), max_length=TOOLS_MAX)
    scope: Scope | None = None
    intent: Summary = ""
    project: Short | None = None
    seed: Seed | None = None


class JoinRun(Command):
    """Take part in a run that somebody else began."""

    run_id: RunId


class RecordEvents(Command):
    """A batch of the caller's own events of one run, in order of `seq`."""

    run_id: RunId
    events: tuple[Event, ...] = Field(max_length=BATCH_EVENTS_MAX)


class CloseRun(Command):
    """End a run: causes are checked, missing numbers reported, working states dropped."""

    run_id: RunId


class AssertOutcome(Command):
    """Score a run from -1 to 1. Asserting again by the same principal revises the score."""

    run_id: RunId
    value: Real = Field(ge=-1.0, le=1.0)
    success: Truth | None = None  # default: value > 0
    evaluator: Short = "caller"


class ReadRun(Command):
    """A run with its events, outcomes and gaps."""

    run_id: RunId


class ListRuns(Command):
    """Runs that the caller may read, newest first."""

    limit: Whole = Field(default=20, ge=1, le=RESULTS_MAX)
    task_type: Short | None = None
    before: RunId | None = None  # the last of the page before


class SetWorking(Command):
    """Replace the caller's working state in a run."""

    run_id: RunId
    state: WorkingState


class GetWorking(Command):
    """The caller's working state in a run."""

    run_id: RunId


class Note(Command):
    """Add a line to the short-term window of the ticket's session."""

    text: Line
    command_id: CommandId | None = None  # with one, it may be sent again


class Window(Command):
    """The short-term window of the ticket's session, oldest first."""


class Write(Command):
    """Keep a statement. Longer than 200 characters, it is split into linked parts."""

    command_id: CommandId
    content: LongText
    scope: Scope | None = None  # default: the acting user's, else the caller's own
    type: MemoryType = "fact"
    layer: Layer = "semantic"
    steps: tuple[Line, ...] = Field(default=(), max_length=STEPS_MAX)
    scene: Scene | None = None
    topic: Short | None = None
    confidence: Portion = 0.8
    importance: Portion = 0.5
    tags: tuple[Short, ...] = Field(default=(), max_length=TAGS_MAX)
    labels: tuple[LabelName, ...] = Field(default=(), max_length=TAGS_MAX)
    project: Short | None = None
    expires_at: Moment | None = None
    source: Literal["user", "agent", "tool"] = "agent"  # what was said by whom; weight follows
    run_id: RunId | None = None


class Search(Command):
    """Find at most `k` memories. Filters narrow; nothing here widens what may be read."""

    query: Query
    k: Whole = Field(default=5, ge=1, le=RESULTS_MAX)
    scopes: tuple[Scope, ...] | None = Field(default=None, min_length=1, max_length=NARROWED_MAX)
    types: tuple[MemoryType, ...] | None = Field(
        default=None, min_length=1, max_length=NARROWED_MAX
    )
    layers: tuple[Layer, ...] | None = Field(default=None, min_length=1, max_length=NARROWED_MAX)
    task_type: Short | None = None  # for experiences: the coarse rules
    tools: tuple[Short, ...] = Field(default=(), max_length=TOOLS_MAX)
    since: Moment | None = None
    until: Moment | None = None
    # Others than active and outdated need `review`.
    statuses: tuple[Status, ...] | None = Field(default=None, min_length=1, max_length=NARROWED_MAX)
    run_id: RunId | None = None  # hits are added to what this run's agent was offered
    at_least: Count | None = None  # a policy revision that the answer must not be older than


class SearchMany(Command):
    """Several searches in one call, answered in order at one policy revision."""

    searches: tuple[Search, ...] = Field(min_length=1, max_length=50)


class Get(Command):
    """One memory at its current revision."""

    memory_id: MemoryId


class History(Command):
    """Who changed a memory, when and why."""

    memory_id: MemoryId


class Update(Command):
    """Change a memory; what is None stays. `if_revision` makes it a compare-and-set."""

    command_id: CommandId
    memory_id: MemoryId
    content: LongText | None = None
    importance: Portion | None = None
    confidence: Portion | None = None
    tags: tuple[Short, ...] | None = Field(default=None, max_length=TAGS_MAX)
    expires_at: Moment | None = None
    if_revision: Count | None = None


class Forget(Command):
    """Take a memory out of every answer; a tombstone stays."""

    command_id: CommandId
    memory_id: MemoryId


class Promote(Command):
    """Copy a memory to another scope, dropping scopes from its audience on purpose."""

    command_id: CommandId
    memory_id: MemoryId
    scope: Scope


class ReviewRun(Command):
    """Review a run now, whatever its length."""

    run_id: RunId


class ReadSpending(Command):
    """What asking models has cost: of a run, or of the tenant (who administers it)."""

    run_id: RunId | None = None
    since: Moment | None = None


class RetryReviews(Command):
    """Take up again, oldest first, reviews that a model was to make and did not."""

    run_id: RunId | None = None  # None: every run that the caller may review
    limit: Whole = Field(default=20, ge=1, le=RESULTS_MAX)
    list_only: Truth = False


class Attribute(Command):
    """Share a run's outcome among what led to it, or say what points at whom.

    `provenance` and `blame` read the run's structure, `spectrum` compares runs of the same task,
    `judge` asks a model for its opinion.
    """

    run_id: RunId
    method: Literal["provenance", "blame", "spectrum", "judge"] = "provenance"
    formula: Literal["ochiai", "tarantula", "dstar"] = "ochiai"  # of a spectrum
    strategy: Literal["all at once", "step by step", "binary search"] = "all at once"  # of a judge


class ReadForReplay(Command):
    """What a replay of a run needs: its trajectory, and memories as they were seen."""

    run_id: RunId


class SeenMemory(Value):
    """A memory's text at the revision that was seen."""

    ref: MemoryRef
    content: str


class ReplayRecord(Value):
    """A run as it can be replayed by this reader."""

    trajectory: Trajectory
    memories: tuple[SeenMemory, ...]


class SubmitCredits(Command):
    """Keep credit that was found by replaying a run, in place of one's earlier by that method."""

    run_id: RunId
    attribution: Attribution


class CreditsKept(Value):
    """Credit as it was kept, and the memories whose utility it moved."""

    credited: Credited
    rated: tuple[str, ...]


class ReadCredits(Command):
    """What was found about a run, by whom and when: the newest, without the `skip` newest."""

    run_id: RunId
    skip: Whole = Field(default=0, ge=0)
    limit: Whole = Field(default=20, ge=1, le=RESULTS_MAX)


class Explain(Command):
    """The evidence behind a memory: the events it cites and what it was derived from."""

    memory_id: MemoryId


class ImportRuns(Command):
    """Record the runs of a log file as if they had happened here (operator)."""

    format: Literal["openai-messages", "who-and-when"]
    text: Text
    scope: Scope
    trusted: Truth = True


class ImportReport(Value):
    """What an import added; `repeated` runs were there before, `refused` items were left out.

    Of what was added the logs of `untimed` runs say no times.
    """

    runs: int
    events: int
    repeated: int = 0
    refused: tuple["Refused", ...] = ()
    untimed: int = 0


class Refused(Value):
    """An item that an import left out: its position in the file and the reason."""

    position: int
    reason: str


class Explanation(Value):
    """What a memory rests on, as far as the reader may see it.

    `credits` are those of the decisions that it cites or that its events came of: as they were
    kept of replays and comparisons, else by the run's structure. Events are not `timed` if they
    come from a log that says no times.
    """

    memory_id: MemoryId
    source_kind: SourceKind
    run_id: RunId | None
    events: tuple[Event, ...]
    derived_from: tuple[MemoryRef, ...]
    credits: tuple[Credit, ...] = ()
    timed: bool = True
