"""Tell a memory store apart from the ledger what was committed there, and close what it was told.

Every change of memories is made in `changing`. Where the store shares the ledger's transaction that
is all there is to it. Where it does not, the change is committed first, with an intent; then the
store is told; then the caller is answered; then, many at a time, superseded objects are deleted and
the intents closed. Whatever stops this in between, the memory is there: until its intent is closed
a search compares it in the ledger. So what is left open is done again, at the start of a process
and by whoever closes intents later; doing it twice changes nothing.

Intents are closed `GRACE_S` after the store was told, if its server has been there all the time:
one that is killed may have acknowledged an object and yet not search it when it is back. Whether it
was is asked each time, and what was told in an earlier life of it is told again.

An object that the store will never take is tried `ATTEMPTS_MAX` times, then set aside, and what
the memory said before comes back, in one transaction.
"""

import logging
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.errors import HindsightError, StoreRefused, Unavailable, Unfinished
from hindsight_ray.ports import Intent, Placed, StoredObject, Unit
from hindsight_ray.ports.watching import spent_on
from hindsight_ray.service import commit
from hindsight_ray.service.commit import Author
from hindsight_ray.service.world import Told, World

ATTEMPTS_MAX = 5
BATCH = 200
CLOSED_MAX = 2_000  # intents in one transaction, which others wait for
LATE = timedelta(seconds=30)  # open for longer, in nobody's hand: its writer has been stopped
GRACE_S = 5.0
FAILED_MAX = 3  # tellings in a row that a ready store may fail before changes count as waiting
_STEWARD = "agent:steward"

_log = logging.getLogger(__name__)


@asynccontextmanager
async def changing(world: World, command_id: str) -> AsyncGenerator[Unit]:
    """A writing unit for changes of memories, and after its commit, telling the store.

    Raises `Unavailable` before anything is written if the store takes nothing and changes are not
    to be queued; `Unfinished` after the commit if the store could not be told yet.
    """
    deaf = await _deaf(world)
    async with world.ledger.writing() as unit:
        if deaf is not None:
            await _check_room(world, unit, deaf)
        await world.store.check_space(unit)
        yield unit
        opened = await unit.intents.opened()
    if opened:
        await _carry_out(world, opened, command_id)


async def replay(world: World, *, limit: int = BATCH, idle: timedelta = LATE) -> int:
    """Do again what nobody has had in hand for `idle`, the oldest first; return how many.

    Raises `Unavailable` if the store cannot be told now.
    """
    now = world.clock.now()
    async with world.ledger.reading() as unit:
        waiting = await unit.intents.waiting(limit=limit, until=now - idle)
    if not waiting:
        return 0
    async with world.ledger.writing() as unit:
        ours = await unit.intents.claim(waiting, now)
    done = await _told_again(world, ours)
    await _close(world, [intent.number for intent in done])
    return len(waiting)


async def replay_all(world: World, *, idle: timedelta = LATE) -> None:
    """`replay` until nothing is open that can be done; what cannot be now waits."""
    try:
        while await replay(world, idle=idle) == BATCH:
            pass
    except HindsightError as error:
        _log.warning("what the memory store has not been told waits: %s", error)


async def sweep(world: World, tenant: str) -> int:
    """Delete the objects of a tenant that nobody counts, a page at a time; return how many.

    A writer that was stopped between its commit and the store leaves such an object when it goes
    on after the memory has changed again. What should be there and is not is told anew.
    """
    async with world.ledger.reading() as unit:
        place = await unit.intents.place(tenant)
        awaited = {ref.id: ref for ref in await unit.intents.settled(tenant)}
    if place is None:
        return 0
    swept, last = 0, None
    while part := await world.store.held(place, after=last, limit=BATCH):
        last = part[-1]
        for ref in part:
            if awaited.get(ref.id) == ref:
                del awaited[ref.id]
        async with world.ledger.reading() as unit:
            current = await unit.memories.current(tenant, [ref.id for ref in part])
        known = {(name, memory.revision) for name, memory in current.items()}
        # What is newer than this reading's revision is somebody's who is just writing it.
        orphans = [
            ref
            for ref in part
            if (ref.id, ref.revision) not in known
            and (ref.id not in current or ref.revision < current[ref.id].revision)
        ]
        await world.store.delete([Placed(place, ref) for ref in orphans])
        swept += len(orphans)
    await _tell_anew(world, tenant, [*awaited.values()])
    return swept


