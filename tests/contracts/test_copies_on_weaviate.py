"""A copy is put back onto a real Weaviate, record by record; a dropped tenant leaves it empty."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import hindsight_ray as hr
from hindsight_ray import compose
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.weaviate import connection, schema
from hindsight_ray.domain.commands import DropTenant, Search, Write
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.service import settle
from tests import stores, worlds
from tests.records import START
from tests.servers.weaviate import Weaviate
from tests.worlds import TENANT

_KEY = "HINDSIGHT_COPIES_KEY"
_TEXTS = ("The gateway is in Paris", "The printer is on floor 3", "Bob prefers tea at noon")


@pytest.fixture
def choices(weaviate_server: Weaviate) -> Iterator[dict[str, Any]]:
    os.environ[_KEY] = weaviate_server.api_key
    yield {
        "store": "weaviate", "weaviate_url": weaviate_server.url, "embedding": "hashed",
        "weaviate_grpc_port": weaviate_server.grpc_port, "weaviate_api_key_env": _KEY,
    }  # fmt: skip
    del os.environ[_KEY]


@pytest.mark.covers("copy.same")
@pytest.mark.parametrize("source", ["embedded", "weaviate"])
async def test_a_copy_put_back_onto_weaviate_is_there_record_by_record(
    tmp_path: Path, weaviate_server: Weaviate, choices: dict[str, Any], source: str
) -> None:
    before = choices if source == "weaviate" else {"embedding": "hashed"}
    async with hr.open(tmp_path / "home", **before) as hindsight:
        memory = hindsight.as_caller(await hindsight.issue_ticket(tenant=TENANT, user="alice"))
        kept = [(await memory.write(text, type="fact")).ids[0] for text in _TEXTS]
        await memory.update(kept[1], content="The printer is on floor 9")
        await memory.forget(kept[2])
        hits = (await memory.search("Where is the printer?")).hits
    await compose.backup(tmp_path / "home", tmp_path / "copy")
    await compose.restore(tmp_path / "copy", tmp_path / "new", **choices)
    async with hr.open(tmp_path / "new") as hindsight:
        memory = hindsight.as_caller(await hindsight.issue_ticket(tenant=TENANT, user="alice"))
        again = (await memory.search("Where is the printer?")).hits
    assert [(h.memory, h.similarity) for h in again] == [(h.memory, h.similarity) for h in hits]
    assert {h.memory.id: h.memory.revision for h in again} == {kept[0]: 1, kept[1]: 2}
    counted, held = await _both(tmp_path / "new", weaviate_server)
    assert held == counted


async def _both(home: Path, running: Weaviate) -> tuple[set[MemoryRef], set[MemoryRef]]:
    """What the ledger counts, and what the server holds, once all has been told."""
    store = stores.weaviate_store(running, HashedEmbedder().space)
    async with worlds.world(home, store=store, policy=None) as staged:
        staged.clock.advance(days=3_000)  # later than whatever the home's own clock said
        await settle.replay_all(staged.world, idle=timedelta(0))
        async with staged.world.ledger.reading() as unit:
            place = await unit.intents.place(TENANT)
            assert await unit.intents.count() == 0
            every = RowFilter(tenant=TENANT, now=START, keys=None)
            found = await unit.memories.recent(every, limit=50)
        assert place is not None
        held = list(await store.held(place))
        assert len(held) == len(set(held))
        return {MemoryRef(id=one.id, revision=one.revision) for one in found}, set(held)


@pytest.mark.covers("tenant.dropped")
@pytest.mark.parametrize("cold", [False, True], ids=["hot", "cold"])
async def test_a_dropped_tenant_leaves_no_object_and_comes_back_empty(
    tmp_path: Path, weaviate_server: Weaviate, *, cold: bool
) -> None:
    store = stores.weaviate_store(weaviate_server, HashedEmbedder().space)
    async with worlds.world(tmp_path, store=store) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        command = {"command_id": "a", "content": _TEXTS[0], "type": "fact", "confidence": 0.9}
        await staged.ask(token, Write.model_validate(command))
        async with staged.world.ledger.reading() as unit:
            place = await unit.intents.place(TENANT)
        assert place is not None
        reached = await connection.connected(stores.server_of(weaviate_server))
        objects = reached.client.collections.use(
            schema.collection_name(HashedEmbedder().space.model)
        )
        if cold:
            await objects.tenants.deactivate([place])
        await staged.ask(await staged.operator(), DropTenant(tenant=TENANT))
        assert not await objects.tenants.exists(place)
        await reached.close()
        token = await staged.ticket(agent="planner", user="alice")
        found: Any = await staged.ask(token, Search(query=_TEXTS[0]))
        assert found.hits == ()
        await staged.ask(token, Write.model_validate(command | {"content": _TEXTS[1]}))
        found = await staged.ask(token, Search(query=_TEXTS[0]))
        assert [hit.memory.content for hit in found.hits] == [_TEXTS[1]]
        async with staged.world.ledger.reading() as unit:
            assert await unit.intents.place(TENANT) != place
