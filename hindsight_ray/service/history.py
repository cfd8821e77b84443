"""Who changed a memory, when and why, and what it said at each step."""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import History
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import RevisionNote
from hindsight_ray.service import offered
from hindsight_ray.service.admit import admit
from hindsight_ray.service.seen import showed, visible
from hindsight_ray.service.unshown import reasons
from hindsight_ray.service.world import World


async def history(world: World, caller: Caller, command: History) -> tuple[RevisionNote, ...]:
    """The memory's revisions, oldest first. Raises `NotFound` as `get` does.

    A revision that the caller would not have been shown is left out: its readers may have been
    fewer then, and it may have waited for a person. No reason names a memory that is hidden.
    """
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        memory = await visible(unit, admitted, command.memory_id)
        notes = await unit.memories.history(caller.tenant, memory.id)
        refs = [MemoryRef(id=memory.id, revision=note.revision) for note in notes]
        then = await unit.memories.at(caller.tenant, refs)
        readable = {
            ref.revision: record for ref, record in then.items() if showed(admitted, record)
        }
        growth = await offered.showing_memories(unit, admitted, [memory, *readable.values()])
        told = [note for note in notes if note.content is None or note.revision in readable]
        why = await reasons(unit, admitted, [note.why for note in told], own=[memory.id])
    await offered.grow(world, admitted, [growth])
    return tuple(
        note.model_copy(update={"why": said}) for note, said in zip(told, why, strict=True)
    )
