"""What every memory store keeps, whatever stands behind it: one clause a test."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from hindsight_ray.adapters.stores.weaviate import schema
from hindsight_ray.core.audience import audience_key
from hindsight_ray.domain.memory import Memory, Scene
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.errors import InvalidInput, InvalidVector
from hindsight_ray.ports import MemoryStore, Unit, Vector
from hindsight_ray.service import settle
from hindsight_ray.service.settle import changing
from tests import stores, worlds
from tests.records import memory_of, name_of, put, rows, vector_of
from tests.worlds import START, Staged

KINDS = ("embedded", "weaviate", "weaviate, wrapped")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> MemoryStore:
    if request.param == "embedded":
        return stores.embedded_store()
    made = stores.weaviate_store(request.getfixturevalue("weaviate_server"))
    return stores.WrappedStore(made) if "wrapped" in request.param else made


@pytest.fixture
async def staged(tmp_path: Path, store: MemoryStore) -> AsyncGenerator[Staged]:
    async with worlds.world(tmp_path, store=store) as made:
        yield made


async def kept(staged: Staged, *memories: Memory, at: Vector | None = None) -> None:
    async with changing(staged.world, "command") as unit:
        for memory in memories:
            await put(unit, memory, at)


async def near(
    staged: Staged, row_filter: RowFilter, vector: Vector, limit: int = 20
) -> list[tuple[str, int]]:
    """(id, revision) of the nearest."""
    async with staged.world.ledger.reading() as unit:
        return await near_in(staged, unit, row_filter, vector, limit)


async def near_in(
    staged: Staged, unit: Unit, row_filter: RowFilter, vector: Vector, limit: int = 20
) -> list[tuple[str, int]]:
    found = await staged.world.store.nearest(unit, row_filter, vector, limit=limit)
    return [(one.ref.id, one.ref.revision) for one in found]


async def words(staged: Staged, row_filter: RowFilter, *candidates: str) -> set[str]:
    """Which of these memories, known by words, the filter lets through."""
    found = {name for name, _ in await near(staged, row_filter, vector_of(1.0))}
    return {word for word in candidates if name_of(word) in found}


async def test_the_nearest_come_first_with_their_exact_similarity(staged: Staged) -> None:
    for word, angle in (("far", 1.2), ("near", 0.1), ("middle", 0.6), ("opposite", np.pi)):
        await kept(staged, memory_of(word), at=vector_of(np.cos(angle), np.sin(angle)))
    async with staged.world.ledger.reading() as unit:
        found = await staged.world.store.nearest(unit, rows(), vector_of(2.0), limit=3)
    assert [one.ref.id for one in found] == [name_of(w) for w in ("near", "middle", "far")]
    assert [one.similarity for one in found] == pytest.approx(
        [np.cos(0.1), np.cos(0.6), np.cos(1.2)], abs=1e-6
    )


async def test_equal_similarities_are_in_order_of_id(staged: Staged) -> None:
    names = [f"same {number}" for number in range(12)]
    await kept(staged, *(memory_of(name) for name in names))
    found = await near(staged, rows(), vector_of(1.0), limit=12)
    assert [name for name, _ in found] == sorted(name_of(name) for name in names)


@pytest.mark.covers("store.at_once")
async def test_a_memory_is_near_as_soon_as_its_write_has_returned(staged: Staged) -> None:
    for number in range(20):
        vector = np.random.default_rng(number).normal(size=4).astype(np.float32)
        await kept(staged, memory_of(f"probe {number}"), at=vector)
        assert (await near(staged, rows(), vector, 1)) == [(name_of(f"probe {number}"), 1)]


@pytest.mark.covers("store.filter")
async def test_every_part_of_a_filter_keeps_out_what_it_should(staged: Staged) -> None:
    scene = Scene(task_type=" deploy ", tools=())
    await kept(
        staged,
        memory_of("a", scope="user:alice"),
        memory_of("b", scope="user:Alice"),
        memory_of("c", scope="user:alice.b"),
        memory_of("secret", labels=("pii", "legal")),
        memory_of("harmless", labels=("blue",)),
        memory_of("waits", status="pending"),
        memory_of("dated", layer="episodic", type="episode"),
        memory_of("lesson", type="experience", scene=scene),
        memory_of("old", created_at=START - timedelta(days=40)),
        memory_of("short", expires_at=START + timedelta(hours=1)),
    )
    everything = {"a", "b", "c", "secret", "harmless", "dated", "lesson", "old", "short"}

    async def found(**fields: object) -> set[str]:
        return await words(staged, rows(**fields), *everything, "waits")

    assert await found() == everything
    assert await found(scopes=frozenset({"user:alice"})) == {"a"}
    assert await found(keys=frozenset({audience_key(("user:Alice",))})) == {"b"}
    assert await found(denied_labels=frozenset({"pii"})) == everything - {"secret"}
    assert await found(denied_labels=frozenset({"legal", "blue"})) == everything - {
        "secret", "harmless",
    }  # fmt: skip
    assert await found(statuses=frozenset({"pending"})) == {"waits"}
    assert await found(layers=frozenset({"episodic"})) == {"dated"}
    assert await found(types=frozenset({"experience"})) == {"lesson"}
    assert await found(task_type="deploy") == everything - {"lesson"}
    assert await found(task_type=" deploy ") == everything
    assert await found(since=START - timedelta(days=1)) == everything - {"old"}
    assert await found(until=START - timedelta(days=1)) == {"old"}
    assert await found(since=START, until=START) == set()
    assert await found(now=START + timedelta(hours=1)) == everything - {"short"}
    assert await found(keys=frozenset()) == set()
    assert await found(scopes=frozenset({"user:nobody"})) == set()


async def test_any_number_of_keys_is_asked_for_and_none_is_left_out(
    staged: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "KEYS_MAX", 3)
    scopes = [f"user:u{number}" for number in range(10)]
    for number, scope in enumerate(scopes):
        await kept(staged, memory_of(scope, scope=scope), at=vector_of(1.0, number / 10))
    keys = frozenset(audience_key((scope,)) for scope in scopes[:8])
    found = await near(staged, rows(keys=keys), vector_of(1.0), limit=5)
    assert [name for name, _ in found] == [name_of(scope) for scope in scopes[:5]]


async def test_a_change_counts_and_what_was_before_does_not(staged: Staged) -> None:
    first = memory_of("a")
    await kept(staged, first, at=vector_of(1.0))
    await kept(staged, memory_of("b"), at=vector_of(0.9, 0.1))
    await kept(staged, first.model_copy(update={"revision": 2}), at=vector_of(0.0, 1.0))
    assert await near(staged, rows(), vector_of(1.0)) == [(name_of("b"), 1), (name_of("a"), 2)]
    await settle.finish(staged.world)
    assert await near(staged, rows(), vector_of(1.0)) == [(name_of("b"), 1), (name_of("a"), 2)]


async def test_a_change_of_status_alone_keeps_the_vector(staged: Staged) -> None:
    first = memory_of("a")
    await kept(staged, first, at=vector_of(0.0, 1.0))
    second = first.model_copy(update={"revision": 2, "status": "outdated"})
    async with changing(staged.world, "command") as unit:
        key = await unit.keys.ensure(first.tenant, first.audience)
        await unit.memories.put(second, None, key=key, terms={}, by="agent:a", why="newer")
    active = rows(statuses=frozenset({"active"}))
    for _ in range(2):
        assert await near(staged, active, vector_of(0.0, 1.0)) == []
        assert await near(staged, rows(), vector_of(0.0, 1.0)) == [(name_of("a"), 2)]
        await settle.finish(staged.world)


async def test_what_was_forgotten_is_gone(staged: Staged) -> None:
    await kept(staged, memory_of("a"), memory_of("b"))
    async with changing(staged.world, "command") as unit:
        await unit.memories.forget("acme", name_of("a"), by="agent:a", why="asked", at=START)
    assert await near(staged, rows(), vector_of(1.0)) == [(name_of("b"), 1)]
    await settle.finish(staged.world)
    assert await near(staged, rows(), vector_of(1.0)) == [(name_of("b"), 1)]


@pytest.mark.covers("G1.tenants")
async def test_a_tenant_finds_its_own(staged: Staged) -> None:
    await kept(staged, memory_of("a"), memory_of("a", tenant="umbrella"), memory_of("b"))
    assert len(await near(staged, rows(), vector_of(1.0))) == 2
    assert len(await near(staged, rows(tenant="umbrella"), vector_of(1.0))) == 1
    assert await near(staged, rows(tenant="nobody"), vector_of(1.0)) == []


async def test_a_unit_sees_its_own_changes_and_others_see_them_after_the_commit(
    staged: Staged,
) -> None:
    await kept(staged, memory_of("a"), at=vector_of(0.0, 1.0))
    async with changing(staged.world, "command") as unit:
        await put(unit, memory_of("b"), vector_of(1.0))
        mine = await near_in(staged, unit, rows(), vector_of(1.0))
        assert mine == [(name_of("b"), 1), (name_of("a"), 1)]
        assert await near(staged, rows(), vector_of(1.0)) == [(name_of("a"), 1)]
    assert len(await near(staged, rows(), vector_of(1.0))) == 2


async def test_a_unit_goes_on_seeing_what_it_began_with(staged: Staged) -> None:
    first = memory_of("a")
    await kept(staged, first, memory_of("b"), at=vector_of(1.0))
    await settle.finish(staged.world)
    async with staged.world.ledger.reading() as unit:
        before = await near_in(staged, unit, rows(), vector_of(1.0))
        await kept(staged, first.model_copy(update={"revision": 2}), at=vector_of(0.0, 1.0))
        await settle.finish(staged.world)
        assert await near_in(staged, unit, rows(), vector_of(1.0)) == before


@pytest.mark.covers("G8.pinned")
@pytest.mark.parametrize(
    "vector",
    [np.ones(3, np.float32), np.zeros(4, np.float32), np.array([1, np.nan, 0, 0], np.float32)],
    ids=["another dimension", "zero", "not a number"],
)
async def test_a_vector_that_is_none_is_refused_before_anything_is_sent(
    staged: Staged, vector: Vector
) -> None:
    await kept(staged, memory_of("a"))
    with pytest.raises(InvalidVector):
        await near(staged, rows(), vector)
    with pytest.raises(InvalidInput):
        await kept(staged, memory_of("b"), at=vector)
    assert await near(staged, rows(), vector_of(1.0)) == [(name_of("a"), 1)]
