"""Put memories away and bring them back; say how they stand; retire a project's memories."""

from collections import Counter

from hindsight_ray.core.lifecycle import tier
from hindsight_ray.core.retention import last_use, retention
from hindsight_ray.domain.access import Revision
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Archive, CloseProject, ReadTiers, Restore
from hindsight_ray.domain.ids import CommandName, MemoryUuid
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt, WriteResult
from hindsight_ray.domain.upkeep import ProjectClosed, Tier
from hindsight_ray.errors import OverQuota, RevisionConflict
from hindsight_ray.ports import Unit
from hindsight_ray.service import away, commit, once
from hindsight_ray.service import maintain as upkeep
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.contrary import contradicting
from hindsight_ray.service.room import beside
from hindsight_ray.service.seen import shows, visible
from hindsight_ray.service.settle import changing
from hindsight_ray.service.world import World


async def archive(world: World, caller: Caller, command: Archive) -> Receipt:
    """Put a memory away. Needs `forget` on its scope: it is gone from every search.

    Raises `NotFound`, `AccessDenied`, `RevisionConflict` for what is archived already, `OverQuota`
    if the scope's archive is full.
    """
    async with changing(world, command.command_id) as unit:
        admitted = await admit(world, unit, caller)
        done = await once.replayed(unit, caller, command.command_id, command, Receipt)
        if done is not None:
            await _named(unit, admitted, command.memory_id)
            return done
        memory = await visible(unit, admitted, command.memory_id)
        admitted.require("forget", memory.scope)
        if memory.status == "archived":
            raise _not_so(memory, "is archived already")
        await away.room_away(world, unit, admitted, memory.scope)
        by = commit.author(admitted, "Archive", "forget", memory.scope)
        await upkeep.archive(unit, memory, by, "asked for")
        receipt = _receipt(command.command_id, "archived", memory, admitted)
        await once.keep(unit, caller, command.command_id, command, receipt)
    return receipt


async def restore(world: World, caller: Caller, command: Restore) -> Receipt:
    """Bring an archived memory back as what it was: what waited for a person then waits again.

    So does one that another value has taken the place of: the two are never active together.

    Needs `review` on its scope, as seeing it does, and a right to say or take away things there. An
    expired one comes back without its end.
    Raises `NotFound`, `AccessDenied`, `OverQuota`, `RevisionConflict` for what is not archived.
    """
    async with changing(world, command.command_id) as unit:
        admitted = await admit(world, unit, caller)
        memory = await _named(unit, admitted, command.memory_id)
        admitted.require("review", memory.scope)
        admitted.require_any(("write", "forget", "promote"), memory.scope)
        done = await once.replayed(unit, caller, command.command_id, command, Receipt)
        if done is not None:
            return done
        if memory.status != "archived":
            raise _not_so(memory, "is not archived")
        by = commit.author(admitted, "Restore", "review", memory.scope)
        known = await beside(unit, memory, by, admitted)
        limit = world.settings.memories_per_scope_max
        if await known.count(unit, limit - 1) >= limit:
            raise OverQuota(f"`scope` {memory.scope!r} is full", scope=memory.scope)
        expired = memory.expires_at is not None and memory.expires_at <= admitted.now
        status, why = await _before(unit, memory), "restored"
        if status == "active" and await _contested(unit, memory, admitted):
            status, why = "pending", "restored, and another value has been kept since"
        changes = {
            "status": status,
            "expires_at": None if expired else memory.expires_at,
            "revision": memory.revision + 1,
            "updated_at": admitted.now,
        }
        await commit.put(unit, memory.model_copy(update=changes), None, by, why)
        # It has just been wanted: so it is not cold again at the next look.
        await unit.stats.verify(memory.tenant, [memory.id], admitted.now)
        receipt = _receipt(command.command_id, "restored", memory, admitted)
        await once.keep(unit, caller, command.command_id, command, receipt)
    return receipt


