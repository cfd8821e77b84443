"""What an agent was shown within a run, so that what it writes afterwards carries its readers.

Without this a memory could be laundered: read it, write it again elsewhere, and lose the scopes
that its reader must be able to read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import Offered
from hindsight_ray.domain.run import Run
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.joined import joined
from hindsight_ray.service.world import World


async def runs_of(unit: Unit, admitted: Admitted, run_id: str | None) -> tuple[str, ...]:
    """The named run and those that the caller's session has open. Raises as `joined` does for a
    run that the caller takes no part in."""
    caller = admitted.caller
    opened = await unit.runs.open_runs(caller.tenant, caller.recorded_as, caller.sitting)
    narrowed = caller.scopes is not None or caller.actions is not None
    if run_id is None or (run_id in opened and not narrowed):
        return tuple(opened)
    run: Run = await joined(unit, admitted, run_id)
    return tuple(dict.fromkeys((run.run_id, *opened)))


async def inherited(unit: Unit, admitted: Admitted, run_id: str | None) -> Offered:
    """What the caller was offered in its runs, taken together: what a record of its takes over."""
    caller, found = admitted.caller, Offered()
    for name in await runs_of(unit, admitted, run_id):
        found = _together(found, await unit.runs.offered(caller.tenant, name, caller.recorded_as))
    return found


@dataclass(frozen=True, slots=True)
class Growth:
    """Runs whose offered set does not hold what is about to be shown yet."""

    runs: tuple[str, ...]
    shown: Offered


async def growth(
    unit: Unit, admitted: Admitted, runs: Iterable[str], memories: Sequence[Memory]
) -> Growth | None:
    """What showing these memories would add to these runs of the caller's; None if nothing."""
    return await _growth(unit, admitted, runs, _shown(memories)) if memories else None


async def showing(
    unit: Unit,
    admitted: Admitted,
    audience: Iterable[str],
    labels: Iterable[str] = (),
    *,
    refs: Iterable[MemoryRef] = (),
    untrusted: bool = False,
) -> Growth | None:
    """What showing text with these readers would add to all open runs of the caller's.

    Every verb that shows text of runs or memories asks this, and lets the runs grow first.
    """
    shown = Offered(frozenset(audience), frozenset(labels), untrusted, frozenset(refs))
    if shown == Offered():
        return None
    return await _growth(unit, admitted, await runs_of(unit, admitted, None), shown)


async def showing_memories(
    unit: Unit, admitted: Admitted, memories: Iterable[Memory], runs: Iterable[Run] = ()
) -> Growth | None:
    """The same of these memories, and of these runs: what happened in them is their audience's,
    and bears the labels of what was shown there."""
    shown, runs = _shown(tuple(memories)), tuple(runs)
    within = await unit.runs.labels_shown(admitted.caller.tenant, [run.run_id for run in runs])
    return await showing(
        unit,
        admitted,
        shown.audience.union(*(run.audience for run in runs)),
        shown.labels.union(*within.values()),
        refs=shown.refs,
        untrusted=shown.untrusted or not all(run.trusted for run in runs),
    )


async def _growth(
    unit: Unit, admitted: Admitted, runs: Iterable[str], shown: Offered
) -> Growth | None:
    caller = admitted.caller
    grown = tuple(
        [
            run
            for run in runs
            if not _holds(await unit.runs.offered(caller.tenant, run, caller.recorded_as), shown)
        ]
    )
    return Growth(grown, shown) if grown else None


async def grow(world: World, admitted: Admitted, growths: Iterable[Growth | None]) -> None:
    """Add what is about to be shown to the offered sets, before it is shown."""
    needed = [one for one in growths if one is not None]
    if not needed:
        return
    async with world.ledger.writing() as unit:
        await grow_within(unit, admitted, needed)


async def grow_within(unit: Unit, admitted: Admitted, growths: Iterable[Growth | None]) -> None:
    """The same in a unit that writes already."""
    caller = admitted.caller
    for one in growths:
        for run in () if one is None else one.runs:
            known = await unit.runs.offered(caller.tenant, run, caller.recorded_as)
            if one is not None and not _holds(known, one.shown):
                together = _together(known, one.shown)
                await unit.runs.set_offered(caller.tenant, run, caller.recorded_as, together)


def _shown(memories: Sequence[Memory]) -> Offered:
    return Offered(
        audience=frozenset(scope for memory in memories for scope in memory.audience),
        labels=frozenset(label for memory in memories for label in memory.labels),
        untrusted=any(not memory.source.trusted for memory in memories),
        refs=frozenset(MemoryRef(id=m.id, revision=m.revision) for m in memories),
    )


def _holds(known: Offered, shown: Offered) -> bool:
    return (
        shown.audience <= known.audience
        and shown.labels <= known.labels
        and shown.refs <= known.refs
        and (known.untrusted or not shown.untrusted)
    )


def _together(known: Offered, shown: Offered) -> Offered:
    return Offered(
        audience=known.audience | shown.audience,
        labels=known.labels | shown.labels,
        untrusted=known.untrusted or shown.untrusted,
        refs=known.refs | shown.refs,
    )
