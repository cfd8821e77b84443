"""What becomes of a change between its two steps, in the ledger and in a store apart from it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.domain.commands import Forget, Update
from hindsight_ray.errors import (
    Unavailable,
    Unfinished,
)
from hindsight_ray.service import settle
from tests import stores, worlds
from tests.apart import HASHED, NOW, closed, counts, receipt, texts, written
from tests.servers.weaviate import Weaviate
from tests.stores import ParkedStore, PickyStore, WrappedStore
from tests.worlds import TENANT


@pytest.mark.covers("store.thaw", "G3.faults")
async def test_a_writer_frozen_between_ledger_and_store_loses_nobodys_change(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    frozen_store = ParkedStore(stores.weaviate_store(weaviate_server, HASHED))
    free_store = stores.weaviate_store(weaviate_server, HASHED)
    async with (
        worlds.world(tmp_path, store=frozen_store) as frozen,
        worlds.world(tmp_path, store=free_store) as free,
    ):
        token = await free.ticket(agent="planner", user="alice")
        kept = await receipt(free, token, written("a", "The database is in Dublin"))
        async with frozen_store.parked():
            first = asyncio.create_task(
                receipt(
                    frozen, token,
                    Update(command_id="u1", memory_id=kept.ids[0], content="It moved to Oslo"),
                )
            )  # fmt: skip
            await asyncio.wait_for(frozen_store.arrived.wait(), 30)
            # Committed, so it counts for everybody, though the store has not heard of it.
            assert await texts(free, token, "Oslo") == ["It moved to Oslo"]
            assert not first.done()
            await receipt(
                free, token,
                Update(command_id="u2", memory_id=kept.ids[0], content="It moved on to Rome"),
            )  # fmt: skip
            await receipt(free, token, written("b", "The gateway is in Paris"))
            await closed(free)
        assert (await first).result == "stored"
        await closed(frozen)
        for one in (frozen, free):
            assert set(await texts(one, token, "Where did it move?")) == {
                "It moved on to Rome", "The gateway is in Paris",
            }  # fmt: skip
        assert await settle.sweep(free.world, TENANT) <= 1
        assert await counts(free) == (0, 2)


class _DownStore(WrappedStore):
    """Takes nothing while `down`, as a server that has gone away between two calls."""

    down = False

    async def put(self, objects: Any) -> None:
        if self.down:
            raise Unavailable("the memory store is away")
        await super().put(objects)


@pytest.mark.covers("store.outage")
async def test_what_was_committed_while_the_store_went_away_is_unfinished_and_then_done(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    store = _DownStore(stores.weaviate_store(weaviate_server, HASHED))
    async with worlds.world(tmp_path, store=store) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        store.down = True
        command = written("a", "The database is in Dublin")
        with pytest.raises(Unfinished, match="`command_id` 'a'"):
            await staged.ask(token, command)
        assert await counts(staged) == (1, 0)
        assert await texts(staged, token, "Where is the database?") == ["The database is in Dublin"]
        store.down = False
        assert (await receipt(staged, token, command)).result == "stored"
    async with worlds.world(
        tmp_path, store=stores.weaviate_store(weaviate_server, HASHED)
    ) as again:
        await settle.replay_all(again.world, idle=NOW)
        assert await counts(again) == (0, 1)


async def test_what_another_writer_left_open_is_done_by_whoever_closes_later(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    store = _DownStore(stores.weaviate_store(weaviate_server, HASHED))
    async with worlds.world(tmp_path, store=store) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        store.down = True
        with pytest.raises(Unfinished):
            await staged.ask(token, written("a", "The database is in Dublin"))
        store.down = False
        staged.clock.advance(minutes=1)
        await receipt(staged, token, written("b", "The gateway is in Paris"))
        assert await counts(staged) == (0, 2)


@pytest.mark.covers("store.begin")
async def test_a_home_that_changes_its_store_tells_the_new_one_of_all_there_is(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    async with worlds.world(tmp_path) as before:
        token = await before.ticket(agent="planner", user="alice")
        kept = await receipt(before, token, written("a", "The database is in Dublin"))
        await receipt(before, token, written("b", "The gateway is in Paris"))
        gone = await receipt(before, token, written("c", "Nobody needs to know of this"))
        await receipt(before, token, Forget(command_id="f", memory_id=gone.ids[0]))
    store = stores.weaviate_store(weaviate_server, HASHED)
    async with worlds.world(tmp_path, store=store) as after:
        async with after.world.ledger.writing() as unit:
            assert await unit.intents.told_to() == ""
            assert await unit.intents.tell_all("there") == 2
        assert len(await texts(after, token, "in Dublin or Paris")) == 2
        await settle.replay_all(after.world)
        assert await counts(after) == (0, 2)
        change = Update(command_id="u", memory_id=kept.ids[0], content="It is in Oslo")
        await receipt(after, token, change)
        assert set(await texts(after, token, "in Oslo or Paris")) == {
            "It is in Oslo", "The gateway is in Paris",
        }  # fmt: skip


@pytest.mark.covers("store.poison")
async def test_an_object_that_is_never_taken_is_set_aside_and_what_was_before_returns(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    store = PickyStore(stores.weaviate_store(weaviate_server, HASHED))
    async with worlds.world(tmp_path, store=store) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        kept = await receipt(staged, token, written("a", "The database is in Dublin"))
        store.refused = lambda ref: ref.revision == 2
        change = Update(command_id="u", memory_id=kept.ids[0], content="It is in Oslo")
        with pytest.raises(Unfinished):
            await staged.ask(token, change)
        for _ in range(settle.ATTEMPTS_MAX - 1):
            assert await texts(staged, token, "It is in Oslo") == ["It is in Oslo"]
            await settle.replay(staged.world, idle=NOW)
        assert store.tries == settle.ATTEMPTS_MAX
        await settle.replay_all(staged.world, idle=NOW)
        assert store.tries == settle.ATTEMPTS_MAX
        assert await texts(staged, token, "Where is it?") == ["The database is in Dublin"]
        assert await counts(staged) == (0, 1)
        async with staged.world.ledger.reading() as unit:
            notes = await unit.memories.history(TENANT, kept.ids[0])
        assert [note.revision for note in notes] == [1, 2, 3]
        assert "no such prop" in notes[-1].why


@pytest.mark.covers("store.poison")
async def test_a_new_memory_that_is_never_taken_is_gone_and_says_why(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    store = PickyStore(stores.weaviate_store(weaviate_server, HASHED))
    async with worlds.world(tmp_path, store=store) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        store.refused = lambda _ref: True
        with pytest.raises(Unfinished):
            await staged.ask(token, written("a", "The database is in Dublin"))
        for _ in range(settle.ATTEMPTS_MAX + 1):
            await settle.replay(staged.world, idle=NOW)
        assert store.tries == settle.ATTEMPTS_MAX
        assert await texts(staged, token, "Where is the database?") == []
        assert await counts(staged) == (0, 0)
