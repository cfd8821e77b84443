"""What every memory store keeps: nearest rows under the filter, exact, at the unit's snapshot."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.domain.rows import Near, RowFilter
from hindsight_ray.errors import InvalidVector
from hindsight_ray.ports import Ledger, MemoryStore, Unit, Vector
from tests.records import memory_of, name_of, put, rows, vector_of
from tests.worlds import START, TENANT


class Undo(Exception):
    """Leaves a unit so that nothing of it stays."""


@dataclass
class Stores:
    ledger: Ledger
    store: MemoryStore

    async def nearest(
        self, row_filter: RowFilter | None = None, vector: Vector | None = None, *, limit: int = 10
    ) -> list[Near]:
        async with self.ledger.reading() as unit:
            return await self.within(unit, row_filter, vector, limit=limit)

    async def within(
        self,
        unit: Unit,
        row_filter: RowFilter | None = None,
        vector: Vector | None = None,
        *,
        limit: int = 10,
    ) -> list[Near]:
        asked = vector_of(1.0) if vector is None else vector
        return list(await self.store.nearest(unit, row_filter or rows(), asked, limit=limit))


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncGenerator[Stores]:
    ledger = await SqlLedger.open(tmp_path / "ledger.sqlite3")
    store = EmbeddedStore()
    yield Stores(ledger, store)
    await store.close()
    await ledger.close()


def names(found: list[Near]) -> list[str]:
    return [near.ref.id for near in found]


async def test_the_nearest_come_first_with_their_cosine(stores: Stores) -> None:
    async with stores.ledger.writing() as unit:
        await put(unit, memory_of("right"), vector_of(0.0, 5.0))
        await put(unit, memory_of("same"), vector_of(3.0))
        await put(unit, memory_of("half"), vector_of(1.0, 1.0))
        await put(unit, memory_of("against"), vector_of(-1.0))
    found = await stores.nearest()
    assert names(found) == [name_of(word) for word in ("same", "half", "right", "against")]
    assert [near.similarity for near in found] == pytest.approx([1.0, 0.5**0.5, 0.0, -1.0])
    assert all(-1.0 <= near.similarity <= 1.0 for near in found)
    assert names(await stores.nearest(limit=2)) == names(found)[:2]


async def test_an_empty_home_or_filter_finds_nothing(stores: Stores) -> None:
    assert await stores.nearest() == []
    async with stores.ledger.writing() as unit:
        await put(unit, memory_of("a"))
    assert await stores.nearest(rows(keys=frozenset())) == []
    assert await stores.nearest(rows(tenant="other")) == []
    assert await stores.nearest(limit=0) == []


@pytest.mark.parametrize(
    "vector", [np.ones(3, dtype=np.float32), vector_of(), vector_of(float("nan"))]
)
async def test_a_question_of_another_shape_is_refused(stores: Stores, vector: Vector) -> None:
    async with stores.ledger.writing() as unit:
        await put(unit, memory_of("a"))
    with pytest.raises(InvalidVector):
        await stores.nearest(None, vector)


async def test_rows_that_one_may_not_see_change_nothing_in_the_answer(stores: Stores) -> None:
    drawn = np.random.default_rng(3).standard_normal((60, 4)).astype(np.float32)
    async with stores.ledger.writing() as unit:
        mine = await unit.keys.ensure(TENANT, ("user:a",))
        for number in range(30):
            await put(unit, memory_of(f"m{number}", scope="user:a"), drawn[number % 7])
    narrow = rows(keys=frozenset({mine}), denied_labels=frozenset({"secret"}))
    before = await stores.nearest(narrow, drawn[0])
    async with stores.ledger.writing() as unit:
        for number in range(30, 60):
            await put(unit, memory_of(f"m{number}", scope="user:b"), drawn[number])
            hidden = memory_of(f"s{number}", scope="user:a", labels=("secret",))
            await put(unit, hidden, drawn[number])
        await put(unit, memory_of("foreign", tenant="other"), drawn[0])
    assert await stores.nearest(narrow, drawn[0]) == before


async def test_only_the_current_revision_is_found(stores: Stores) -> None:
    async with stores.ledger.writing() as unit:
        await put(unit, memory_of("a"), vector_of(1.0))
    assert [near.ref.revision for near in await stores.nearest()] == [1]
    async with stores.ledger.writing() as unit:
        await put(unit, memory_of("a", revision=2), vector_of(0.0, 1.0))
    (near,) = await stores.nearest()
    assert (near.ref.revision, near.similarity) == (2, pytest.approx(0.0))
    async with stores.ledger.writing() as unit:
        await unit.memories.forget(TENANT, name_of("a"), by="b", why="w", at=START)
    assert await stores.nearest() == []


async def test_a_snapshot_finds_the_revisions_of_its_time(stores: Stores) -> None:
    """Also where it lies between two states that the store has seen, and was not asked before."""
    async with stores.ledger.writing() as unit:
        await put(unit, memory_of("a"))
    await stores.nearest()
    async with stores.ledger.writing() as unit:
        await put(unit, memory_of("a", revision=2))
        await put(unit, memory_of("b"))
    async with stores.ledger.reading() as held:
        await held.memories.change_number(TENANT)
        async with stores.ledger.writing() as unit:
            await put(unit, memory_of("a", revision=3))
            await unit.memories.forget(TENANT, name_of("b"), by="b", why="w", at=START)
        assert [near.ref.revision for near in await stores.nearest()] == [3]
        found = await stores.within(held)
        assert {(near.ref.id, near.ref.revision) for near in found} == {
            (name_of("a"), 2),
            (name_of("b"), 1),
        }
        matches = await held.memories.keyword_matches(rows(), ["a", "b"])
        assert matches.documents == 2


async def test_what_a_writer_has_not_committed_only_it_can_find(stores: Stores) -> None:
    async with stores.ledger.writing() as unit:
        await put(unit, memory_of("a"))
    with contextlib.suppress(Undo):
        async with stores.ledger.writing() as unit:
            await put(unit, memory_of("b"))
            assert len(await stores.within(unit)) == 2
            assert names(await stores.nearest()) == [name_of("a")]
            raise Undo
    async with stores.ledger.writing() as unit:
        await put(unit, memory_of("c"))
    assert set(names(await stores.nearest())) == {name_of("a"), name_of("c")}


async def test_a_store_sees_what_another_process_wrote(stores: Stores, tmp_path: Path) -> None:
    await stores.nearest()
    other = await SqlLedger.open(tmp_path / "ledger.sqlite3")
    async with other.writing() as unit:
        await put(unit, memory_of("a"))
    await other.close()
    assert names(await stores.nearest()) == [name_of("a")]


async def test_equal_vectors_come_in_the_order_of_their_ids_wherever_they_lie(
    stores: Stores,
) -> None:
    drawn = np.random.default_rng(5).standard_normal(4).astype(np.float32)
    async with stores.ledger.writing() as unit:
        for number in range(50):
            await put(unit, memory_of(f"m{number}"), drawn)
    found = await stores.nearest(None, drawn, limit=20)
    assert names(found) == sorted(name_of(f"m{number}") for number in range(50))[:20]


async def test_searches_beside_writers_each_answer_at_their_own_snapshot(stores: Stores) -> None:
    async def write(name: str) -> None:
        for number in range(30):
            async with stores.ledger.writing() as unit:
                await put(unit, memory_of(f"{name} {number}"))
                if number:
                    previous = name_of(f"{name} {number - 1}")
                    await unit.memories.forget(TENANT, previous, by="b", why="w", at=START)

    async def search() -> None:
        for _ in range(30):
            async with stores.ledger.reading() as unit:
                count = await unit.memories.count(rows())
                found = await stores.within(unit)
                matches = await unit.memories.keyword_matches(rows(), ["one", "two"])
                current = await unit.memories.current(TENANT, names(found))
                assert len(found) == len(matches.lengths) == matches.documents == count
                assert set(current) == set(names(found))

    await asyncio.gather(write("one"), write("two"), search(), search(), search())
