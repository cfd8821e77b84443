"""Attribute by comparing: the runs of the same task that the caller may review, and what they say.

Comparable are the runs of one tenant with equal task type and goal digest. Only those count whose
whole audience the caller may read and which it may review, so what it may not see cannot be
inferred from a score. What is kept names the runs, and is shown to who may review all of them.
"""

from collections.abc import Sequence

from hindsight_ray.core.attribution.compared import Comparison, compared
from hindsight_ray.core.attribution.provenance import ruling_outcome
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Attribute
from hindsight_ray.domain.credit import Attribution, Credited
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.run import Run, Trajectory
from hindsight_ray.ports import Unit
from hindsight_ray.service import feedback, offered
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.credit import relabelled
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.seen import readable_runs
from hindsight_ray.service.texts import readable_texts, shown
from hindsight_ray.service.trajectory import reviewable, trajectory_of
from hindsight_ray.service.world import World

RUNS_MAX = 200  # comparable runs that are looked at, the newest
_PAGE = 100
_PAGES_MAX = 20


async def compare(world: World, caller: Caller, command: Attribute) -> Attribution:
    """Suspicions over comparable runs. What they say of memories is kept and moves utility."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        run = await reviewable(unit, admitted, command.run_id)
        others = [await trajectory_of(unit, one) for one in await _comparable(unit, admitted, run)]
        every = (run, *others)
        readable = await readable_texts(unit, admitted, _events(every))
        runs = [one.run for one in every]
        growth = await offered.showing_memories(unit, admitted, readable.memories, runs)
    await offered.grow(world, admitted, [growth])
    texts = readable.texts
    seen = [shown(one, texts) for one in every]
    found = compared(Comparison(seen[0], tuple(seen), texts), command.formula)
    if found.beside:
        await _keep(world, caller, command, every, found)
    return found


async def _keep(
    world: World,
    caller: Caller,
    command: Attribute,
    runs: Sequence[Trajectory],
    found: Attribution,
) -> None:
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        run = (await reviewable(unit, admitted, command.run_id)).run
        why_not = _why_not(runs)
        credited = Credited(
            group=_task(run),
            by=admitted.caller.principal,
            at=admitted.now,
            counts=why_not is None,
            why_not=why_not or "",
            attribution=relabelled(found, dict.fromkeys(_named(found), "")),
            compared=tuple(one.run.run_id for one in runs),
        )
        await unit.credits.put(run.tenant, credited, owner=caller.receipt_owner)
        await feedback.rate(unit, run.tenant, found)
        await note_done(
            unit, admitted, verb="Attribute", action="review", scope=run.scope, name=run.run_id
        )


def _named(found: Attribution) -> list[str]:
    credited = [one.target for one in found.beside if one.target.kind == "memory"]
    return [target.id for target in (*credited, *found.memories)]


def _why_not(runs: Sequence[Trajectory]) -> str | None:
    """Why what was found moves no utility, or None."""
    for trajectory in runs:
        outcome = ruling_outcome(trajectory.outcomes)
        if outcome is not None and not feedback.by_evaluator(outcome):
            return "an outcome among the compared runs is by a participant, or without `evaluate`"
    return None


async def _comparable(unit: Unit, admitted: Admitted, run: Trajectory) -> list[Run]:
    """Other runs of the same task, newest first."""
    own = run.run
    found: list[Run] = []
    before: str | None = None
    for _ in range(_PAGES_MAX):
        page = await unit.runs.newest(
            own.tenant, limit=_PAGE, before=before, task_type=own.task_type
        )
        alike = [
            one
            for one in page
            if one.goal_digest == own.goal_digest
            and one.run_id != own.run_id
            and admitted.access.may("review", one.scope)
        ]
        found += await readable_runs(unit, admitted, alike)
        if len(page) < _PAGE or len(found) >= RUNS_MAX:
            break
        before = page[-1].run_id
    return found[:RUNS_MAX]


def _task(run: Run) -> str:
    return f"task:{run.task_type}/{run.goal_digest}"


def _events(runs: Sequence[Trajectory]) -> list[Event]:
    return [event for trajectory in runs for event in trajectory.events]
