"""Commands of looking after memories: people's decisions, samples, tiers, spaces, knowledge.

As in `commands.py`, which has them all under one name; apart only for length.
"""

from typing import Annotated, Literal

from pydantic import FailFast, Field

from hindsight_ray.domain.base import Command
from hindsight_ray.domain.ids import CommandId, MemoryId
from hindsight_ray.domain.memory import MemoryType
from hindsight_ray.domain.numbers import Seed, Whole
from hindsight_ray.domain.scope import Scope
from hindsight_ray.domain.text import LongText, Short, Summary
from hindsight_ray.domain.upkeep import LabelledPair, SampleVerdict

LISTED_MAX = 500


class ListPending(Command):
    """What waits for a person, in scopes where the caller holds `review`; oldest first."""

    scope: Scope | None = None
    limit: Whole = Field(default=50, ge=1, le=LISTED_MAX)


class DecidePending(Command):
    """Accept, reject or edit (which accepts the new text) what waits for a person."""

    command_id: CommandId
    memory_id: MemoryId
    decision: Literal["accept", "reject", "edit"]
    content: LongText | None = None  # of an edit
    why: Summary = ""


class DrawSample(Command):
    """Draw memories at random for a person to look at; a seed that is named draws the same ones
    again, and without one each look is another."""

    n: Whole = Field(default=20, ge=1, le=LISTED_MAX)
    seed: Seed | None = None
    scope: Scope | None = None


class JudgeSample(Command):
    """Record what a person says of a memory that was drawn."""

    command_id: CommandId
    memory_id: MemoryId
    verdict: SampleVerdict


class ReadSamples(Command):
    """The share of bad memories that samples show, with its interval, over time."""

    scope: Scope | None = None


class Maintain(Command):
    """One bounded slice of upkeep of the caller's tenant; again, it goes on where it stopped."""

    slice: Whole = Field(default=500, ge=1, le=10_000)


class ReadTiers(Command):
    """How memories that the caller may read stand: hot, warm, cold or archived."""

    memory_ids: tuple[MemoryId, ...] = Field(min_length=1, max_length=LISTED_MAX)


class Archive(Command):
    """Put a memory away: out of online search, and there to be restored."""

    command_id: CommandId
    memory_id: MemoryId


class Restore(Command):
    """Bring an archived memory back into online search."""

    command_id: CommandId
    memory_id: MemoryId


class CloseProject(Command):
    """Retire the memories of a project: they are archived where the caller holds `forget`."""

    command_id: CommandId
    project: Short


class Reembed(Command):
    """One bounded slice of changing the home's embedding model; ask again until it is `done`."""

    model: Short
    dimension: Whole | None = Field(default=None, ge=1, le=65_536)
    api_base: Short | None = None
    slice: Whole = Field(default=256, ge=1, le=10_000)
    sample: Whole = Field(
        default=20, ge=1, le=LISTED_MAX
    )  # memories whose neighbours are looked at


class Calibrate(Command):
    """The thresholds of a model from labelled pairs; of the home's own model by default."""

    pairs: Annotated[tuple[LabelledPair, ...], FailFast()] = Field(min_length=4, max_length=100_000)
    model: Short | None = None
    dimension: Whole | None = Field(default=None, ge=1, le=65_536)
    api_base: Short | None = None


class ExportKnowledge(Command):
    """Approved experiences that the caller may read, as documents."""

    scope: Scope | None = None
    types: tuple[MemoryType, ...] = Field(default=("experience", "procedure"), min_length=1)
    after: MemoryId | None = None  # the last of the page before
    limit: Whole = Field(default=LISTED_MAX, ge=1, le=LISTED_MAX)
