"""Change the home's embedding model without a moment in which two spaces mix.

Slice by slice, vectors of the new model are made beside the old ones, which go on being searched;
a memory that changes meanwhile loses its new vector and gets another. When none is lacking, counts
and a sample are checked and one transaction puts the new ones in the place of the old and moves the
home's pin. The old ones are dropped once the sample holds in the space in use, too. Every step is
found in the ledger, so whoever was killed goes on by asking again. Where a memory store apart
searches, a space of its own is built there with it (`service/elsewhere.py`).
"""

from collections.abc import Collection
from datetime import datetime

import numpy as np

from hindsight_ray.core.calibration import calibrated
from hindsight_ray.core.samples import drawn
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Calibrate, Reembed
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.domain.upkeep import Calibration, LabelledKind, Reembedding
from hindsight_ray.errors import InvalidInput, InvalidSettings, StorageFailed, Unavailable
from hindsight_ray.ports import Apart, Embedder, Text, Unit, Vector
from hindsight_ray.service import commit, elsewhere
from hindsight_ray.service.admit import admit
from hindsight_ray.service.world import World

_NEIGHBOURS = 5
_ROUNDING = 1e-3  # a vector made again is this near at least to what was kept
_BATCH = 64


async def reembed(world: World, caller: Caller, command: Reembed) -> Reembedding:
    """One slice of the change. Needs `administer`.

    Raises `Unavailable` where this process has no models or the memory store is away,
    `ModelFailed`, and `StorageFailed` if what was kept is not what the model says.
    """
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("administer", GLOBAL)
        by = commit.author(admitted, "Reembed", "administer", GLOBAL)
        pinned = await unit.spaces.pinned()
    target = _embedder(world, command.model, command.dimension, command.api_base)
    if pinned is not None and pinned[0] == target.space.model:
        return await _finish(world, target, command.sample)
    built = await _build(world, target, command)
    if built is not None:
        return built
    checked, kept = await _checked(world, target, command.sample, beside=target.space.model)
    apart = not world.store.shares_ledger
    there = await elsewhere.searched(world, target.space, command.sample) if apart else ()
    async with world.ledger.writing() as unit:
        (await admit(world, unit, caller)).require("administer", GLOBAL)
        switched = await elsewhere.in_use(unit, target.space.model)
        done, total = await unit.beside.counts(target.space.model)
        if not switched:
            # Meanwhile somebody wrote, or changed to a third model, whose vectors would be lost.
            if done != total or await unit.spaces.pinned() != pinned:
                return _progress(target, "building", done, total)
            await unit.beside.switch(target.space.model, target.space.dimension)
            if apart:
                await _move_store(unit, target, there, pinned, world.clock.now())
            await commit.note(unit, caller.tenant, f"embedding {target.space.model}", by)
    if switched:
        return await _finish(world, target, command.sample)
    return Reembedding(
        model=target.space.model,
        state="switched",
        embedded=done,
        total=total,
        checked=checked,
        neighbours_kept=kept,
    )


async def calibrate(world: World, caller: Caller, command: Calibrate) -> Calibration:
    """The thresholds of a model from labelled pairs. Needs `administer`; changes nothing."""
    async with world.ledger.reading() as unit:
        (await admit(world, unit, caller)).require("administer", GLOBAL)
    model = world.embedder
    if command.model is not None and command.model != model.space.model:
        model = _embedder(world, command.model, command.dimension, command.api_base)
    texts = [text for pair in command.pairs for text in (pair.a, pair.b)]
    vectors = np.concatenate(
        [
            await model.embed(texts[start : start + _BATCH], "passage")
            for start in range(0, len(texts), _BATCH)
        ]
    )
    found: dict[LabelledKind, list[float]] = {}
    for number, pair in enumerate(command.pairs):
        similarity = float(vectors[2 * number] @ vectors[2 * number + 1])
        found.setdefault(pair.kind, []).append(similarity)
    return calibrated(model.space, found)


def _embedder(world: World, model: str, dimension: int | None, api_base: str | None) -> Embedder:
    if world.make_embedder is None:
        raise Unavailable(
            "`model` cannot be loaded in this process; take the deployment down and use its home"
            " with `--home`"
        )
    try:
        return world.make_embedder(model, dimension, api_base)
    except InvalidSettings as lacking:
        if dimension is not None:
            raise
        message = lacking.message.replace("embedding_dimension", "dimension")
        raise InvalidInput(message, field="dimension") from None


def _progress(target: Embedder, state: str, done: int, total: int) -> Reembedding:
    return Reembedding.model_validate(
        {"model": target.space.model, "state": state, "embedded": done, "total": total}
    )


