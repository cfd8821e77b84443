"""Reviews that start by themselves: at the end of a run, and when something has just gone wrong.

They run beside the answer and as `agent:reviewer` like every review: as jobs of the home, or, in a
deployment, with the reviewers. A policy that forbids it is obeyed, and the audit says so. What was
due and not made, because processes ended, is found again by `overdue`.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from hindsight_ray.core.anomaly import telling
from hindsight_ray.domain.caller import REVIEWER
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.review import DueReview
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.domain.run import Run
from hindsight_ray.domain.scope import agent_scope
from hindsight_ray.errors import AccessDenied, Busy, NotFound, OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service import review
from hindsight_ray.service.asking import prompt_for
from hindsight_ray.service.model_review import dissatisfied_events
from hindsight_ray.service.world import World

LOOKED_BACK = timedelta(days=1)
_IN_HAND = timedelta(minutes=5)  # a run that ended later than this ago may be under review now
_PAGE = 50
_LOOKED_AT_MAX = 500


def after_close(world: World, run: Run, events: Sequence[Event]) -> None:
    """A full review if the run had enough events, a partial one if it went wrong somewhere."""
    if _worth_it(world, events):
        _begin(world, DueReview(tenant=run.tenant, run_id=run.run_id))


def after_record(world: World, run: Run, batch: Sequence[Event]) -> None:
    """A partial review if this batch has completed an anomaly."""
    if telling(batch, repeated_step_limit=world.settings.repeated_step_limit):
        ids = tuple(event.event_id for event in batch)
        _begin(world, DueReview(tenant=run.tenant, run_id=run.run_id, batch=ids))


async def made(world: World, due: DueReview) -> None:
    """Make a review that is due, if the record still says that it is and it is not kept already.

    May be done again, and by several at once: what is kept follows from the record alone.
    """
    try:
        await _made(world, due)
    except Busy:  # some of what it was shown was erased meanwhile, or the ledger was long in use
        await _made(world, due)


async def _made(world: World, due: DueReview) -> None:
    async with world.ledger.reading() as unit:
        run = await unit.runs.get(due.tenant, due.run_id)
        if run is None:
            return
        count = await unit.runs.event_count(due.tenant, due.run_id)
        enough = not due.batch and _long_enough(world, count)
        # The review reads them all itself.
        events = () if enough else await unit.runs.events(due.tenant, due.run_id)
    found = review.gone_wrong(world, events)
    if due.batch:
        if any(one.completed_by in due.batch for one in found):
            await _reviewed(world, run)
    elif enough or found:
        await _reviewed(world, run)
    elif _worth_it(world, events):
        await _listened_to(world, run)


async def overdue(world: World, tenant: str, but: Collection[str] = ()) -> list[DueReview]:
    """Reviews of runs that ended within the last day and were never made, the newest first.

    Whoever was to make them has been stopped. Runs in `but` are left out, and imported ones, which
    are reviewed when somebody asks.
    """
    now = world.clock.now()
    found: list[DueReview] = []
    before: str | None = None
    async with world.ledger.reading() as unit:
        for _ in range(_LOOKED_AT_MAX // _PAGE):
            page = await unit.runs.newest(tenant, limit=_PAGE, before=before)
            ended = [run for run in page if run.run_id not in but and _just_ended(run, now)]
            found += [
                DueReview(tenant=run.tenant, run_id=run.run_id)
                for run in ended
                if await _never_made(world, unit, run)
            ]
            if len(page) < _PAGE:
                break
            before = page[-1].run_id
    return found


def _just_ended(run: Run, now: datetime) -> bool:
    if run.imported or run.closed_at is None:
        return False
    return now - LOOKED_BACK < run.closed_at < now - _IN_HAND


async def _never_made(world: World, unit: Unit, run: Run) -> bool:
    reviews = await unit.reviews.of_run(run.tenant, run.run_id)
    if _long_enough(world, await unit.runs.event_count(run.tenant, run.run_id)):
        return not any(one.kind == "full" for one in reviews)
    if reviews:
        return False
    return _worth_it(world, await unit.runs.events(run.tenant, run.run_id))


def _long_enough(world: World, count: int) -> bool:
    return count >= world.settings.review_events_min


def _worth_it(world: World, events: Sequence[Event]) -> bool:
    if _long_enough(world, len(events)) or review.gone_wrong(world, events):
        return True
    return prompt_for(world, "mood") is not None and any(one.kind == "user" for one in events)


def _begin(world: World, due: DueReview) -> None:
    """Start a job, unless too many run: what was recorded is acknowledged all the same.

    Nothing is lost by that: the run's end, or whoever asks, looks at the same events again.
    """
    job = handed(world, due)
    try:
        world.background(job)
    except OverQuota:
        job.close()


async def handed(world: World, due: DueReview) -> None:
    """Have it made by the reviewers, or here where there are none."""
    if world.reviews is None:
        await made(world, due)
    else:
        await world.reviews.hand(due)


async def _listened_to(world: World, run: Run) -> None:
    """Review a run in which a model hears a user complain where the rules' lists hear nothing."""
    try:
        async with world.ledger.reading() as unit:
            job = await review.prepared_job(world, unit, run, asked=False)
        events = job.trajectory.events
        mood = prompt_for(world, "mood")
        if mood and job.before is None and await dissatisfied_events(world, run, events):
            await review.carried_out(world, job, "user dissatisfaction", heard_by=mood.mark)
    except AccessDenied as refusal:
        await _refused(world, run, refusal)
    except NotFound:
        return  # the run was erased, and what was thought of it is nobody's


async def _reviewed(world: World, run: Run) -> None:
    try:
        async with world.ledger.reading() as unit:
            now = await unit.runs.get(run.tenant, run.run_id) or run
            job = await review.prepared_job(world, unit, now, asked=False)
        await review.carry_out(world, job)
    except AccessDenied as refusal:
        await _refused(world, run, refusal)
    except NotFound:
        return  # as above


async def _refused(world: World, run: Run, refusal: AccessDenied) -> None:
    entry = AuditEntry(
        tenant=run.tenant,
        at=world.clock.now(),
        principal=agent_scope(REVIEWER),
        verb="ReviewRun",
        object=str(refusal.details.get("object", run.run_id)),
        effect="deny",
        rule="",
        revision=int(refusal.details.get("revision", 0)),
    )
    async with world.ledger.writing() as unit:
        await unit.audit.append(entry)
