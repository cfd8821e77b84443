"""What a unit of work says it has still to tell a store is what anybody else reads of it later."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest

from hindsight_ray.domain.memory import Scene
from hindsight_ray.errors import RevisionConflict
from hindsight_ray.ports import Intent
from tests.ledgers import Ledgers
from tests.records import memory_of, name_of, put, vector_of
from tests.worlds import START, TENANT

LATER = START + timedelta(hours=1)


def plain(intent: Intent) -> dict[str, Any]:
    """Comparable: an array is not."""
    told = asdict(intent)
    if intent.put is not None:
        told["put"]["vector"] = intent.put.vector.tolist()
    return told


async def test_what_a_unit_opened_is_what_is_read_of_it_afterwards(ledgers: Ledgers) -> None:
    lesson = memory_of(
        "lesson", type="experience", scene=Scene(task_type="deploy"), labels=("b", "a"),
        expires_at=LATER,
    )  # fmt: skip
    async with ledgers.opened(store_apart=True) as ledger:
        async with ledger.writing() as unit:
            for word in ("changed", "marked", "gone"):
                await put(unit, memory_of(word))
        async with ledger.writing() as unit:
            await put(unit, lesson, vector_of(3.0, 4.0))
            await put(unit, memory_of("changed", revision=2, updated_at=LATER), vector_of(0.0, 1.0))
            await put(unit, memory_of("twice"))
            await put(unit, memory_of("twice", revision=2, updated_at=LATER), vector_of(0.0, 2.0))
            key = await unit.keys.ensure(TENANT, ("global",))
            marked = memory_of("marked", status="outdated", revision=2, updated_at=LATER)
            await unit.memories.put(marked, None, key=key, terms={}, by="a", why="b")
            await unit.memories.forget(TENANT, name_of("gone"), by="a", why="b", at=LATER)
            opened = await unit.intents.opened()
        async with ledger.reading() as unit:
            read = await unit.intents.again([intent.number for intent in opened])
    assert [plain(intent) for intent in opened] == [plain(intent) for intent in read]
    puts = [intent.put is not None for intent in opened]
    assert puts == [True, True, False, True, True, False]


async def test_what_was_undone_within_a_unit_is_told_to_no_store(ledgers: Ledgers) -> None:
    async with ledgers.opened(store_apart=True) as ledger, ledger.writing() as unit:
        with pytest.raises(RevisionConflict):
            async with unit.step():
                await put(unit, memory_of("undone"))
                await put(unit, memory_of("undone"))
        await put(unit, memory_of("kept"))
        opened = await unit.intents.opened()
    assert [intent.placed.ref.id for intent in opened] == [name_of("kept")]


@pytest.mark.covers("store.lost")
async def test_what_is_settled_can_be_told_anew_and_what_is_open_stays_as_it_is(
    ledgers: Ledgers,
) -> None:
    async with ledgers.opened(store_apart=True) as ledger:
        async with ledger.writing() as unit:
            for word in ("told", "gone", "open"):
                await put(unit, memory_of(word))
            assert await unit.intents.settled(TENANT) == []
        async with ledger.writing() as unit:
            opened = await unit.intents.waiting(limit=9, until=LATER)
            await unit.intents.close([intent.number for intent in opened])
            await put(unit, memory_of("open", revision=2, updated_at=LATER))
            await unit.memories.forget(TENANT, name_of("gone"), by="a", why="b", at=LATER)
            settled = await unit.intents.settled(TENANT)
            assert [(ref.id, ref.revision) for ref in settled] == [(name_of("told"), 1)]
            words = ("told", "open", "gone", "never")
            assert await unit.intents.tell(TENANT, [name_of(word) for word in words]) == 1
            assert await unit.intents.settled(TENANT) == []
            waiting = await unit.intents.waiting(limit=9, until=START)
    assert [intent.placed.ref.id for intent in waiting] == [name_of("told")]
    (intent,) = waiting
    assert intent.put is not None
    assert intent.put.vector.tolist() == vector_of(1.0).tolist()
