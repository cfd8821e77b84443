"""What a home answers while its memory store is away."""

from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Search
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import (
    Unavailable,
    Unfinished,
)
from hindsight_ray.ports import MemoryStore
from hindsight_ray.service import settle
from tests import worlds
from tests.apart import NOW, counts, receipt, texts, written
from tests.stores import WrappedStore
from tests.worlds import SetClock


def store_settings(**fields: Any) -> Settings:
    return Settings.model_validate({"lock_wait_s": 5.0, "store": "weaviate"} | fields)


class _AwayStore(WrappedStore):
    """A server that is down: nothing gets through."""

    away = True
    ready = False  # though it takes nothing

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner)

    async def check(self, *, surely: bool = False) -> None:
        if not self.ready:
            self._raise()

    async def nearest(self, *_args: Any, **_options: Any) -> Any:
        self._raise()
        return await super().nearest(*_args, **_options)

    async def put(self, objects: Any) -> None:
        self._raise()
        await super().put(objects)

    async def delete(self, gone: Any) -> None:
        self._raise()
        await super().delete(gone)

    def _raise(self) -> None:
        if self.away:
            raise Unavailable("the memory store is away")


@pytest.mark.covers("store.outage")
async def test_while_the_store_is_down_a_change_is_refused_and_words_still_find(
    tmp_path: Path, store: WeaviateStore
) -> None:
    wrapped = _AwayStore(store)
    wrapped.away = False
    async with worlds.world(tmp_path, store=wrapped) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        await receipt(staged, token, written("a", "The database is in Dublin"))
        wrapped.away = True
        with pytest.raises(Unavailable):
            await staged.ask(token, written("b", "The gateway is in Paris"))
        found = await staged.ask(token, Search(query="database Paris"))
        assert isinstance(found, Found)
        assert [hit.memory.content for hit in found.hits] == ["The database is in Dublin"]
        assert found.degraded == ("vector",)
        wrapped.away = False
        assert (await receipt(staged, token, written("b", "The gateway is in Paris"))).ids
        assert await counts(staged) == (0, 2)


@pytest.mark.covers("store.outage")
async def test_what_the_store_was_told_does_not_count_as_waiting(
    tmp_path: Path, store: WeaviateStore
) -> None:
    settings = store_settings(store_outage="queue", store_queue_max=2)
    async with worlds.world(tmp_path, store=store, settings=settings) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        for number in range(4):
            text = f"Region {number} is closed"
            assert (await receipt(staged, token, written(f"q{number}", text))).ids


@pytest.mark.covers("store.outage")
@pytest.mark.parametrize("ready", [False, True], ids=["away", "takes-nothing"])
async def test_or_it_is_queued_within_its_bound_and_done_afterwards(
    tmp_path: Path, store: WeaviateStore, ready: bool
) -> None:
    wrapped = _AwayStore(store)
    wrapped.ready = ready
    settings = store_settings(store_outage="queue", store_queue_max=3)
    clock = SetClock()
    async with worlds.world(tmp_path, store=wrapped, settings=settings, clock=clock) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        for number in range(3):
            with pytest.raises(Unfinished):
                await staged.ask(token, written(f"q{number}", f"Region {number} is closed"))
        with pytest.raises(Unavailable, match="3 changes"):
            await staged.ask(token, written("q3", "Region 3 is closed"))
        assert (await receipt(staged, token, written("q0", "Region 0 is closed"))).ids
        assert len(await texts(staged, token, "Which region is closed?")) == 3
        wrapped.away = False
        await settle.replay_all(staged.world, idle=NOW)
        assert await counts(staged) == (0, 3)


@pytest.mark.covers("store.outage")
async def test_a_store_that_is_back_is_told_at_once_however_many_wait(
    tmp_path: Path, store: WeaviateStore
) -> None:
    wrapped = _AwayStore(store)
    settings = store_settings(store_outage="queue", store_queue_max=1)
    async with worlds.world(tmp_path, store=wrapped, settings=settings) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        with pytest.raises(Unfinished):
            await staged.ask(token, written("a", "The gateway is in Paris"))
        with pytest.raises(Unavailable, match="1 changes"):
            await staged.ask(token, written("b", "The database is in Dublin"))
        wrapped.away = False
        assert (await receipt(staged, token, written("b", "The database is in Dublin"))).ids
