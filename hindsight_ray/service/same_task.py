"""Which earlier runs may a review compare its own with?

Those of the same task whose audience, and that of all that was offered in them, asks for no scope
that this run's own does not ask for, and for no label: so what both prove may be kept for the
readers of this one.
"""

from hindsight_ray.core.audience import contained
from hindsight_ray.core.distil import names_of
from hindsight_ray.core.procedures import COMPARED_MAX, EVENTS_MAX
from hindsight_ray.core.steps import agents_of
from hindsight_ray.domain.run import Run, Trajectory
from hindsight_ray.ports import Unit
from hindsight_ray.service.trajectory import trajectory_of

_LOOKED_AT_MAX = 100


async def earlier_runs(unit: Unit, run: Run) -> tuple[Trajectory, ...]:
    """Closed runs with equal task type and goal that began before this one, the newest first."""
    found: list[Trajectory] = []
    page = await unit.runs.newest(
        run.tenant, limit=_LOOKED_AT_MAX, before=run.run_id, task_type=run.task_type
    )
    for one in page:
        if not _alike(one, run) or not contained(one.audience, run.audience):
            continue
        if await unit.runs.event_count(run.tenant, one.run_id) > EVENTS_MAX:
            continue
        trajectory = await trajectory_of(unit, one)
        if await _offers_no_more(unit, trajectory, run):
            found.append(trajectory)
        if len(found) == COMPARED_MAX:
            break
    return tuple(found)


def _alike(one: Run, run: Run) -> bool:
    """Whether it is an ended run of the same task, as much to be trusted and as wide."""
    task = (one.task_type, one.goal_digest, one.scope, one.project, one.trusted, one.imported)
    own = (run.task_type, run.goal_digest, run.scope, run.project, run.trusted, run.imported)
    return task == own and one.closed_at is not None


async def _offers_no_more(unit: Unit, trajectory: Trajectory, than: Run) -> bool:
    run = trajectory.run
    for name in dict.fromkeys((*names_of(run), *agents_of(trajectory.events))):
        offered = await unit.runs.offered(run.tenant, run.run_id, name)
        if not contained(offered.audience, than.audience) or offered.labels or offered.untrusted:
            return False
    return True