async def _contested(unit: Unit, memory: Memory, admitted: Admitted) -> bool:
    others = await contradicting(unit, memory, admitted.now)
    return any(kept.status == "active" for kept in others)


async def tiers(world: World, caller: Caller, command: ReadTiers) -> tuple[Tier, ...]:
    """How these memories stand, of those that the caller may read."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        found = await unit.memories.current(caller.tenant, command.memory_ids)
        statistics = await unit.stats.of(caller.tenant, list(found))
    return tuple(
        Tier(
            memory_id=memory.id,
            tier=tier(memory, statistics[name], admitted.now),
            retention=retention(memory, statistics[name], admitted.now),
            last_use=last_use(memory, statistics[name]),
        )
        for name, memory in found.items()
        if shows(admitted, memory)
    )


async def close_project(world: World, caller: Caller, command: CloseProject) -> ProjectClosed:
    """Archive a project's memories that the caller may be shown, wherever it holds `forget`.

    A repeated one names those that the caller may be shown, and put away, by now. Raises
    `OverQuota` if the archive of one of them is full.
    """
    async with changing(world, command.command_id) as unit:
        admitted = await admit(world, unit, caller)
        done = await once.replayed(unit, caller, command.command_id, command, ProjectClosed)
        if done is not None:
            return await _still_told(unit, admitted, done)
        known = await unit.upkeep.on_project(caller.tenant, command.project)
        shown = [memory for memory in known if shows(admitted, memory)]
        mine = [memory for memory in shown if admitted.access.may("forget", memory.scope)]
        for scope, count in Counter(memory.scope for memory in mine).items():
            await away.room_away(world, unit, admitted, scope, count)
        for memory in mine:
            by = commit.author(admitted, "CloseProject", "forget", memory.scope)
            await upkeep.archive(unit, memory, by, f"project {command.project!r} is closed")
        closed = ProjectClosed(
            project=command.project,
            archived=tuple(memory.id for memory in mine),
            left=len(shown) - len(mine),
        )
        await once.keep(unit, caller, command.command_id, command, closed)
    return closed


async def _still_told(unit: Unit, admitted: Admitted, closed: ProjectClosed) -> ProjectClosed:
    """The receipt with what its caller might put away now, were it still as it was then."""
    found = await unit.memories.current(admitted.caller.tenant, closed.archived)
    told: list[MemoryUuid] = []
    for name in closed.archived:
        memory = found.get(name)
        if memory is None or not admitted.access.may("forget", memory.scope):
            continue
        away = memory.status == "archived"
        then = await _before(unit, memory) if away else memory.status
        if shows(admitted, memory.model_copy(update={"status": then, "expires_at": None})):
            told.append(name)
    return closed.model_copy(update={"archived": tuple(told)})


async def _named(unit: Unit, admitted: Admitted, memory_id: str) -> Memory:
    """The memory by its id, also an expired one: only for what ends or undoes its expiry."""
    found = (await unit.memories.current(admitted.caller.tenant, [memory_id])).get(memory_id)
    if found is not None and found.status == "archived":
        lasting = found.model_copy(update={"expires_at": None})
        if shows(admitted, lasting):
            return found
    return await visible(unit, admitted, memory_id)


async def _before(unit: Unit, memory: Memory) -> str:
    """The status that it had when it was put away."""
    if memory.superseded_by is not None:
        return "outdated"
    notes = await unit.memories.history(memory.tenant, memory.id)
    return next((note.status for note in reversed(notes) if note.status != "archived"), "active")


def _not_so(memory: Memory, how: str) -> RevisionConflict:
    return RevisionConflict(
        f"`memory` {memory.id!r} {how}",
        id=memory.id,
        current=memory.revision,
        offered=memory.revision,
    )


def _receipt(
    command_id: CommandName, result: WriteResult, memory: Memory, admitted: Admitted
) -> Receipt:
    return Receipt(
        command_id=command_id,
        result=result,
        ids=(memory.id,),
        revision=Revision(admitted.revision),
    )
