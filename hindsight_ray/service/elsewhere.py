"""Other spaces in a memory store apart: one that is built beside, and those that were left.

What is put beside is noted in the ledger first, so that nothing there is ever forgotten about:
whoever is erased, and whichever tenant is dropped, goes from there too, and what was left is
dropped by whoever looks after the memory next. Vectors beside are kept in the ledger once the store
has their objects; so what has no vector yet is what is lacking in both.

Between reading what to put and having put it, an erasure or a drop may go by. So a slice is noted
before it is sent, is looked at again once it is there, and is closed with its vectors. Whoever is
stopped amid it leaves the note: no erasure is proven while it stands, and upkeep looks again.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from hindsight_ray.core.samples import drawn
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.errors import HindsightError, StorageFailed, StoreRefused, Unavailable
from hindsight_ray.ports import Apart, InHand, Placed, StoreBeside, Text, Unit, Vector
from hindsight_ray.service.settle import BATCH, replay, sweep
from hindsight_ray.service.world import World

LATE = timedelta(minutes=5)  # whoever has been amid something for longer was stopped
_SLICE_S_MAX = 120
_AT_ONCE = 8
_NEAR = 10
_ROUNDING = 1e-3
_FOUND_MIN = 0.8  # of the nearest that the ledger names; a graph over many rows may miss some

_log = logging.getLogger(__name__)


@asynccontextmanager
async def beside(world: World, space: EmbeddingSpace) -> AsyncGenerator[StoreBeside]:
    """The store over another space, for as long as this lasts."""
    if world.make_store is None:
        raise Unavailable("`store` has no spaces beside in this process; use another process")
    store = world.make_store(space)
    try:
        yield store
    finally:
        await store.close()


async def put(
    world: World, space: EmbeddingSpace, texts: Sequence[Text], vectors: Vector
) -> InHand | None:
    """Put the objects of these memories beside, and look at them again: they may be gone by then.

    Who asks closes what is returned (`kept`) with the vectors; None once the home is in this space.
    What is refused now is told after the switch. Raises `Unavailable` if it takes too long.
    """
    async with world.ledger.writing() as unit:
        if await in_use(unit, space.model):
            return None
        await _begun(unit, space)
        objects = await unit.elsewhere.objects(space.model, texts, vectors)
        placed = tuple(one.placed for one in objects)
        slice_ = InHand(world.ids.token(), space.model, space.dimension, world.clock.now(), placed)
        await unit.elsewhere.take(slice_)
    async with beside(world, space) as store:
        try:
            async with asyncio.timeout(_SLICE_S_MAX):
                # One that a server has taken just before it was killed would be taken for done.
                await store.delete(placed)
                await store.put(objects)
        except StoreRefused as refused:
            _log.warning("%s: told again after the switch", refused.message)
        except TimeoutError:
            raise Unavailable(
                f"`slice` of {len(texts)} took longer than {_SLICE_S_MAX} s; ask for a smaller one"
            ) from None
        await _look_again(world, store, placed)
    return slice_


async def kept(unit: Unit, slice_: InHand, now: datetime) -> bool:
    """Close a slice; whether its space is still one that is built. If not, it is to be dropped."""
    await unit.elsewhere.let_go(slice_.token)
    return await _wanted(unit, slice_, now)


async def _wanted(unit: Unit, slice_: InHand, now: datetime) -> bool:
    """Whether this space is used or built; if it was left, what came there late goes, too."""
    if await in_use(unit, slice_.model):
        return True
    known = (await unit.elsewhere.spaces()).get(slice_.model)
    if known == Apart(slice_.dimension):
        return True
    await unit.elsewhere.keep(slice_.model, Apart(slice_.dimension, now))
    return False


async def _begun(unit: Unit, space: EmbeddingSpace) -> None:
    """Note the space before anything comes to be there."""
    building = Apart(space.dimension)
    if (await unit.elsewhere.spaces()).get(space.model) != building:
        await unit.elsewhere.keep(space.model, building)


async def in_use(unit: Unit, model: str) -> bool:
    """Whether the home is in this model's space."""
    pinned = await unit.spaces.pinned()
    return pinned is not None and pinned[0] == model


