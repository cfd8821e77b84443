"""Drafts: statements on their way into memory, with everything about them already decided.

Whoever makes one (a write, a promotion, a review) has authorised it and has decided whose it is,
who may read it and where it came from; keeping it decides the rest (see `service/commit.py`).
"""

from typing import Literal

from pydantic import Field

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import CommandId, LabelName, TenantId
from hindsight_ray.domain.memory import Layer, MemoryType, Scene, Source
from hindsight_ray.domain.scope import Audience, Scope, ScopeName
from hindsight_ray.domain.text import (
    STEPS_MAX,
    SUMMARY_CHARACTERS_MAX,
    TAGS_MAX,
    Line,
    LongText,
    Moment,
    Short,
)

DraftVerb = Literal["write", "review", "promote"]


class Draft(Value):
    """What to keep. Ids follow from `tenant`, `owner`, `verb`, `command_id` and the part.

    `audience` holds `scope` and every other scope that a reader must be able to read. `status` is
    what the author asks for at best; doubts can only lower it.
    """

    tenant: TenantId
    principal: ScopeName  # in whose name the audit writes it
    acting_scope: ScopeName | None = None  # of the user for whom the principal commands it
    verb: DraftVerb = "write"
    command_id: CommandId
    scope: Scope
    audience: Audience
    labels: tuple[LabelName, ...] = Field(default=(), max_length=TAGS_MAX)
    content: LongText
    type: MemoryType = "fact"
    layer: Layer = "semantic"
    steps: tuple[Line, ...] = Field(default=(), max_length=STEPS_MAX)
    scene: Scene | None = None
    topic: Short | None = None
    confidence: float = Field(default=0.8, ge=0.0, le=1.0)
    importance: float = Field(default=0.5, ge=0.0, le=1.0)
    tags: tuple[Short, ...] = Field(default=(), max_length=TAGS_MAX)
    project: Short | None = None
    expires_at: Moment | None = None
    source: Source
    status: Literal["active", "quarantined"] = "active"
    derived_from: tuple[MemoryRef, ...] = ()
    why: str = Field(default="", max_length=SUMMARY_CHARACTERS_MAX)  # kept in its history

    @property
    def owner(self) -> str:
        """Whose command it is, as `Caller.receipt_owner` says it."""
        acting = self.acting_scope
        return self.principal if acting is None else f"{self.principal} {acting}"

    @property
    def told(self) -> str:
        """What its history says of where it came from."""
        return f"{self.verb}: {self.why}" if self.why else self.verb
