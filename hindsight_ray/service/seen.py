"""Which memories a caller may be shown by name: the whole audience, no denied label, the status.

Pending, quarantined and archived ones are shown to those who hold `review` on their scope; for
everyone else they are as absent as what does not exist. So is text from outside that nobody has
accepted, for whoever reads its scope by grant: it was the owner's when the scope was shared.

Of runs: the whole audience, and no denied label among those of what was shown in them.
"""

from collections.abc import Collection, Sequence

from hindsight_ray.core.audience import doubted, shows_doubted
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.run import Run
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted, absent

_NO_RUN: dict[str, object] = {"run": None, "task": "", "events": ()}
ANSWERED: frozenset[Status] = frozenset({"active", "outdated"})


def shows(admitted: Admitted, memory: Memory) -> bool:
    """Whether the caller may be shown this memory. Expired ones are gone."""
    if memory.expires_at is not None and memory.expires_at <= admitted.now:
        return False
    return showed(admitted, memory)


def showed(admitted: Admitted, revision: Memory) -> bool:
    """Whether the caller may be shown what a memory said at this revision, if it may be shown that
    memory: the readers may have been others then, and it may have waited."""
    if not admitted.may_read(revision.audience, revision.labels):
        return False
    return status_shown(admitted, revision)


def status_shown(admitted: Admitted, memory: Memory) -> bool:
    """Whether a reader of its audience sees it at its status, as what it is from."""
    if doubted(memory) and not shows_doubted(admitted.access, memory.scope):
        return False
    return memory.status in ANSWERED or admitted.access.may("review", memory.scope)


async def readable_runs(unit: Unit, admitted: Admitted, runs: Sequence[Run]) -> list[Run]:
    """Those of these runs that the caller may be shown: the whole audience, and no denied label.

    A run bears the labels of all that was shown in it to whoever takes part: its events, and the
    goals of runs begun later, may say that again.
    """
    found = [run for run in runs if admitted.may_read(run.audience)]
    denied = admitted.access.denied_labels
    if not found or not denied:
        return found
    ids = [run.run_id for run in found]
    bears = await unit.runs.labels_shown(admitted.caller.tenant, ids)
    return [run for run in found if denied.isdisjoint(bears.get(run.run_id, ()))]


async def reads_run(unit: Unit, admitted: Admitted, run: Run) -> bool:
    """Whether the caller may be shown this run."""
    return bool(await readable_runs(unit, admitted, [run]))


async def visible(unit: Unit, admitted: Admitted, memory_id: str) -> Memory:
    """The memory at its current revision, else the `NotFound` of absence."""
    found = (await unit.memories.current(admitted.caller.tenant, [memory_id])).get(memory_id)
    if found is None or not shows(admitted, found):
        raise absent("memory", memory_id)
    return found


async def presentable(unit: Unit, admitted: Admitted, memories: Sequence[Memory]) -> list[Memory]:
    """The memories as this caller may have them: without the ids of sources and superseders that it
    may not be shown, nor of a run that it may not be shown, its goal and its events.

    A promoted copy has readers who may not read what it was derived from, nor know of it; what took
    another's place may have been put away, or wait for a person.
    """
    memories = await _without_hidden_runs(unit, admitted, memories)
    named = {ref.id for memory in memories for ref in memory.derived_from}
    named |= {one.superseded_by for one in memories if one.superseded_by is not None}
    if not named:
        return list(memories)
    known = await unit.memories.current(admitted.caller.tenant, sorted(named))
    readable = {name for name, one in known.items() if shows(admitted, one)}
    return [_naming(memory, readable) for memory in memories]


def _naming(memory: Memory, readable: Collection[str]) -> Memory:
    changes: dict[str, object] = {}
    if not all(ref.id in readable for ref in memory.derived_from):
        changes["derived_from"] = tuple(r for r in memory.derived_from if r.id in readable)
    if memory.superseded_by is not None and memory.superseded_by not in readable:
        changes["superseded_by"] = None
    return memory.model_copy(update=changes) if changes else memory


async def _without_hidden_runs(
    unit: Unit, admitted: Admitted, memories: Sequence[Memory]
) -> Sequence[Memory]:
    named = {memory.source.run for memory in memories if memory.source.run is not None}
    if not named:
        return memories
    found = [await unit.runs.get(admitted.caller.tenant, name) for name in sorted(named)]
    readable = await readable_runs(unit, admitted, [run for run in found if run is not None])
    shown = {run.run_id for run in readable}
    return [
        memory
        if memory.source.run is None or memory.source.run in shown
        else memory.model_copy(update={"source": memory.source.model_copy(update=_NO_RUN)})
        for memory in memories
    ]


async def last_known(unit: Unit, tenant: str, memory_id: str) -> Memory | None:
    """The last record of a memory that may be gone, for whoever repeats what ended it."""
    notes = await unit.memories.history(tenant, memory_id)
    refs = [MemoryRef(id=MemoryUuid(memory_id), revision=note.revision) for note in notes]
    records = (await unit.memories.at(tenant, refs)).values()
    return max(records, key=lambda record: record.revision, default=None)
