"""Erase a user: every text that is theirs or names them, what was derived from it, and proof of it.

The erasure is put on a list outside the home before it is committed, so that a backup that is
restored later erases them again. What remains are ids: in the audit, of tombstones, of runs that
others name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hindsight_ray.core.digest import derived_uuid
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Erase
from hindsight_ray.domain.erasure import Erased, Erasure, Remains
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.scope import GLOBAL, user_scope
from hindsight_ray.errors import Unavailable
from hindsight_ray.ports import Erasing, Unit, Wiped
from hindsight_ray.service import commit, elsewhere
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.commit import Author
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.pending import WAITING
from hindsight_ray.service.settle import changing, finish, sweep
from hindsight_ray.service.world import World

_ALL_GONE = (0, 2**62)  # no revision's text stays
_STEWARD = "agent:steward"


@dataclass(slots=True)
class _Done:
    memories: list[MemoryUuid] = field(default_factory=list[MemoryUuid])
    retracted: list[MemoryUuid] = field(default_factory=list[MemoryUuid])
    rederived: list[MemoryUuid] = field(default_factory=list[MemoryUuid])
    wiped: Wiped = field(default_factory=lambda: Wiped({}))


async def erase(world: World, caller: Caller, command: Erase) -> Erased:
    """Erase a user of the caller's tenant. Needs `administer`; again, it searches again.

    Raises `Unavailable` where this process has nothing to erase with.
    """
    erasing = _erasing(world)
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("administer", GLOBAL)
    erasure = Erasure.model_validate(
        {
            "erasure_id": derived_uuid(
                "erasure", caller.tenant, command.user, admitted.now.isoformat()
            ),
            "tenant": caller.tenant,
            "user": command.user,
            "at": admitted.now,
        }
    )
    async with changing(world, erasure.erasure_id) as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("administer", GLOBAL)
        done = await _carried_out(world, unit, erasing, erasure, _by(admitted))
        await note_done(
            unit, admitted, verb="Erase", action="administer", scope=GLOBAL,
            name=user_scope(command.user),
        )  # fmt: skip
        await erasing.note(erasure)  # last: what is refused before is not carried out later
    remains = await _with_store(world, caller.tenant, done, await erasing.remains(done.wiped.texts))
    return Erased(
        erasure=erasure,
        memories=tuple(done.memories),
        retracted=tuple(done.retracted),
        rederived=tuple(done.rederived),
        rows=dict(done.wiped.rows),
        remains=remains,
    )


async def _with_store(world: World, tenant: str, done: _Done, remains: Remains) -> Remains:
    """What a memory store apart still holds of them, once it has been told and has been swept."""
    if world.store.shares_ledger:
        return remains
    try:
        await finish(world)
        await sweep(world, tenant)
        async with world.ledger.reading() as unit:
            place = await unit.intents.place(tenant)
            now = await unit.memories.current(tenant, done.rederived)
            moment = world.clock.now()
            coming = () if place is None else await elsewhere.coming(unit, place, moment)
        held = () if place is None else await elsewhere.clear(world, place)
        held = () if place is None else (*held, *await world.store.held(place))
    except Unavailable as error:
        late = f"the memory store, which was not asked ({error.message}): erase again when it is up"
        return remains.model_copy(update={"stated": (*remains.stated, late)})
    wrong = [ref for ref in held if ref.id in {*done.memories, *done.retracted}]
    wrong += [ref for ref in held if ref.id in now and ref.revision != now[ref.id].revision]
    late = [
        f"memory store: {placed.ref.id} may still come, a change of the model has it in hand;"
        " erase again"
        for placed in coming
    ]
    stated = "the memory store's freed segments: until it compacts them; they hold vectors, no text"
    return remains.model_copy(
        update={
            "objects": len(held) + len(coming),
            "found": (*remains.found, *(f"memory store: {ref.id}" for ref in wrong), *late),
            "stated": (*remains.stated, stated),
        }
    )


async def erase_again(world: World) -> int:
    """Carry out what the list holds and this ledger has not done: it is a backup's. How many."""
    erasing = _erasing(world)
    listed = await erasing.listed()
    if not listed:
        return 0
    async with world.ledger.reading() as unit:
        done = await erasing.carried_out(unit, [one.erasure_id for one in listed])
    waiting = [one for one in listed if one.erasure_id not in done]
    texts: set[str] = set()
    for erasure in waiting:
        async with changing(world, erasure.erasure_id) as unit:
            revision = (await unit.policy.standing(erasure.tenant, "")).revision
            by = Author(_STEWARD, "Erase", "", revision, world.clock.now())
            outcome = await _carried_out(world, unit, erasing, erasure, by)
            await commit.note(unit, erasure.tenant, user_scope(erasure.user), by)
            texts |= outcome.wiped.texts
    if waiting:
        await erasing.remains(texts)
    return len(waiting)