async def _build(world: World, target: Embedder, command: Reembed) -> Reembedding | None:
    """Embed the next texts that lack a vector of the new model; None when none does."""
    model = target.space.model
    async with world.ledger.reading() as unit:
        lacking = await unit.beside.lacking(model, limit=command.slice)
    if not lacking:
        return None
    vectors = await target.embed([text.content for text in lacking], "passage")
    slice_ = None
    if not world.store.shares_ledger:
        slice_ = await elsewhere.put(world, target.space, lacking, vectors)
    async with world.ledger.writing() as unit:
        wanted = slice_ is None or await elsewhere.kept(unit, slice_, world.clock.now())
        switched = await elsewhere.in_use(unit, target.space.model)
        if wanted and not switched:
            await unit.beside.put(model, lacking, vectors)
        done, total = await unit.beside.counts(model)
    if switched:
        return await _finish(world, target, command.sample)
    return _progress(target, "building", done, total)


async def _move_store(
    unit: Unit,
    target: Embedder,
    there: Collection[MemoryRef],
    before: tuple[str, int] | None,
    now: datetime,
) -> None:
    """With the switch: tell the new space what it lacks, and leave every other."""
    left = {model: one.dimension for model, one in (await unit.elsewhere.spaces()).items()}
    if before is not None:
        left[before[0]] = before[1]
    for model, dimension in left.items():
        await unit.elsewhere.keep(model, Apart(dimension, now))
    await unit.elsewhere.drop(target.space.model)
    await unit.elsewhere.tell_others(there)


async def _finish(world: World, target: Embedder, sample: int) -> Reembedding:
    """The home is in this space: see that it holds, then drop what was before."""
    async with world.ledger.reading() as unit:
        left = [name for name in await unit.beside.models() if name != target.space.model]
        total = len(await unit.beside.numbers())
    if not world.store.shares_ledger:
        await elsewhere.settle_in(world, target.space)
    if not left:
        await elsewhere.drop_left(world)
        return _progress(target, "done", total, total)
    checked, kept = await _checked(world, target, sample, beside=None, before=left[0])
    async with world.ledger.writing() as unit:
        if not await elsewhere.in_use(unit, target.space.model):  # but another, meanwhile
            return _progress(target, "building", *await unit.beside.counts(target.space.model))
        for name in left:
            await unit.beside.drop(name)
    await elsewhere.drop_left(world)
    return Reembedding(
        model=target.space.model,
        state="done",
        embedded=total,
        total=total,
        checked=checked,
        neighbours_kept=kept,
    )


async def _checked(
    world: World, target: Embedder, sample: int, *, beside: str | None, before: str | None = None
) -> tuple[int, float | None]:
    """Look at a sample: each vector is what the model says of the text, its neighbours are had.

    Returns how many were looked at, and the share of their nearest that both spaces name.
    """
    async with world.ledger.reading() as unit:
        numbers = await unit.beside.numbers()
        chosen = [int(name) for name in drawn([str(one) for one in numbers], sample, len(numbers))]
        texts = await unit.beside.texts(chosen)
        kept = await unit.beside.of(beside, chosen)
        if beside is not None:  # what was dropped or switched to meanwhile is found by the count
            texts = [text for text in texts if text.number in kept]
        shares = [await _shared(unit, text.number, beside, before) for text in texts]
    again = await target.embed([text.content for text in texts], "passage") if texts else ()
    for text, vector in zip(texts, again, strict=True):
        _check_vector(text, kept.get(text.number), vector, target)
    found = [share for share in shares if share is not None]
    return len(texts), sum(found) / len(found) if found else None


def _check_vector(text: Text, kept: Vector | None, vector: Vector, target: Embedder) -> None:
    length = float(np.linalg.norm(vector))
    if kept is None or length == 0 or float(kept @ vector) / length < 1 - _ROUNDING:
        raise StorageFailed(
            f"`model` {target.space.model!r} says otherwise of memory number {text.number} than"
            " what was kept of it; nothing was switched or dropped. Is it another version?",
            model=target.space.model,
        )


async def _shared(unit: Unit, number: int, beside: str | None, before: str | None) -> float | None:
    """The share of a memory's nearest in the new space that the old one names too."""
    new = (await unit.beside.of(beside, [number])).get(number)
    old = (await unit.beside.of(before, [number])).get(number)
    if new is None or old is None:
        return None
    near_new = await unit.beside.nearest(beside, number, new, limit=_NEIGHBOURS)
    near_old = await unit.beside.nearest(before, number, old, limit=_NEIGHBOURS)
    if not near_old:
        return None
    return len({*near_new} & {*near_old}) / len(near_old)
