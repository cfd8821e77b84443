"""Reviews that start by themselves: at the end of a run, and when something has just gone wrong.

They run beside the answer, as jobs of the home, and as `agent:reviewer` like every review. A policy
that does not let it do so is obeyed, and the audit says so.
"""

from collections.abc import Coroutine, Sequence

from hindsight_ray.core.anomaly import anomalies, telling
from hindsight_ray.domain.caller import REVIEWER
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.domain.run import Run
from hindsight_ray.domain.scope import agent_scope
from hindsight_ray.errors import AccessDenied, OverQuota
from hindsight_ray.service import review
from hindsight_ray.service.asking import prompt_for
from hindsight_ray.service.model_review import dissatisfied_events
from hindsight_ray.service.world import World


def after_close(world: World, run: Run, events: Sequence[Event]) -> None:
    """A full review if the run had enough events, a partial one if it went wrong somewhere."""
    settings = world.settings
    enough = len(events) >= settings.review_events_min
    if enough or anomalies(events, repeated_step_limit=settings.repeated_step_limit):
        _begin(world, _reviewed(world, run))
    elif prompt_for(world, "mood") is not None and any(e.kind == "user" for e in events):
        _begin(world, _listened_to(world, run))


def after_record(world: World, run: Run, batch: Sequence[Event]) -> None:
    """A partial review if this batch has completed an anomaly."""
    if telling(batch, repeated_step_limit=world.settings.repeated_step_limit):
        batch_ids = frozenset(event.event_id for event in batch)
        _begin(world, _looked_at(world, run, batch_ids))


def _begin(world: World, job: Coroutine[None, None, None]) -> None:
    """Start a job, unless too many run: what was recorded is acknowledged all the same.

    Nothing is lost by that: the run's end, or whoever asks, looks at the same events again.
    """
    try:
        world.background(job)
    except OverQuota:
        job.close()


async def _looked_at(world: World, run: Run, batch: frozenset[str]) -> None:
    async with world.ledger.reading() as unit:
        events = await unit.runs.events(run.tenant, run.run_id)
    limit = world.settings.repeated_step_limit
    found = anomalies(events, repeated_step_limit=limit)
    if any(one.completed_by in batch for one in found):
        await _reviewed(world, run)


async def _listened_to(world: World, run: Run) -> None:
    """Review a run in which a model hears a user complain where the rules' lists hear nothing."""
    try:
        async with world.ledger.reading() as unit:
            job = await review.prepared_job(world, unit, run, asked=False)
        events = job.trajectory.events
        if job.before is None and await dissatisfied_events(world, run, events):
            await review.carried_out(world, job, "user dissatisfaction")
    except AccessDenied as refusal:
        await _refused(world, run, refusal)


async def _reviewed(world: World, run: Run) -> None:
    try:
        async with world.ledger.reading() as unit:
            now = await unit.runs.get(run.tenant, run.run_id) or run
            job = await review.prepared_job(world, unit, now, asked=False)
        await review.carry_out(world, job)
    except AccessDenied as refusal:
        await _refused(world, run, refusal)


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
