"""Take failed reviews up again: those that a model was to make and did not.

Only what is missing is asked for; a review that works this time adds what the model has found to
what the rules found before, and comes off the list.
"""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.chat import FailedReview, Retried
from hindsight_ray.domain.commands import RetryReviews
from hindsight_ray.domain.ids import RunUuid
from hindsight_ray.domain.review import Trigger
from hindsight_ray.domain.run import Run
from hindsight_ray.errors import AccessDenied
from hindsight_ray.ports import Unit
from hindsight_ray.service import offered as offering
from hindsight_ray.service.admit import Admitted, absent, admit
from hindsight_ray.service.asking import RUN_BUDGET
from hindsight_ray.service.offered import Growth
from hindsight_ray.service.review import asked_job, carried_out
from hindsight_ray.service.seen import reads_run
from hindsight_ray.service.trajectory import said_in
from hindsight_ray.service.world import World

_ASKED: Trigger = "asked for"
_LOOKED_AT_MAX = 1_000


async def retry(world: World, caller: Caller, command: RetryReviews) -> Retried:
    """Retry the oldest failed reviews of runs whose scope the caller may review.

    With `list_only` they are shown and not tried. Raises `NotFound` for a named run without
    `review` on its scope.
    """
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        waiting, growths = await _waiting(unit, admitted, command)
    await offering.grow(world, admitted, growths)
    if command.list_only:
        return Retried(failed=tuple(waiting))
    mended: list[RunUuid] = []
    failed: list[FailedReview] = []
    stopped: str | None = None
    for before in waiting:
        again = await _again(world, caller, before)
        if again is None:
            mended.append(before.run_id)
            continue
        failed.append(again)
        if again.failure == "budget" and RUN_BUDGET not in again.why:
            stopped = again.why or "a budget is spent"
            break
    return Retried(
        tried=len(mended) + len(failed),
        mended=tuple(dict.fromkeys(mended)),
        failed=tuple(failed),
        stopped=stopped,
    )


async def _waiting(
    unit: Unit, admitted: Admitted, command: RetryReviews
) -> tuple[list[FailedReview], list[Growth | None]]:
    """What failed, as far as the caller may know it, and what saying so adds to its runs."""
    tenant = admitted.caller.tenant
    if command.run_id is not None:
        run = await unit.runs.get(tenant, command.run_id)
        if run is None or not await _may(unit, admitted, run):
            raise absent("run", command.run_id)
    found = await unit.asking.failed(tenant, run_id=command.run_id, limit=_LOOKED_AT_MAX)
    shown: list[FailedReview] = []
    growths: list[Growth | None] = []
    for one in found:
        run = await unit.runs.get(tenant, one.run_id)
        if run is not None and await _may(unit, admitted, run):
            readers = await said_in(unit, run)  # the model's answer may quote that
            knows = admitted.may_read(*readers)
            shown.append(one if knows else _bare(one))
            if knows:
                growths.append(await offering.showing(unit, admitted, *readers))
        if len(shown) == command.limit:
            break
    return shown, growths


def _bare(failed: FailedReview) -> FailedReview:
    """The failure without what the model said."""
    return failed.model_copy(update={"why": "", "answer": ""})


async def _may(unit: Unit, admitted: Admitted, run: Run) -> bool:
    """`review` on the scope, and to be shown the run, since a failure tells of it."""
    return admitted.access.may("review", run.scope) and await reads_run(unit, admitted, run)


async def _again(world: World, caller: Caller, before: FailedReview) -> FailedReview | None:
    """Review the run as it is now; what failed this time, or None."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        run = await unit.runs.get(caller.tenant, before.run_id)
        if run is None or not await _may(unit, admitted, run):
            raise AccessDenied("the run may no longer be reviewed", object=before.run_id)
        job = await asked_job(world, unit, admitted, run, asked=before.kind == "full")
        readers = await said_in(unit, run)
        knows = admitted.may_read(*readers)
        growth = await offering.showing(unit, admitted, *readers) if knows else None
    await offering.grow(world, admitted, [growth])
    _, outturn = await carried_out(world, job, job.triggers[0] if job.triggers else _ASKED)
    if outturn.failure is not None:
        return outturn.failure if knows else _bare(outturn.failure)
    async with world.ledger.writing() as unit:
        await unit.asking.mended(caller.tenant, before.run_id, before.digest)
    return None