async def _look_again(world: World, store: StoreBeside, placed: Sequence[Placed]) -> None:
    """Whoever was erased or dropped while this was put is not to come back by it."""
    async with world.ledger.reading() as unit:
        counted = await unit.elsewhere.counted(placed)
        places = {*(await unit.elsewhere.places()).values()}
    await store.delete([one for one in placed if one.place in places and one not in counted])
    for place in sorted({one.place for one in placed} - places):
        await store.leave(place)


async def coming(unit: Unit, place: str, now: datetime) -> Sequence[Placed]:
    """What nobody counts and yet may come to be in a place: slices that are in somebody's hand.

    One who has had a slice for longer than it may take has been stopped.
    """
    slices = [one for one in await unit.elsewhere.in_hand() if now - one.at <= LATE]
    theirs = [placed for one in slices for placed in one.placed if placed.place == place]
    counted = await unit.elsewhere.counted(theirs)
    return [placed for placed in theirs if placed not in counted]


async def searched(world: World, space: EmbeddingSpace, sample: int) -> frozenset[MemoryRef]:
    """What the new space holds and finds, each by its own vector; deletes what nobody counts.

    Raises `StorageFailed` if a sample's neighbours are not those that the ledger names.
    """
    async with world.ledger.writing() as unit:
        if not await in_use(unit, space.model):
            await _begun(unit, space)
    async with world.ledger.reading() as unit:
        placed = await unit.elsewhere.placed()
        places = await unit.elsewhere.places()
        vectors = await unit.beside.of(space.model, [*placed])
    counted = frozenset(placed.values())
    async with beside(world, space) as store:
        held: set[Placed] = set()
        for place in places.values():
            theirs = [Placed(place, ref) for ref in await store.held(place)]
            await store.delete([one for one in theirs if one not in counted])
            held.update(theirs)
        there = [n for n, one in placed.items() if one in held and n in vectors]
        found: set[MemoryRef] = set()
        for start in range(0, len(there), _AT_ONCE):
            part = there[start : start + _AT_ONCE]
            asking = (store.named(placed[n].place, vectors[n], _NEAR) for n in part)
            for n, near in zip(part, await asyncio.gather(*asking), strict=True):
                if placed[n].ref in near:
                    found.add(placed[n].ref)
        in_place: dict[str, dict[MemoryRef, Vector]] = {}
        for n, one in placed.items():
            if n in vectors:
                in_place.setdefault(one.place, {})[one.ref] = vectors[n]
        for name in drawn([str(n) for n in there], sample, len(there)):
            one = placed[int(name)]
            await _check_neighbours(store, one, in_place[one.place], name)
    return frozenset(found)


async def _check_neighbours(
    store: StoreBeside, one: Placed, vectors: Mapping[MemoryRef, Vector], number: str
) -> None:
    """The store names as near a memory what is as near in the ledger: equal ones change places."""
    place, own = one.place, vectors[one.ref]
    near = {ref: float(vector @ own) for ref, vector in vectors.items()}
    best = sorted(near.values(), reverse=True)[:_NEAR]
    named = [near[ref] for ref in await store.named(place, own, _NEAR) if ref in near]
    good = sum(one >= best[-1] - _ROUNDING for one in named)
    if good < _FOUND_MIN * len(best):
        raise StorageFailed(
            f"the memory store finds {good} of the {len(best)} nearest of memory number {number}"
            " in the new space; nothing was switched or dropped. See that it indexes at once",
        )


async def settle_in(world: World, space: EmbeddingSpace) -> None:
    """Tell the space that is in use now what it lacks, and delete what nobody counts in it.

    Raises `StorageFailed` if what is there is not what the ledger counts.
    """
    async with beside(world, space) as store:
        there = replace(world, store=store)
        await _told(there)
        async with world.ledger.reading() as unit:
            places = await unit.elsewhere.places()
        for tenant in places:
            await sweep(there, tenant)
        await _told(there)  # what the sweeps found lacking; what still is after that is refused
        held = {Placed(place, ref) for place in places.values() for ref in await store.held(place)}
    async with world.ledger.reading() as unit:
        placed = await unit.elsewhere.placed()
        waits = await unit.intents.count()
    lacking = sum(one not in held for one in placed.values())
    if lacking > waits:
        raise StorageFailed(
            f"the memory store lacks {lacking} memories in {space.model!r}, and {waits} wait to be"
            " told; nothing was dropped. Ask again, and see that its server runs"
        )


