"""Memories: statements kept for reuse, with where they came from and who may read them."""

from typing import Literal, NewType

from pydantic import Field

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import (
    AgentId,
    EventId,
    LabelName,
    MemoryId,
    RunId,
    SessionId,
    TenantId,
    UserId,
)
from hindsight_ray.domain.scope import Audience, Scope
from hindsight_ray.domain.text import (
    STEPS_MAX,
    TAGS_MAX,
    TOOLS_MAX,
    Content,
    Line,
    Moment,
    Short,
    Summary,
)

ChangeNumber = NewType("ChangeNumber", int)  # a tenant's: one step per committed memory change

MemoryType = Literal["fact", "preference", "procedure", "experience", "episode"]
Layer = Literal["episodic", "semantic"]
Status = Literal["active", "pending", "quarantined", "outdated", "archived"]
SourceKind = Literal["user", "operator", "agent", "tool", "import"]
Applicability = Literal["general", "user", "scenario"]
Sharing = Literal["individual", "collaborative"]

SOURCE_WEIGHTS: dict[SourceKind, float] = {
    "user": 1.0, "operator": 0.9, "agent": 0.6, "tool": 0.5, "import": 0.2,
}  # fmt: skip


class Source(Value):
    """Where a memory came from. `agent` and `user` are from the ticket of its author."""

    kind: SourceKind
    weight: float = Field(ge=0.0, le=1.0)
    trusted: bool = True
    agent: AgentId | None = None
    user: UserId | None = None
    session: SessionId | None = None
    run: RunId | None = None
    task: Summary = ""
    events: tuple[EventId, ...] = ()
    prompt: str = ""  # name, version and hash of the prompt that it answers; "" without a model
    reviewed_by: str | None = None  # the principal with `review` who accepted or promoted it


class Scene(Value):
    """When an experience applies: the coarse rules by which it is found."""

    task_type: Short
    tools: tuple[Short, ...] = Field(default=(), max_length=TOOLS_MAX)
    intent: Summary = ""
    applicability: Applicability = "scenario"
    sharing: Sharing = "individual"


class Memory(Value):
    """One statement at one revision. Objects are immutable; a change makes the next revision."""

    id: MemoryId
    revision: int = Field(ge=1)
    tenant: TenantId
    scope: Scope
    audience: Audience
    content: Content
    type: MemoryType
    layer: Layer = "semantic"
    steps: tuple[Line, ...] = Field(default=(), max_length=STEPS_MAX)
    scene: Scene | None = None
    topic: Short | None = None
    confidence: float = Field(default=0.8, ge=0.0, le=1.0)
    importance: float = Field(default=0.5, ge=0.0, le=1.0)
    status: Status = "active"
    tags: tuple[Short, ...] = Field(default=(), max_length=TAGS_MAX)
    labels: tuple[LabelName, ...] = Field(default=(), max_length=TAGS_MAX)
    project: Short | None = None
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None = None
    source: Source
    derived_from: tuple[MemoryRef, ...] = ()
    superseded_by: MemoryId | None = None
    part: int = Field(default=0, ge=0)  # of a longer text that was split
    parts: int = Field(default=1, ge=1)
    whole: MemoryId | None = None  # the first part's id, which links the parts of one text
    embedding_model: str


class MemoryStatistics(Value):
    """What changes often about a memory, kept beside it and never rewriting it."""

    accesses: int = 0
    last_accessed: Moment | None = None
    last_verified: Moment | None = None
    utility: float = 0.0  # -1 to 1: what replayed and statistical credit said of it


class RevisionNote(Value):
    """One step in a memory's history: who, when, why. `content` is None once erased."""

    revision: int
    at: Moment
    by: str
    why: str
    status: Status | Literal["forgotten"]
    content: str | None
