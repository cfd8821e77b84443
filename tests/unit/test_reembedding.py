"""Another embedding model: built beside, switched at once, checked, and only then alone."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.models.litellm import LiteLLMEmbedder
from hindsight_ray.core.calibration import calibrated
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Calibrate, Forget, Reembed, Search, Write
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.domain.upkeep import LabelledPair, Reembedding
from hindsight_ray.errors import (
    AccessDenied,
    InvalidInput,
    SpaceMismatch,
    StorageFailed,
    Unavailable,
)
from hindsight_ray.ports import Embedder, Purpose, Vector
from hindsight_ray.service.forget import forget
from hindsight_ray.service.reembed import calibrate, reembed
from hindsight_ray.service.search import search
from hindsight_ray.service.world import World
from hindsight_ray.service.write import write
from tests.worlds import Staged, world

_numbers = iter(range(1, 1_000_000))


class Turned(HashedEmbedder):
    """Another space of the same dimension: what was near stays near, numbers mean other things."""

    forged = 0.0

    @property
    def space(self) -> EmbeddingSpace:
        return replace(super().space, model="turned")

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        found = np.roll(await super().embed(texts, purpose), 7, axis=1)
        found[:, 0] += self.forged
        return found


class Interrupted(Turned):
    """While it embeds for the nth time, somebody else does something first."""

    meanwhile: Callable[[], Awaitable[None]] | None = None
    at = 1

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        found = await super().embed(texts, purpose)
        self.at -= 1
        if self.at == 0 and self.meanwhile is not None:
            await self.meanwhile()
        return found


class Third(Turned):
    """One more space."""

    @property
    def space(self) -> EmbeddingSpace:
        return replace(super().space, model="third")


def _made(home: Staged, embedder: HashedEmbedder) -> World:
    def make(_model: str, _dimension: int | None, _api_base: str | None) -> Embedder:
        return embedder

    return replace(home.world, make_embedder=make)


async def _wrote(where: World, caller: Caller, content: str) -> str:
    named = {"command_id": f"c{next(_numbers)}", "content": content}
    return (await write(where, caller, Write.model_validate(named))).ids[0]


async def _step(where: World, caller: Caller, size: int = 4) -> Reembedding:
    return await reembed(where, caller, Reembed(model="turned", slice=size, sample=5))


async def _vector_hits(where: World, caller: Caller, query: str) -> list[str]:
    found = await search(where, caller, Search(query=query))
    return [hit.memory.content for hit in found.hits if "vector" in hit.routes]


@pytest.mark.covers("space.switch")
async def test_a_new_space_is_built_beside_switched_at_once_and_alone_in_the_end(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as home:
        alice = await home.caller(user="alice")
        operator = await home.caller(agent="operator")
        there = _made(home, Turned())
        for n in range(10):
            await _wrote(there, alice, f"Locker {n} holds {n} ropes")
        first = await _step(there, operator)
        assert (first.state, first.embedded, first.total) == ("building", 4, 10)
        assert await _vector_hits(there, alice, "locker 3 ropes")  # the old space is searched
        changed = await _wrote(there, alice, "Locker 99 holds 99 ropes")
        while (step := await _step(there, operator)).state == "building":
            pass
        assert (step.state, step.embedded, step.checked) == ("switched", 11, 5)
        # This process still embeds in the old space: no vector of it meets one of the new.
        found = await search(home.world, alice, Search(query="locker 3 ropes"))
        assert found.degraded == ("vector",)
        assert found.hits
        with pytest.raises(SpaceMismatch):
            await _wrote(home.world, alice, "Locker 100 holds 100 ropes")
        last = await _step(there, operator)
        assert (last.state, last.total) == ("done", 11)
        assert (last.neighbours_kept or 0) > 0.8  # equal ones may change places
        async with home.world.ledger.reading() as unit:
            assert await unit.beside.models() == []
            assert await unit.spaces.pinned() == ("turned", Turned().space.dimension)
            kept = await unit.memories.current("acme", [changed])
        assert kept[changed].embedding_model == "turned"
    async with world(tmp_path, embedder=Turned()) as home:
        alice = await home.caller(user="alice")
        hits = await _vector_hits(home.world, alice, "Locker 3 holds 3 ropes")
        assert hits[0] == "Locker 3 holds 3 ropes"
        named = {"command_id": "gone", "memory_id": changed}
        await forget(home.world, alice, Forget.model_validate(named))


@pytest.mark.covers("space.switch")
async def test_a_memory_that_changes_meanwhile_gets_a_vector_of_what_it_says_now(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as home:
        alice = await home.caller(user="alice")
        operator = await home.caller(agent="operator")
        there = _made(home, Turned())
        gone = await _wrote(there, alice, "Locker 1 holds 1 rope")
        await _wrote(there, alice, "Locker 2 holds 2 ropes")
        await _step(there, operator)
        named = {"command_id": "gone", "memory_id": gone}
        await forget(there, alice, Forget.model_validate(named))
        step = await _step(there, operator)
        assert (step.state, step.total) == ("switched", 1)


@pytest.mark.covers("space.verified")
async def test_a_space_that_is_not_what_its_model_says_is_not_switched_to(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        alice = await home.caller(user="alice")
        operator = await home.caller(agent="operator")
        model = Turned()
        there = _made(home, model)
        for n in range(3):
            await _wrote(there, alice, f"Locker {n} holds {n} ropes")
        await _step(there, operator)
        model.forged = 0.5  # another version under the same name
        with pytest.raises(StorageFailed, match="another version"):
            await _step(there, operator)
        async with home.world.ledger.reading() as unit:
            assert (await unit.spaces.pinned() or ("",))[0] == HashedEmbedder().space.model
        assert await _vector_hits(there, alice, "Locker 2 holds 2 ropes")


@pytest.mark.covers("space.at_once")
@pytest.mark.parametrize("at", [1, 2])  # amid a slice, and amid the look before the switch
async def test_a_change_that_others_finished_meanwhile_leaves_no_vector_beside(
    tmp_path: Path, at: int
) -> None:
    async with world(tmp_path) as home:
        alice = await home.caller(user="alice")
        operator = await home.caller(agent="operator")
        for n in range(3):
            await _wrote(home.world, alice, f"Locker {n} holds {n} ropes")

        async def finished() -> None:
            while (await _step(_made(home, Turned()), operator)).state != "done":
                """The next slice."""

        model = Interrupted()
        model.at, model.meanwhile = at, finished
        step = await _step(_made(home, model), operator)
        if at == 2:
            assert step.state == "building"
            step = await _step(_made(home, model), operator)
        assert (step.state, step.total) == ("done", 3)
        async with home.world.ledger.reading() as unit:
            assert await unit.beside.models() == []


@pytest.mark.covers("space.at_once")
async def test_nothing_is_switched_over_what_others_switched_to_meanwhile(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        alice = await home.caller(user="alice")
        operator = await home.caller(agent="operator")
        for n in range(3):
            await _wrote(home.world, alice, f"Locker {n} holds {n} ropes")
        to_third = Reembed(model="third", slice=4, sample=5)

        async def switched() -> None:
            while (await reembed(_made(home, Third()), operator, to_third)).state != "switched":
                """The next slice."""

        model = Interrupted()
        model.at, model.meanwhile = 2, switched
        assert (await _step(_made(home, model), operator)).state == "building"
        assert (await _step(_made(home, model), operator)).state == "building"  # nothing switched
        async with home.world.ledger.reading() as unit:
            assert (await unit.spaces.pinned() or ("",))[0] == "third"
        assert (await _step(_made(home, model), operator)).state == "switched"
        while (await _step(_made(home, model), operator)).state != "done":
            """Looking at it."""
        async with home.world.ledger.reading() as unit:
            assert await unit.beside.models() == []
            assert (await unit.spaces.pinned() or ("",))[0] == "turned"


async def test_the_model_is_the_operator_s_to_change_where_models_can_be_had(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as home:
        with pytest.raises(AccessDenied):
            await _step(_made(home, Turned()), await home.caller(user="alice"))
        with pytest.raises(Unavailable, match="deployment"):
            await _step(home.world, await home.caller(agent="operator"))


@pytest.mark.covers("space.calibrate")
def test_thresholds_lie_between_what_people_part() -> None:
    space = EmbeddingSpace("m", 8, 0.0, 0.0)
    found = calibrated(
        space,
        {
            "duplicate": [0.99, 0.97, 0.95, 0.80],
            "paraphrase": [0.90, 0.70],
            "near": [0.999],
            "related": [0.85, *[0.5] * 19],
            "unrelated": [0.3, 0.6],
        },
    )
    assert 0.90 < found.duplicate_at < 0.95
    assert (found.duplicates_below, found.others_above) == (1, 0)
    assert 0.6 < found.merge_at <= found.duplicate_at
    assert {one.kind: one.pairs for one in found.spreads}["related"] == 20
    with pytest.raises(InvalidInput, match="duplicate"):
        calibrated(space, {"unrelated": [0.1]})


@pytest.mark.covers("space.calibrate")
async def test_a_model_is_calibrated_from_labelled_pairs_by_the_operator(tmp_path: Path) -> None:
    source = Path("hindsight_ray/adapters/models/calibration.jsonl")
    lines = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]  # noqa: ASYNC240
    pairs = tuple(
        LabelledPair.model_validate({name: one[name] for name in ("a", "b", "kind")})
        for one in lines
    )
    async with world(tmp_path) as home:
        operator = await home.caller(agent="operator")
        found = await calibrate(home.world, operator, Calibrate(pairs=pairs))
        assert found.model == HashedEmbedder().space.model
        assert 0 < found.merge_at <= found.duplicate_at <= 1
        assert found.others_above == 0
        with pytest.raises(AccessDenied):
            await calibrate(home.world, await home.caller(user="bob"), Calibrate(pairs=pairs))


async def test_a_model_that_needs_its_dimension_asks_for_it_in_the_words_of_the_command(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as home:
        operator = await home.caller(agent="operator")
        there = replace(home.world, make_embedder=LiteLLMEmbedder)
        with pytest.raises(InvalidInput, match="`dimension` is needed"):
            await reembed(there, operator, Reembed(model="openai/other"))
