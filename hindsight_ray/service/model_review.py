"""A review by a model: told in parts, read strictly, kept part by part, so that it can be resumed.

An answer that was had is kept under the digest of what it answers: a review that broke off asks
only for what is missing, and the same trajectory reviewed again by the same prompts asks nothing.
What cannot be had is a named failure, kept for `review --retry`; the rules' review stands in its
place meanwhile.
"""

from dataclasses import dataclass, field
from typing import TypeVar

from hindsight_ray.core.digest import digest
from hindsight_ray.core.filled import Filling, combined
from hindsight_ray.core.redaction import redacted
from hindsight_ray.core.shapes import ExtractAnswer, MoodAnswer, ReviewAnswer, Shape
from hindsight_ray.core.telling import Part, after, parts, users_told
from hindsight_ray.core.tokens import tokens_at_most
from hindsight_ray.domain.chat import FailedReview, Prompt, Slot
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.review import Review, ReviewKind
from hindsight_ray.domain.run import Run, Trajectory
from hindsight_ray.domain.text import cut_text
from hindsight_ray.errors import ModelFailed
from hindsight_ray.service.asking import Asking, ask, prompt_for, system_of
from hindsight_ray.service.basis import Basis
from hindsight_ray.service.world import World

_REPEATED_TOKENS = 300  # room for being asked again

S = TypeVar("S", bound=Shape)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a model is to review, and what the rules have said of it."""

    trajectory: Trajectory
    remembered: tuple[str, ...]
    kind: ReviewKind
    digest: str
    ruled: Review
    basis: Basis
    before: Review | None = None  # the same trajectory's, as it is kept

    @property
    def run(self) -> Run:
        return self.trajectory.run


@dataclass(slots=True)
class Reviewed:
    """The review as far as it came. `failure` is why a part of it is the rules' alone."""

    review: Review
    rejected: list[str] = field(default_factory=list)
    failure: FailedReview | None = None


async def with_model(world: World, subject: Subject) -> Reviewed:
    """The model's review over the rules'; theirs alone where no model is set or none answers."""
    slot: Slot = "strong" if subject.kind == "full" else "weak"
    prompt = prompt_for(world, "review", slot)
    if prompt is None or not subject.trajectory.events:
        return Reviewed(subject.ruled)
    extract = prompt_for(world, "extract") if subject.kind == "full" else None
    if subject.before is not None and _complete(subject.before, prompt, extract):
        return Reviewed(subject.before.model_copy(update={"trigger": subject.ruled.trigger}))
    filling = Filling.of(subject.trajectory.events)
    marks: list[str] = []
    failure: FailedReview | None = None
    run = subject.run
    try:
        await _review(world, subject, Asking(prompt, run.tenant, run.run_id, slot), filling)
        marks.append(prompt.mark)
        if extract is not None:
            await _extract(world, subject, Asking(extract, run.tenant, run.run_id), filling)
            marks.append(extract.mark)
    except ModelFailed as failed:
        failure = _failed(world, subject, failed)
        if not marks:
            return Reviewed(subject.ruled, failure=failure)
    assert world.chat is not None  # noqa: S101 - it has just been asked
    name = world.chat.model_of(slot) or "rules"
    review = combined(filling, subject.ruled, cut_text(f"{name}; {', '.join(marks)}", 400)[0])
    return Reviewed(review, filling.rejected, failure)


def _complete(before: Review, *prompts: Prompt | None) -> bool:
    """Whether the kept review answers all of these prompts, as they are now."""
    return all(prompt is None or prompt.mark in before.reviewer for prompt in prompts)


async def _review(world: World, subject: Subject, asking: Asking, filling: Filling) -> None:
    for part in _parts(world, subject, asking.prompt):
        told = after(part, " ".join(filling.path))
        answer, lost = await _answer(world, asking, subject.basis, told, ReviewAnswer)
        filling.reviewed(answer, part.names, asking.prompt.mark)
        filling.rejected += lost


async def _extract(world: World, subject: Subject, asking: Asking, filling: Filling) -> None:
    for part in _parts(world, subject, asking.prompt):
        answer, lost = await _answer(world, asking, subject.basis, part.text, ExtractAnswer)
        filling.extracted(answer, part.names, asking.prompt.mark)
        filling.rejected += lost


def _parts(world: World, subject: Subject, prompt: Prompt) -> tuple[Part, ...]:
    settings = world.settings
    room = settings.prompt_tokens_max - tokens_at_most(system_of(prompt)) - _REPEATED_TOKENS
    return parts(
        subject.trajectory,
        subject.remembered,
        tokens=room,
        parts_max=settings.prompts_per_review_max,
    )


async def _answer(
    world: World, asking: Asking, basis: Basis, told: str, shape: type[S]
) -> tuple[S, list[str]]:
    """The answer that is kept for this question, or the model's, kept from now on; and what of
    what it said could not be read.

    Raises what `basis` does, what the question tells of, if that is no longer there.
    """
    name = digest([asking.prompt.hash, asking.slot, told])
    async with world.ledger.reading() as unit:
        kept = await unit.asking.answer(asking.tenant, asking.run_id, name)
    if kept is not None:
        return shape.model_validate_json(kept), []
    read = await ask(world, asking, told, shape)
    async with world.ledger.writing() as unit:
        await basis.require(unit)
        kept = await unit.asking.keep_answer(
            asking.tenant, asking.run_id, name, read.value.model_dump_json(), world.clock.now()
        )
    lost = [f"of the answer to {asking.prompt.name}: {one}" for one in read.lost]
    return shape.model_validate_json(kept), lost  # of two who asked at once, the first's answer


def _failed(world: World, subject: Subject, failed: ModelFailed) -> FailedReview:
    said = str(failed.details.get("answer", ""))
    return FailedReview(
        run_id=subject.run.run_id,
        digest=subject.digest,
        kind=subject.kind,
        failure=failed.details["failure"],
        why=cut_text(failed.message, 900)[0],
        answer=cut_text(redacted(said)[0], 900)[0],
        prompt=str(failed.details.get("prompt", "")),
        at=world.clock.now(),
    )


async def dissatisfied_events(world: World, run: Run, events: tuple[Event, ...]) -> tuple[str, ...]:
    """Events in which the weak model hears a user complain; none if it cannot be asked.

    For users whose words the rules' lists do not know. What began before any agent did a step is
    about the world, not about the work.
    """
    prompt = prompt_for(world, "mood")
    worked = next((n for n, e in enumerate(events) if e.kind not in ("user", "state")), len(events))
    if prompt is None or not any(event.kind == "user" for event in events[worked:]):
        return ()
    told, names = users_told(events[worked:], tokens=world.settings.prompt_tokens_max // 2)
    try:
        asking = Asking(prompt, run.tenant, run.run_id)
        answer, _ = await _answer(world, asking, Basis(run), told, MoodAnswer)
    except ModelFailed:
        return ()  # counted among the calls; the rules have had their say
    found = (names.of([one])[0] for one in answer.events)
    return tuple(dict.fromkeys(one for ids in found for one in ids))