async def _deaf(world: World) -> str | None:
    """Why the store cannot be told now, so that changes wait, within their bound; None if it can.

    Raises `Unavailable` if they are not to wait. A store that is ready and takes nothing is asked
    some times more before it counts as one that does not hear.
    """
    try:
        with spent_on("store"):
            await world.store.check()
    except Unavailable as error:
        if world.settings.store_outage != "queue":
            raise
        return error.message
    return None if world.settling.failed < FAILED_MAX else "the memory store takes nothing"


async def _check_room(world: World, unit: Unit, deaf: str) -> None:
    limit = world.settings.store_queue_max
    if await unit.intents.count() >= limit:
        _begin(world, replay_all(world))  # or nobody would find out that it takes them again
        raise Unavailable(
            f"{deaf}; {limit} changes wait for that, as many as may (`store_queue_max`)",
            limit=limit,
        )


async def _carry_out(world: World, opened: Sequence[Intent], command_id: str) -> None:
    life = world.store.life
    try:
        done = await _told(world, opened)
    except HindsightError as error:
        raise _unfinished(command_id, error.message) from error
    _close_later(world, done, life)
    if len(done) < len(opened):
        raise _unfinished(command_id, "the memory store refused an object")


def _unfinished(command_id: str, why: str) -> Unfinished:
    return Unfinished(
        f"`command_id` {command_id!r} is committed and will be carried out: {why}",
        command_id=command_id,
    )


async def _told(world: World, intents: Sequence[Intent]) -> Sequence[Intent]:
    """Put what is to be put; return the intents for which that is done."""
    objects = [intent.put for intent in intents if intent.put is not None]
    if not objects:
        return intents
    try:
        with spent_on("store"):
            await _put(world, intents, objects)
    except StoreRefused as refused:
        reasons: dict[str, str] = refused.details["reasons"]
        bad = [intent for intent in intents if intent.placed.ref.id in reasons]
        for intent in bad:
            await _note_refusal(world, intent, reasons[intent.placed.ref.id])
        return [intent for intent in intents if intent not in bad]
    except HindsightError:
        world.settling.failed += 1
        raise
    world.settling.failed = 0
    return intents


async def _put(world: World, intents: Sequence[Intent], objects: Sequence[StoredObject]) -> None:
    """Put them in places that hold all they should, or where the ledger stands in for the rest."""
    await _see_to_places(world, intents)
    try:
        await world.store.put(objects)
    except Unavailable:
        if not await _see_to_places(world, intents):
            raise
        await world.store.put(objects)


async def _see_to_places(world: World, intents: Sequence[Intent]) -> bool:
    """Have the store told anew of whole tenants whose places it lacks; whether it lacks any.

    A server that comes back without its data would else be asked again as soon as one object is in
    the place, and find that one alone.
    """
    wanted = {(one.placed.place, one.tenant) for one in intents if one.put is not None}
    lacking = [tenant for place, tenant in sorted(wanted) if await world.store.lacks(place)]
    for tenant in lacking:
        async with world.ledger.reading() as unit:
            await world.store.check_space(unit)  # else it is left, and not lost
            lost = await unit.intents.settled(tenant)
        await _tell_anew(world, tenant, lost)
    return bool(lacking)


async def _tell_anew(world: World, tenant: str, lost: Sequence[MemoryRef]) -> None:
    if not lost:
        return
    async with world.ledger.writing() as unit:
        unchanged = set(lost) & set(await unit.intents.settled(tenant))
        told = await unit.intents.tell(tenant, [ref.id for ref in unchanged])
    if told:  # by whoever closes intents next
        _log.warning("the memory store lacks %d memories of a tenant: it is told anew", told)


def _close_later(world: World, intents: Sequence[Intent], life: int) -> None:
    now_s = world.clock.steady_s()
    world.settling.waiting.extend(Told(intent.number, now_s, life) for intent in intents)
    tidy(world)


def tidy(world: World) -> None:
    """Start closing what the store was told long enough ago, if anything is due."""
    if _due(world):
        _begin(world, _close_due(world))


