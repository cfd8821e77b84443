"""Review a run: read what happened, fill the template, keep what it teaches.

Whoever starts a review needs `review` on the run's scope and nothing else; the review itself runs
as `agent:reviewer`, narrowed to the scopes of that one run, and whoever started it learns only of
what they may read. The same trajectory reviewed again adds nothing: what was reviewed is known by
its digest, and the ids of what is kept follow from that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from hindsight_ray.core.anomaly import Anomaly, anomalies
from hindsight_ray.core.digest import digest
from hindsight_ray.core.distil import Distilling, distilled, names_of, scopes_touched
from hindsight_ray.core.lessons import rule_review
from hindsight_ray.core.procedures import procedures, went_well
from hindsight_ray.core.review_check import Checked, checked_review
from hindsight_ray.core.steps import agents_of
from hindsight_ray.domain.caller import REVIEWER, Caller
from hindsight_ray.domain.chat import FailedReview
from hindsight_ray.domain.commands import ReviewRun
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.review import Review, ReviewKind, ReviewReport, Trigger
from hindsight_ray.domain.rows import Offered
from hindsight_ray.domain.run import Run, Trajectory
from hindsight_ray.domain.scope import agent_scope
from hindsight_ray.domain.text import TAGS_MAX
from hindsight_ray.errors import AccessDenied, OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service import offered as offering
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.basis import Basis
from hindsight_ray.service.keep import keep, own_ids
from hindsight_ray.service.model_review import Subject, with_model
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.same_task import earlier_runs
from hindsight_ray.service.seen import reads_run, shows
from hindsight_ray.service.trajectory import permitted_run, trajectory_of
from hindsight_ray.service.world import World

_JOB_LIFETIME = timedelta(hours=1)
_ASKED: Trigger = "asked for"
_ENDED: Trigger = "run end"
RULES = "rules"


@dataclass(frozen=True, slots=True)
class Job:
    """A review about to be done: what it is about, and all that was offered in the run."""

    trajectory: Trajectory
    offered: dict[str, Offered]
    seen: tuple[MemoryRef, ...]  # what was offered, as far as it is there
    remembered: tuple[str, ...]  # and its texts
    kind: ReviewKind
    triggers: tuple[Trigger, ...]
    digest: str
    comparable: tuple[Trajectory, ...]  # earlier runs of the same task, for the same readers
    before: Review | None  # the same trajectory's review, if it has been done
    asked_before: bool  # whether somebody has asked for a review of this run and been told

    @property
    def run(self) -> Run:
        return self.trajectory.run

    @property
    def basis(self) -> Basis:
        """What must be there still wherever anything is kept that the review has thought of."""
        return Basis(self.run, [one.run for one in self.comparable], self.seen)


@dataclass(slots=True)
class Outturn:
    """What became of a review's drafts."""

    stored: list[MemoryUuid] = field(default_factory=list)
    found: list[MemoryUuid] = field(default_factory=list)  # there before, saying the same
    rejected: list[str] = field(default_factory=list)
    failure: FailedReview | None = None  # why the model's part is missing


async def review(world: World, caller: Caller, command: ReviewRun) -> ReviewReport:
    """Review a run now, whatever its length; a run that is still open partially.

    Raises `NotFound` without `review` on the run's scope, for who may read the run `AccessDenied`,
    which is also raised if the policy does not let `agent:reviewer` do its job.
    """
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        run = await permitted_run(unit, admitted, command.run_id, "review")
        job = await asked_job(world, unit, admitted, run, asked=True)
    checked, outturn = await carried_out(world, job, _ASKED)
    return await _told(world, caller, job, checked, outturn)


async def asked_job(world: World, unit: Unit, admitted: Admitted, run: Run, *, asked: bool) -> Job:
    """The job for a caller, who may not know which scopes the run's readers must read."""
    try:
        return await prepared_job(world, unit, run, asked=asked)
    except AccessDenied:
        raise AccessDenied(
            f"`{agent_scope(REVIEWER)}` may not read what the run's readers must be able to;"
            " an auditor can ask `why`",
            action="review",
            object=run.scope,
            revision=admitted.revision,
        ) from None