async def _told(there: World) -> None:
    """Tell the store of this world all that waits."""
    while await replay(there, idle=timedelta(0)) == BATCH:
        """What else waits is told with the next ones."""


async def drop_left(world: World) -> int:
    """Drop this home's part of every space that was left; return of how many.

    Each stays noted for some time, and is dropped again: whoever was telling it something when it
    was left may have done so since.
    """
    now = world.clock.now()
    async with world.ledger.reading() as unit:
        spaces = await unit.elsewhere.spaces()
    left = {model: space for model, space in spaces.items() if space.left is not None}
    for model, space in left.items():
        async with world.ledger.reading() as unit:
            used = await in_use(unit, model)
            still = (await unit.elsewhere.spaces()).get(model) == space
            places = {
                *(await unit.elsewhere.places()).values(),
                *await unit.elsewhere.left_places(),
            }
        if still and not used:
            async with beside(world, _space(model, space.dimension)) as store:
                if await store.made():
                    for place in sorted(places):
                        await store.leave(place)
                    await store.end()
        async with world.ledger.writing() as unit:
            over = space.left is not None and now - space.left > LATE
            if (await unit.elsewhere.spaces()).get(model) == space and (over or used):
                await unit.elsewhere.drop(model)
    return len(left)


async def look_after(world: World) -> None:
    """For upkeep, which goes on whatever comes of it: see that nothing stays where none looks."""
    if world.make_store is None:
        return
    try:
        await _end_late(world)
        await _leave_again(world)
        await drop_left(world)
    except HindsightError as error:
        _log.warning("what the memory store holds in another space stays there: %s", error.message)


async def _end_late(world: World) -> None:
    """Look again for those who were stopped before they did."""
    now = world.clock.now()
    async with world.ledger.reading() as unit:
        late = [one for one in await unit.elsewhere.in_hand() if now - one.at > LATE]
    for slice_ in late:
        async with beside(world, _space(slice_.model, slice_.dimension)) as store:
            if await store.made():
                await _look_again(world, store, slice_.placed)
        async with world.ledger.writing() as unit:
            await kept(unit, slice_, now)


async def _leave_again(world: World) -> None:
    """Places of tenants that were dropped: whoever was writing there has made them once more."""
    now = world.clock.now()
    async with world.ledger.reading() as unit:
        left = await unit.elsewhere.left_places()
    for place, at in left.items():
        await world.store.leave(place)
        await leave(world, place)
        if now - at > LATE:
            async with world.ledger.writing() as unit:
                await unit.elsewhere.drop_place(place)


async def leave(world: World, place: str) -> None:
    """Delete a place from every other space."""
    async for store in _others(world):
        await store.leave(place)


async def clear(world: World, place: str) -> Sequence[MemoryRef]:
    """Delete from a place, in every other space, what nobody counts; what is there then."""
    there: list[MemoryRef] = []
    async for store in _others(world):
        held = [Placed(place, ref) for ref in await store.held(place)]
        async with world.ledger.reading() as unit:
            counted = await unit.elsewhere.counted(held)
        await store.delete([one for one in held if one not in counted])
        there += await store.held(place)
    return there


async def _others(world: World) -> AsyncGenerator[StoreBeside]:
    """Every space but the one in use that is noted, and has been made."""
    async with world.ledger.reading() as unit:
        noted = {model: one.dimension for model, one in (await unit.elsewhere.spaces()).items()}
        noted |= {one.model: one.dimension for one in await unit.elsewhere.in_hand()}
        used = await unit.spaces.pinned()
    for model, dimension in noted.items():
        if used is None or model != used[0]:
            async with beside(world, _space(model, dimension)) as store:
                if await store.made():
                    yield store


def _space(model: str, dimension: int) -> EmbeddingSpace:
    return EmbeddingSpace(model, dimension, np.inf, np.inf)