def _begin(world: World, job: Coroutine[Any, Any, None]) -> None:
    """Have this done in the background, unless something of the kind is under way."""
    queue = world.settling

    async def alone() -> None:
        try:
            await job
        finally:
            queue.writing = False

    if queue.writing:
        job.close()
        return
    doing = alone()
    try:
        world.background(doing)
        queue.writing = True
    except HindsightError as error:  # too many jobs: a later change takes these along
        doing.close()
        job.close()
        _log.warning("%d intents wait to be closed: %s", len(queue.waiting), error)


async def finish(world: World) -> None:
    """Close what can be closed now, before the store is left."""
    told = list(world.settling.waiting)
    world.settling.waiting.clear()
    try:
        for start in range(0, len(told), CLOSED_MAX):
            await _settled(world, told[start : start + CLOSED_MAX])
        await replay(world)
    except HindsightError as error:  # the next process does it again
        _log.warning("%d intents could not be closed: %s", len(told), error)


def _due(world: World) -> bool:
    waiting = world.settling.waiting
    return bool(waiting) and world.clock.steady_s() - waiting[0].at_s >= GRACE_S


async def _close_due(world: World) -> None:
    queue = world.settling
    while _due(world):
        told: list[Told] = []
        while _due(world) and len(told) < CLOSED_MAX:
            told.append(queue.waiting.popleft())
        try:
            await _settled(world, told)
            await replay_all(world)  # meets what others left open
        except HindsightError as error:  # they stay open, and are done again
            _log.warning("%d intents could not be closed: %s", len(told), error)


async def _settled(world: World, told: Sequence[Told]) -> None:
    """Close what was told in the server's present life; tell the rest again."""
    if not told:
        return
    await world.store.check(surely=True)
    life = world.store.life
    await _close(world, [one.number for one in told if one.life == life])
    lost = [one.number for one in told if one.life != life]
    if lost:
        async with world.ledger.reading() as unit:
            intents = await unit.intents.again(lost)
        done = await _told_again(world, intents)
        now_s = world.clock.steady_s()  # as new as if it were told for the first time
        world.settling.waiting.extend(Told(intent.number, now_s, life) for intent in done)


async def _told_again(world: World, intents: Sequence[Intent]) -> Sequence[Intent]:
    """Tell the store as if it had never heard.

    A server that died amid a put, or just after, may have an object that it does not search, and
    takes the same one again for done. So it is deleted first; until its intent is closed the ledger
    stands in.
    """
    await world.store.delete([intent.placed for intent in intents if intent.put is not None])
    return await _told(world, intents)


async def _close(world: World, numbers: Sequence[int]) -> None:
    """Delete what is no longer searched, then close. Reads anew: memories may have moved on."""
    if not numbers:
        return
    async with world.ledger.reading() as unit:
        intents = await unit.intents.again(numbers)
    gone = [placed for intent in intents for placed in intent.gone]
    if gone:
        await world.store.delete(gone)
    async with world.ledger.writing() as unit:
        await unit.intents.close([intent.number for intent in intents])


async def _note_refusal(world: World, intent: Intent, why: str) -> None:
    """Count the attempt; after the last, set the intent aside and restore what was."""
    async with world.ledger.writing() as unit:
        if await unit.intents.refused(intent.number, why) < ATTEMPTS_MAX:
            return
        restorable, vector = await unit.intents.set_aside(intent.number)
        tenant, ref = intent.tenant, intent.placed.ref
        memory = (await unit.memories.current(tenant, [ref.id])).get(ref.id)
        if memory is None or memory.revision != ref.revision or not restorable:
            return  # it has moved on, or what was before is no better: it is compared in the ledger
        _log.error("memory %s at revision %d is set aside: %s", ref.id, ref.revision, why)
        policy = (await unit.policy.standing(tenant, "")).revision
        by = Author(_STEWARD, "SetAside", "", policy, world.clock.now())
        reason = f"set aside, the memory store would not take it: {why}"
        before = MemoryRef(id=ref.id, revision=ref.revision - 1)
        kept = (await unit.memories.at(tenant, [before])).get(before)
        if kept is None:
            await commit.forget(unit, memory, by, reason)
            return
        changes = {"revision": ref.revision + 1, "updated_at": by.now}
        await commit.put(unit, kept.model_copy(update=changes), vector, by, reason)