async def prepared_job(world: World, unit: Unit, run: Run, *, asked: bool) -> Job:
    """Read, as `agent:reviewer`, what a review of this run needs."""
    events = await unit.runs.events(run.tenant, run.run_id)
    names = dict.fromkeys((*names_of(run), *agents_of(events)))
    offered = {name: await unit.runs.offered(run.tenant, run.run_id, name) for name in names}
    reviewer = await admit(world, unit, _reviewer(world, run, offered))
    for scope in run.audience:
        reviewer.require("read", scope)
    trajectory = await trajectory_of(unit, run)
    seen = await unit.memories.at(run.tenant, _refs(offered))
    triggers = _triggers(world, trajectory, asked=asked)
    ended = run.closed_at is not None and bool({_ASKED, _ENDED} & set(triggers))
    kind: ReviewKind = "full" if ended else "partial"
    name = _digest(trajectory, kind)
    reviews = await unit.reviews.of_run(run.tenant, run.run_id)
    return Job(
        trajectory=trajectory,
        offered=offered,
        seen=tuple(seen),
        remembered=tuple(memory.content for memory in seen.values()),
        kind=kind,
        triggers=triggers,
        digest=name,
        comparable=await earlier_runs(unit, run) if ended and went_well(trajectory) else (),
        before=await unit.reviews.get(run.tenant, run.run_id, name),
        asked_before=any(one.trigger == _ASKED for one in reviews),
    )


async def carry_out(world: World, job: Job) -> None:
    """Do a review that a trigger started."""
    if job.before is None and job.triggers:
        await carried_out(world, job, job.triggers[0])


def _reviewer(world: World, run: Run, offered: dict[str, Offered]) -> Caller:
    return Caller(
        tenant=run.tenant,
        agent=REVIEWER,
        ticket_id=f"review of {run.run_id}",
        expires_at=world.clock.now() + _JOB_LIFETIME,
        scopes=scopes_touched(run, offered),
    )


def _refs(offered: dict[str, Offered]) -> list[MemoryRef]:
    return list(dict.fromkeys(ref for one in offered.values() for ref in one.refs))


def _triggers(world: World, trajectory: Trajectory, *, asked: bool) -> tuple[Trigger, ...]:
    found: list[Trigger] = [_ASKED] if asked else []
    ended = trajectory.run.closed_at is not None
    if ended and len(trajectory.events) >= world.settings.review_events_min:
        found.append(_ENDED)
    found.extend(one.trigger for one in gone_wrong(world, trajectory.events))
    return tuple(dict.fromkeys(found))


def gone_wrong(world: World, events: Sequence[Event]) -> tuple[Anomaly, ...]:
    """What in these events starts a partial review, by this home's thresholds."""
    return anomalies(
        events,
        repeated_step_limit=world.settings.repeated_step_limit,
        failures_in_row=world.settings.failures_in_row,
    )


def _digest(trajectory: Trajectory, kind: ReviewKind) -> str:
    events = [event.model_dump(mode="json") for event in trajectory.events]
    return digest({"run": trajectory.run.run_id, "kind": kind, "events": events})


async def carried_out(
    world: World, job: Job, trigger: Trigger, *, heard_by: str = ""
) -> tuple[Checked, Outturn]:
    """Fill the template, keep what it teaches and the review itself; resumable, idempotent.

    Raises `NotFound` if the run was erased meanwhile, `Busy` if anything else was that it read.
    """
    ruled = rule_review(
        job.trajectory,
        kind=job.kind,
        trigger=trigger,
        repeated_step_limit=world.settings.repeated_step_limit,
    )
    proved = (*ruled.findings, *procedures(job.trajectory, job.comparable))
    ruled = ruled.model_copy(update={"findings": proved, "heard_by": heard_by})
    subject = Subject(
        job.trajectory, job.remembered, job.kind, job.digest, ruled, job.basis, job.before
    )
    filled = await with_model(world, subject)
    known = [event.event_id for event in job.trajectory.events]
    checked = checked_review(filled.review, known, remembered=job.remembered)
    drafts = distilled(
        Distilling(job.trajectory, checked.review, job.digest, job.offered, world.clock.now())
    )
    outturn = Outturn(rejected=[*filled.rejected, *checked.rejected], failure=filled.failure)
    for draft in drafts:
        await _keep_one(world, job, draft, outturn)
    await _note(world, job, checked.review, filled.failure)
    return checked, outturn


async def _keep_one(world: World, job: Job, draft: Draft, outturn: Outturn) -> None:
    """Keep one draft, or say why not; one that fails does not stop the others."""
    if len(draft.labels) > TAGS_MAX:
        outturn.rejected.append(f"{draft.content!r} would carry more than {TAGS_MAX} labels")
        return
    try:
        async with world.ledger.reading() as unit:
            reviewer = await admit(world, unit, _reviewer(world, job.run, job.offered))
            reviewer.require("write", draft.scope)
            draft, done = await _named(unit, draft)
        # Known by its receipt, it need not be embedded again.
        receipt = (
            await keep(world, draft, reader=None, basis=job.basis)
            if done is None
            else Receipt.model_validate_json(done[1])
        )
    except (AccessDenied, OverQuota) as refusal:
        outturn.rejected.append(f"{draft.content!r} was not kept: {refusal.message}")
        return
    if receipt.result == "refused":
        outturn.rejected.append(f"{draft.content!r} was not kept: {receipt.why}")
    elif receipt.result in ("duplicate", "merged"):
        outturn.found.extend(receipt.ids)
    else:
        outturn.stored.extend(receipt.ids)


