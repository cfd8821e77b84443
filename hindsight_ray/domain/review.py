"""Reviews: a fixed template, in which every claim cites the events it rests on."""

from typing import Literal

from pydantic import Field

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.chat import FailedReview
from hindsight_ray.domain.ids import EventId, MemoryId, RunId, TenantId
from hindsight_ray.domain.text import Line, Short, Summary

ReviewKind = Literal["full", "partial"]
Trigger = Literal[
    "run end", "two tool failures", "user dissatisfaction", "repeated step", "asked for"
]


class Claim(Value):
    """One statement of a review and the events it cites (at least one)."""

    text: Line
    events: tuple[EventId, ...] = Field(min_length=1)


class Lesson(Value):
    """A reusable experience found by a review: advice in the second person, and its scene."""

    advice: Line
    events: tuple[EventId, ...] = Field(min_length=1)
    tools: tuple[str, ...] = ()
    agent: str | None = None  # whose lesson it is; None: the team's (collaborative)
    rule: str  # what in the structure proves it; of a model's: that a model says so
    prompt: str = ""  # name, version and hash of the prompt that it answers; "" for rules
    importance: float = Field(default=0.6, ge=0.0, le=1.0)
    confidence: float = Field(default=0.8, ge=0.0, le=1.0)


class Finding(Value):
    """A fact, preference or procedure that a run taught, and why it should be kept."""

    type: Literal["fact", "preference", "procedure"]
    content: Line
    steps: tuple[Line, ...] = ()
    topic: Short | None = None
    events: tuple[EventId, ...] = Field(min_length=1)
    agent: str | None = None  # whose own experience it is; None: the team's
    importance: float = Field(default=0.5, ge=0.0, le=1.0)
    confidence: float = Field(ge=0.0, le=1.0)
    why: Line
    prompt: str = ""


class Review(Value):
    """The template: goal, path, steps that helped or not, decisions, improvements, lessons."""

    run_id: RunId
    kind: ReviewKind
    trigger: Trigger
    goal: Line
    path: Summary
    effective: tuple[Claim, ...] = ()
    ineffective: tuple[Claim, ...] = ()
    decisions: tuple[Claim, ...] = ()
    improvements: tuple[Claim, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    findings: tuple[Finding, ...] = ()
    reviewer: str = "rules"  # or the model, and the prompts that it answered
    heard_by: str = ""  # the prompt by which a model heard the complaint that it is about


class ReviewReport(Value):
    """What a review did. Ids are only those that whoever started it may read.

    `stored` were added by this review, of which `waiting` wait for a person; `known` say the same
    and were there before, be it from a review of the same trajectory or from another run.
    `rejected` says why a claim or a lesson was not kept: nothing proves it, or a policy or a limit
    was met.
    """

    run_id: RunId
    kind: ReviewKind | None  # None: of a run that whoever asked may not be shown
    triggers: tuple[Trigger, ...]
    claims: int = 0
    stored: tuple[MemoryId, ...] = ()
    waiting: int = 0
    known: tuple[MemoryId, ...] = ()
    duplicates: int = 0
    rejected: tuple[str, ...] = ()
    failure: FailedReview | None = None  # a model was to review it and did not; rules did


class DueReview(Value):
    """A review that nobody asked for: of a run that has ended, or of what was just recorded."""

    tenant: TenantId
    run_id: RunId
    batch: tuple[EventId, ...] = ()  # the events just recorded; none: the run has ended
