"""Tenants of a server: few are hot, a cold one wakes, one that is made anew is empty."""

from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.adapters.stores.weaviate import connection, schema
from hindsight_ray.adapters.stores.weaviate.hot import HotPlaces
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from tests import stores, worlds
from tests.apart import HASHED, closed, receipt, texts, written
from tests.servers.weaviate import Weaviate
from tests.worlds import TENANT, Staged


@pytest.mark.covers("store.hot")
async def test_a_bounded_number_of_tenants_is_hot_and_a_cold_one_wakes(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    store = stores.weaviate_store(weaviate_server, HASHED, hot_places=4)
    async with worlds.world(tmp_path, store=store) as staged:
        tokens = {}
        for number in range(12):
            tenant = f"tenant{number}"
            tokens[tenant] = await staged.ticket(agent="planner", user="alice", tenant=tenant)
            await receipt(staged, tokens[tenant], written("a", f"The database is in {tenant}"))
        await closed(staged)
        places = []
        for tenant in tokens:
            async with staged.world.ledger.reading() as unit:
                places.append(await unit.intents.place(tenant))
        assert await _hot(weaviate_server, places) <= 5
        for tenant, token in tokens.items():
            assert await texts(staged, token, "database") == [f"The database is in {tenant}"]


@pytest.mark.covers("store.hot")
async def test_what_a_process_left_hot_is_let_go_by_those_that_follow(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    tenants = [f"tenant{number}" for number in range(12)]
    before = stores.weaviate_store(weaviate_server, HASHED, hot_places=100)
    async with worlds.world(tmp_path, store=before) as staged:
        for tenant in tenants:
            token = await staged.ticket(agent="planner", user="alice", tenant=tenant)
            await receipt(staged, token, written("a", f"The database is in {tenant}"))
        await closed(staged)
    after = stores.weaviate_store(weaviate_server, HASHED, hot_places=4, hot_in_all=4)
    async with worlds.world(tmp_path, store=after) as staged:
        for tenant in tenants[:4]:
            token = await staged.ticket(agent="planner", user="alice", tenant=tenant)
            assert await texts(staged, token, "database") == [f"The database is in {tenant}"]
        async with staged.world.ledger.reading() as unit:
            places = [await unit.intents.place(tenant) for tenant in tenants]
        assert await _hot(weaviate_server, places) <= 5


def test_processes_share_the_hot_tenants_that_the_settings_allow() -> None:
    hot = HotPlaces(2)
    for place in ("a", "b"):
        with hot.used(place):
            pass
    assert hot.several
    assert hot.left(["x", "a", "y", "b", "z"], 3) == ["x", "y"]
    assert hot.left(["x", "a"], 3) == []
    assert hot.excess() == ()


async def _hot(running: Weaviate, places: list[str | None]) -> int:
    """How many of these places the server holds open, once it has let go of what it was told to."""
    reached = await connection.connected(stores.server_of(running))
    try:
        objects = reached.client.collections.use(schema.collection_name(HASHED.model))
        for _ in range(100):
            found = await objects.tenants.get()
            hot = [n for n, t in found.items() if n in places and t.activity_status == "ACTIVE"]
            if len(hot) <= 5:
                break
        return len(hot)
    finally:
        await reached.close()


@pytest.mark.covers("store.anew")
@pytest.mark.parametrize("cold", [False, True], ids=["hot", "cold"])
async def test_a_tenant_that_is_made_anew_is_empty(
    staged: Staged, store: WeaviateStore, weaviate_server: Weaviate, *, cold: bool
) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    await receipt(staged, token, written("a", "The database is in Dublin"))
    await closed(staged)
    async with staged.world.ledger.writing() as unit:
        place = await unit.intents.leave_place(TENANT)
        for name in await unit.memories.current(TENANT, [(await _only(unit))]):
            await unit.memories.forget(
                TENANT, name, by="agent:operator", why="all", at=worlds.START
            )
    assert place is not None
    if cold:
        reached = await connection.connected(stores.server_of(weaviate_server))
        objects = reached.client.collections.use(schema.collection_name(HASHED.model))
        await objects.tenants.deactivate([place])
        await reached.close()
    await store.leave(place)
    assert await store.held(place) == ()
    await receipt(staged, token, written("b", "The gateway is in Paris"))
    assert await texts(staged, token, "in Dublin or Paris") == ["The gateway is in Paris"]
    async with staged.world.ledger.reading() as unit:
        assert await unit.intents.place(TENANT) != place


async def _only(unit: Any) -> str:
    from tests.records import rows  # noqa: PLC0415

    (memory,) = await unit.memories.recent(rows(), limit=2)
    return str(memory.id)
