"""Other spaces in a memory store apart: one that is built beside, and those that were left.

What is put beside is noted in the ledger first, so that nothing there is ever forgotten about:
whoever is erased, and whichever tenant is dropped, goes from there too, and what was left is
dropped by whoever looks after the memory next. Vectors beside are kept in the ledger once the store
has their objects; so what has no vector yet is what is lacking in both.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import numpy as np

from hindsight_ray.core.samples import drawn
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.errors import HindsightError, StorageFailed, StoreRefused, Unavailable
from hindsight_ray.ports import Placed, StoreBeside, Text, Vector
from hindsight_ray.service.settle import BATCH, replay, sweep
from hindsight_ray.service.world import World

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


async def put(world: World, space: EmbeddingSpace, texts: Sequence[Text], vectors: Vector) -> None:
    """Put the objects of these memories beside. What is refused now is told after the switch."""
    async with world.ledger.reading() as unit:
        known = await unit.elsewhere.spaces()
    if known.get(space.model) != (space.dimension, False):
        async with world.ledger.writing() as unit:
            await unit.elsewhere.keep(space.model, space.dimension, left=False)
    async with world.ledger.reading() as unit:
        objects = await unit.elsewhere.objects(space.model, texts, vectors)
    async with beside(world, space) as store:
        # One that a server has taken just before it was killed would be taken for done.
        await store.delete([one.placed for one in objects])
        try:
            await store.put(objects)
        except StoreRefused as refused:
            _log.warning("%s: told again after the switch", refused.message)


async def searched(world: World, space: EmbeddingSpace, sample: int) -> frozenset[MemoryRef]:
    """What the new space holds and finds, each by its own vector; deletes what nobody counts.

    Raises `StorageFailed` if a sample's neighbours are not those that the ledger names.
    """
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
        chosen = drawn([str(n) for n in there], sample, len(there))
        for name in chosen:
            await _check_neighbours(store, int(name), placed, vectors)
    return frozenset(found)


async def _check_neighbours(
    store: StoreBeside, number: int, placed: Mapping[int, Placed], vectors: Mapping[int, Vector]
) -> None:
    """The store names as near a memory what is as near in the ledger: equal ones change places."""
    place, own = placed[number].place, vectors[number]
    there = {one.ref: n for n, one in placed.items() if one.place == place and n in vectors}
    near = {ref: float(vectors[n] @ own) for ref, n in there.items()}
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
        while await replay(there, idle=timedelta(0)) == BATCH:
            """What else waits is told with the next ones."""
        async with world.ledger.reading() as unit:
            places = await unit.elsewhere.places()
        for tenant in places:
            await sweep(there, tenant)
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


async def drop_left(world: World) -> int:
    """Drop this home's part of every space that was left; return of how many."""
    async with world.ledger.reading() as unit:
        spaces = await unit.elsewhere.spaces()
        places = await unit.elsewhere.places()
        pinned = await unit.spaces.pinned()
    left = [(model, size) for model, (size, gone) in spaces.items() if gone]
    for model, dimension in left:
        if pinned is None or pinned[0] != model:
            async with beside(world, _space(model, dimension)) as store:
                for place in places.values():
                    await store.leave(place)
                await store.end()
        async with world.ledger.writing() as unit:
            await unit.elsewhere.drop(model)
    return len(left)


async def look_after(world: World) -> None:
    """`drop_left` for upkeep, which goes on whatever comes of it."""
    if world.make_store is None:
        return
    try:
        await drop_left(world)
    except HindsightError as error:
        _log.warning("what the memory store holds in another space stays there: %s", error.message)


async def leave(world: World, place: str) -> None:
    """Delete a place from every other space."""
    async for store in _others(world):
        await store.leave(place)


async def clear(world: World, place: str) -> None:
    """Delete from a place, in every other space, what nobody counts."""
    async for store in _others(world):
        async with world.ledger.reading() as unit:
            counted = frozenset((await unit.elsewhere.placed()).values())
        held = [Placed(place, ref) for ref in await store.held(place)]
        await store.delete([one for one in held if one not in counted])


async def _others(world: World) -> AsyncGenerator[StoreBeside]:
    if world.make_store is None:
        return
    async with world.ledger.reading() as unit:
        spaces = await unit.elsewhere.spaces()
    for model, (dimension, _) in spaces.items():
        async with beside(world, _space(model, dimension)) as store:
            yield store


def _space(model: str, dimension: int) -> EmbeddingSpace:
    return EmbeddingSpace(model, dimension, np.inf, np.inf)