async def _named(unit: Unit, draft: Draft) -> tuple[Draft, tuple[str, str] | None]:
    """The draft by a name of which nothing was erased, and what was kept by that name.

    Who was erased took records along that rested on them, with their receipts. What the run still
    says is learned anew, and those ids are taken.
    """
    named, times = draft, 0
    while True:
        done = await unit.commands.get(named.tenant, named.owner, named.command_id)
        (own,) = own_ids(named, 1)
        if done is not None or not await unit.memories.history(named.tenant, own):
            return named, done
        times += 1
        named = draft.model_copy(update={"command_id": f"{draft.command_id}.{times}"})


async def _note(world: World, job: Job, review: Review, failure: FailedReview | None) -> None:
    """Keep the review itself, unless the one that was asked for is kept already.

    Whether a model failed at it is noted either way.
    """
    run = job.run
    async with world.ledger.writing() as unit:
        await job.basis.require(unit)
        if failure is not None:
            await unit.asking.put_failed(run.tenant, failure)
        elif review.reviewer != RULES:
            await unit.asking.mended(run.tenant, run.run_id, job.digest)
        before = await unit.reviews.get(run.tenant, run.run_id, job.digest)
        better = before is not None and before.reviewer == RULES != review.reviewer
        if (
            before is not None
            and not better
            and (before.trigger == _ASKED or review.trigger != _ASKED)
        ):
            return
        if before is not None and before.trigger == _ASKED:
            review = review.model_copy(update={"trigger": _ASKED})  # somebody has been told
        reviewer = await admit(world, unit, _reviewer(world, run, job.offered))
        await unit.reviews.put(run.tenant, job.digest, review, world.clock.now())
        await note_done(
            unit, reviewer, verb="ReviewRun", action="read", scope=run.scope, name=run.run_id
        )


async def _told(
    world: World, caller: Caller, job: Job, checked: Checked, outturn: Outturn
) -> ReviewReport:
    """The report as far as whoever asked may know it.

    What reviews that ran by themselves have kept of this run is news to the first who asks; what
    that one was told is known to everybody after.
    """
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        ids = list(dict.fromkeys([*outturn.stored, *outturn.found]))
        current = await unit.memories.current(caller.tenant, ids)
        knows = _may_know(admitted, job)
        told_of = knows or await reads_run(unit, admitted, job.run)
        growth = (
            await offering.showing(unit, admitted, *_readers(job), untrusted=_outside(job))
            if knows
            else None
        )
    await offering.grow(world, admitted, [growth])
    readable = [name for name in ids if name in current and shows(admitted, current[name])]
    if job.asked_before:
        told_before = job.before is not None and job.before.trigger == _ASKED
        news = set[str]() if told_before else set(outturn.stored)
    else:
        own = {name for name in readable if current[name].source.run == job.run.run_id}
        news = own | set(outturn.stored)
    known = tuple(name for name in readable if name not in news)
    stored = tuple(name for name in readable if name in news)
    report = ReviewReport(
        run_id=job.run.run_id,
        kind=job.kind if told_of else None,
        triggers=(_ASKED,),
        stored=stored,
        waiting=sum(current[name].status in ("pending", "quarantined") for name in stored),
        known=known,
        duplicates=len(known),
    )
    if not knows:
        return report
    review = checked.review
    parts = (review.effective, review.ineffective, review.decisions, review.improvements)
    return report.model_copy(
        update={
            "triggers": job.triggers,
            "claims": sum(len(part) for part in parts) + len(review.lessons),
            "rejected": tuple(outturn.rejected),
            "failure": outturn.failure,
        }
    )


def _may_know(admitted: Admitted, job: Job) -> bool:
    """Whether the caller may read all that a claim or a reason may tell of."""
    return admitted.may_read(*_readers(job))


def _outside(job: Job) -> bool:
    """Whether what is told of the run may be text from outside."""
    return not job.run.trusted or any(one.untrusted for one in job.offered.values())


def _readers(job: Job) -> tuple[frozenset[str], frozenset[str]]:
    """The scopes and labels of the run and of all that was offered in it."""
    offered = job.offered.values()
    scopes = frozenset(scope for one in offered for scope in one.audience)
    labels = frozenset(label for one in offered for label in one.labels)
    return scopes.union(job.run.audience), labels
