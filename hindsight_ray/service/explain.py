"""The evidence behind a memory: the events it cites, the credit of the decisions that it rests on,
and what it was derived from.
"""

from collections.abc import Sequence

from hindsight_ray.core.attribution.provenance import provenance
from hindsight_ray.core.steps import Steps
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Explain, Explanation
from hindsight_ray.domain.credit import Credit
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.run import Run
from hindsight_ray.ports import Unit
from hindsight_ray.service import offered
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.seen import reads_run, shows, visible
from hindsight_ray.service.texts import known, readable_texts
from hindsight_ray.service.trajectory import told_of, trajectory_of
from hindsight_ray.service.world import World


async def explain(world: World, caller: Caller, command: Explain) -> Explanation:
    """What the memory rests on, as far as the caller may see it. Raises `NotFound` as `get` does.

    Of a run that the caller may not be shown, nothing is told, not even its id; nor of
    a source that they may not read.
    """
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        memory = await visible(unit, admitted, command.memory_id)
        ids = [ref.id for ref in memory.derived_from]
        sources = await unit.memories.current(caller.tenant, ids)
        readable = {name: source for name, source in sources.items() if shows(admitted, source)}
        run, events = await _evidence(unit, admitted, [memory, *readable.values()])
        credits_, others = await _credits(unit, admitted, run, events)
        told = known(events, (await readable_texts(unit, admitted, events)).texts)
        runs = () if run is None else (run, *others)
        growth = await offered.showing_memories(unit, admitted, [memory], runs)
    await offered.grow(world, admitted, [growth])
    return Explanation(
        memory_id=memory.id,
        source_kind=memory.source.kind,
        run_id=None if run is None else run.run_id,
        events=told,
        derived_from=tuple(ref for ref in memory.derived_from if ref.id in readable),
        credits=credits_,
        timed=run is None or run.timed,
    )


async def _evidence(
    unit: Unit, admitted: Admitted, memories: Sequence[Memory]
) -> tuple[Run | None, tuple[Event, ...]]:
    """The first readable run that one of these came from, and the events cited from it.

    A promoted memory names no run: its original does, to those who may read it.
    """
    for memory in memories:
        if memory.source.run is None:
            continue
        run = await unit.runs.get(memory.tenant, memory.source.run)
        if run is not None and await reads_run(unit, admitted, run):
            cited = set(memory.source.events)
            every = await unit.runs.events(run.tenant, run.run_id) if cited else ()
            return run, tuple(event for event in every if event.event_id in cited)
    return None, ()


async def _credits(
    unit: Unit, admitted: Admitted, run: Run | None, cited: Sequence[Event]
) -> tuple[tuple[Credit, ...], Sequence[Run]]:
    """Credit of the decisions cited and of those that the cited events came of, directly; and the
    other runs that it tells of.

    Of each method the latest that was kept; where none says anything of them, that by structure.
    """
    if run is None or not cited:
        return (), ()
    trajectory = await trajectory_of(unit, run)
    steps = Steps(trajectory.events)
    behind = {one for event in cited for one in (event.event_id, *steps.causes[event.event_id])}
    decisions = {one for one in behind if steps.by_id[one].kind == "decision"}
    every = await unit.credits.of_run(run.tenant, run.run_id)
    told, others = await told_of(unit, admitted, run, every)
    kept = {one.attribution.method: one for one in told}
    found = [
        credit
        for one in kept.values()
        for credit in one.attribution.credits
        if credit.target.kind == "event" and credit.target.id in decisions
    ]
    found = found or [
        credit for credit in provenance(trajectory, {}).credits if credit.target.id in decisions
    ]
    return tuple(found), others