def _erasing(world: World) -> Erasing:
    if world.erasing is None:
        raise Unavailable("`erase` is not done by this process; ask where the home is")
    return world.erasing


def _by(admitted: Admitted) -> Author:
    return commit.author(admitted, "Erase", "administer", GLOBAL)


async def _carried_out(
    world: World, unit: Unit, erasing: Erasing, erasure: Erasure, by: Author
) -> _Done:
    """Memories first, each out of every route; then the rows and texts, in the same transaction."""
    done, keep_to = _Done(), dict[str, tuple[int, int]]()
    tenant = erasure.tenant
    own = list(await erasing.named(unit, tenant, erasure.user))
    await _forget(unit, tenant, own, by)
    keep_to |= dict.fromkeys(own, _ALL_GONE)
    done.memories = [MemoryUuid(name) for name in own]
    gone, layer = set(own), own
    while layer:  # what rests on them, and on that
        layer = [n for n in await unit.memories.derived_from(tenant, layer) if n not in gone]
        gone |= set(layer)
        for name in layer:
            revisions = await erasing.revisions(unit, tenant, name)
            before = _before(revisions, gone, erasure.user)
            if before is None:
                await _forget(unit, tenant, [name], by)
                keep_to[name] = _ALL_GONE
                done.retracted.append(MemoryUuid(name))
            else:
                following = await _restore(world, unit, before, revisions[-1], by)
                keep_to[name] = (before.revision, following)
                done.rederived.append(MemoryUuid(name))
    done.wiped = await erasing.wipe(unit, erasure, keep_to)
    return done


async def _forget(unit: Unit, tenant: str, names: Sequence[str], by: Author) -> None:
    """Take those out that are still there; a tombstone's texts are for `wipe` to remove."""
    for memory in (await unit.memories.current(tenant, names)).values():
        await commit.forget(unit, memory, by, "erased")


def _before(revisions: Sequence[Memory], gone: set[str], user: str) -> Memory | None:
    """The last revision that rested on none of these and was not the user's word."""
    sound = [
        one
        for one in revisions
        if one.source.user != user and not any(ref.id in gone for ref in one.derived_from)
    ]
    return sound[-1] if sound else None


async def _restore(world: World, unit: Unit, before: Memory, current: Memory, by: Author) -> int:
    """Say again what it said before, as the next revision, whose number is returned.

    How it stands and when it ends is what others have decided since; but what waited for a person
    before, and is answered only now, waits again: somebody may have accepted what is erased.
    """
    waits = before.status in WAITING and current.status == "active"
    following = before.model_copy(
        update={
            "status": before.status if waits else current.status,
            "superseded_by": current.superseded_by,
            "expires_at": current.expires_at,
            "revision": current.revision + 1,
            "updated_at": by.now,
            "embedding_model": world.embedder.space.model,
        }
    )
    # Rare, and its author waits for one embedding within the lock.
    (vector,) = await world.embedder.embed([following.content], "passage")
    await commit.put(unit, following, vector, by, "what it rested on was erased")
    return following.revision
