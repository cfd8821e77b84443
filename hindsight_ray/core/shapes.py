"""The shapes that prompts ask for: what a model is to fill in, before anybody believes it.

Lenient where `domain` is strict: a model that adds a field or leaves one out has still said the
rest. Events are named by the short names that the prompt gave them.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ITEMS_MAX = 20  # of each list that a model fills
_TEXT = 600
REFS_MAX = 24  # events that one item cites


class Shape(BaseModel):
    """Base of what a model fills in. Unknown fields are ignored and reported."""

    # Built when first used, as values are: most processes ask no model anything.
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)


class SaidClaim(Shape):
    text: str = Field(min_length=1, max_length=_TEXT)
    events: list[str] = Field(min_length=1, max_length=REFS_MAX)


class SaidLesson(Shape):
    advice: str = Field(min_length=1, max_length=_TEXT)
    events: list[str] = Field(min_length=1, max_length=REFS_MAX)
    tools: list[str] = Field(default_factory=list, max_length=8)
    agent: str | None = None
    importance: float = Field(default=0.6, ge=0, le=1)
    confidence: float = Field(default=0.7, ge=0, le=1)


class ReviewAnswer(Shape):
    """The template of a review."""

    path: str = ""
    effective: list[SaidClaim] = Field(default_factory=list[SaidClaim])
    ineffective: list[SaidClaim] = Field(default_factory=list[SaidClaim])
    decisions: list[SaidClaim] = Field(default_factory=list[SaidClaim])
    improvements: list[SaidClaim] = Field(default_factory=list[SaidClaim])
    lessons: list[SaidLesson] = Field(default_factory=list[SaidLesson])


class SaidItem(Shape):
    """One statement worth keeping, with the three questions of the write decision answered."""

    type: Literal["fact", "preference", "procedure"]
    content: str = Field(min_length=1, max_length=_TEXT)
    steps: list[str] = Field(default_factory=list, max_length=20)
    topic: str | None = Field(default=None, max_length=80)
    events: list[str] = Field(min_length=1, max_length=REFS_MAX)
    agent: str | None = None
    confidence: float = Field(ge=0, le=1)
    importance: float = Field(default=0.5, ge=0, le=1)
    new: bool
    actionable: bool
    lasting: bool
    reason: str = Field(min_length=1, max_length=_TEXT)


class ExtractAnswer(Shape):
    """What a run taught about the world, its users and how things are done."""

    items: list[SaidItem] = Field(default_factory=list[SaidItem])


class SaidOpinion(Shape):
    """How a new statement stands to one that is kept."""

    pair: str
    relation: Literal["same", "contradicts", "different"]
    contradicted: str = Field(default="", max_length=_TEXT)
    reason: str = Field(default="", max_length=_TEXT)


class JudgeAnswer(Shape):
    pairs: list[SaidOpinion] = Field(default_factory=list[SaidOpinion])


class MoodAnswer(Shape):
    """The users' words that complain about the work just done."""

    events: list[str] = Field(default_factory=list, max_length=ITEMS_MAX)


class WindowAnswer(Shape):
    summary: str = Field(min_length=1, max_length=2_000)


class CulpritAnswer(Shape):
    """The decisions that decided a failure, the most likely first; none if that is not shown."""

    events: list[str] = Field(default_factory=list, max_length=ITEMS_MAX)
    reason: str = Field(default="", max_length=_TEXT)


class StepAnswer(Shape):
    """Whether one decision decided a failure."""

    decisive: bool
    reason: str = Field(default="", max_length=_TEXT)


class HalfAnswer(Shape):
    """In which of two groups of decisions the one that decided a failure is."""

    half: Literal["first", "second", "neither"]
    reason: str = Field(default="", max_length=_TEXT)


SHAPES: dict[str, type[Shape]] = {
    shape.__name__: shape
    for shape in (
        ReviewAnswer,
        ExtractAnswer,
        JudgeAnswer,
        MoodAnswer,
        WindowAnswer,
        CulpritAnswer,
        StepAnswer,
        HalfAnswer,
    )
}
