"""What holds of a memory store that does not share the ledger's transaction, on a real server."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hindsight_ray.adapters.ledger.sql import scopes
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.weaviate import connection, schema
from hindsight_ray.adapters.stores.weaviate import store as store_module
from hindsight_ray.adapters.stores.weaviate.connection import Server
from hindsight_ray.adapters.stores.weaviate.hot import HotPlaces
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Forget, Search, Update, Write
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.rows import EmbeddingSpace, Near, RowFilter
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import (
    HomeInvalid,
    SpaceMismatch,
    Unavailable,
    Unfinished,
)
from hindsight_ray.ports import MemoryStore, Placed, Unit, Vector
from hindsight_ray.service import foreseen, settle
from tests import stores, worlds
from tests.servers.process import free_ports
from tests.servers.weaviate import Weaviate
from tests.stores import FOUR, ParkedStore, PickyStore, WrappedStore
from tests.worlds import TENANT, SetClock, Staged

HASHED = HashedEmbedder().space
NOW = timedelta(0)


@pytest.fixture
def store(weaviate_server: Weaviate) -> WeaviateStore:
    return stores.weaviate_store(weaviate_server, HASHED)


@pytest.fixture
async def staged(tmp_path: Path, store: WeaviateStore) -> AsyncGenerator[Staged]:
    async with worlds.world(tmp_path, store=store) as made:
        yield made


def written(command_id: str, content: str, **fields: Any) -> Write:
    given = {"type": "fact", "confidence": 0.9} | fields
    return Write.model_validate({"command_id": command_id, "content": content} | given)


async def receipt(staged: Staged, token: str, command: Any) -> Receipt:
    answer = await staged.ask(token, command)
    assert isinstance(answer, Receipt)
    return answer


async def texts(staged: Staged, token: str, query: str, **fields: Any) -> list[str]:
    found = await staged.ask(token, Search(query=query, **fields))
    assert isinstance(found, Found)
    return [hit.memory.content for hit in found.hits]


async def closed(staged: Staged) -> None:
    await staged.jobs.finish()
    await settle.finish(staged.world)


async def counts(staged: Staged, tenant: str = TENANT) -> tuple[int, int]:
    """(open intents, objects in the store), once all is closed that can be."""
    await closed(staged)
    async with staged.world.ledger.reading() as unit:
        place = await unit.intents.place(tenant)
        waiting = await unit.intents.count()
    held = () if place is None else await staged.world.store.held(place)
    return waiting, len(held)


# Closing


@pytest.mark.covers("store.sweep")
async def test_what_was_told_is_closed_in_parts_to_the_last(
    staged: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "CLOSED_MAX", 2)
    token = await staged.ticket(agent="planner", user="alice")
    for number in range(5):
        await receipt(staged, token, written(f"w{number}", f"Region {number} is in Dublin"))
    assert len(staged.world.settling.waiting) == 5
    assert await counts(staged) == (0, 5)


# Finding


@pytest.mark.covers("store.at_once")
async def test_every_route_finds_a_memory_as_soon_as_its_write_has_returned(staged: Staged) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    for number in range(20):
        text = f"Checkout of region {number} answers in {number * 7} ms"
        kept = await receipt(staged, token, written(f"w{number}", text))
        found = await staged.ask(token, Search(query=text))
        assert isinstance(found, Found)
        assert found.hits[0].memory.id == kept.ids[0]
        assert {"vector", "keyword"} <= set(found.hits[0].routes)
        assert not found.degraded
    assert await counts(staged) == (0, 20)


@pytest.mark.covers("G1.search", "G1.tenants")
async def test_two_users_and_two_tenants_find_their_own(staged: Staged) -> None:
    alice = await staged.ticket(agent="planner", user="alice")
    bob = await staged.ticket(agent="planner", user="bob")
    other = await staged.ticket(agent="planner", user="alice", tenant="umbrella")
    await receipt(staged, alice, written("a", "Alice's card ends in 1111"))
    await receipt(staged, bob, written("b", "Bob's card ends in 2222"))
    await receipt(staged, other, written("c", "Umbrella's card ends in 3333"))
    assert await texts(staged, alice, "card ends in") == ["Alice's card ends in 1111"]
    assert await texts(staged, bob, "card ends in") == ["Bob's card ends in 2222"]
    assert await texts(staged, other, "card ends in") == ["Umbrella's card ends in 3333"]


async def test_changes_and_forgetting_leave_one_object_or_none(staged: Staged) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    kept = await receipt(staged, token, written("a", "The database is in Dublin"))
    for number in range(3):
        change = Update(
            command_id=f"u{number}", memory_id=kept.ids[0], content=f"The database is in {number}"
        )
        await receipt(staged, token, change)
        assert await texts(staged, token, "Where is the database?") == [change.content]
    assert await counts(staged) == (0, 1)
    await receipt(staged, token, Forget(command_id="f", memory_id=kept.ids[0]))
    assert await texts(staged, token, "Where is the database?") == []
    assert await counts(staged) == (0, 0)


async def test_a_place_that_was_lost_is_compared_in_the_ledger(
    staged: Staged, store: WeaviateStore
) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    await receipt(staged, token, written("a", "The database is in Dublin"))
    await closed(staged)
    async with staged.world.ledger.reading() as unit:
        place = await unit.intents.place(TENANT)
    assert place is not None
    await store.leave(place)
    found = await staged.ask(token, Search(query="The database is in Dublin"))
    assert isinstance(found, Found)
    assert "vector" in found.hits[0].routes
    await receipt(staged, token, written("b", "The gateway is in Paris"))
    assert len(await texts(staged, token, "in Dublin or Paris")) == 2


# Between the two steps


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


@pytest.mark.covers("store.sweep")
async def test_objects_that_nobody_counts_are_swept(staged: Staged, store: WeaviateStore) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    kept = await receipt(staged, token, written("a", "The database is in Dublin"))
    async with staged.world.ledger.reading() as unit:
        (opened,) = await unit.intents.waiting(limit=5, until=worlds.START) or (None,)
    assert opened is not None
    assert opened.put is not None
    await receipt(
        staged, token, Update(command_id="u", memory_id=kept.ids[0], content="It is in Oslo")
    )
    await closed(staged)
    await store.put([opened.put])  # whoever wrote it first goes on only now
    assert await counts(staged) == (0, 2)
    assert await texts(staged, token, "The database is in Dublin") == ["It is in Oslo"]
    place, more = opened.placed.place, settle.BATCH + 10  # than one page
    foreign = [MemoryRef(id=MemoryUuid(str(uuid4())), revision=1) for _ in range(more)]
    await store.put([replace(opened.put, placed=Placed(place, ref)) for ref in foreign])
    first = await store.held(place, limit=100)
    rest = await store.held(place, after=first[-1])
    assert len(first) == 100
    assert len(rest) == more + 2 - 100
    assert {*first, *rest} == {*await store.held(place)}
    assert await settle.sweep(staged.world, TENANT) == more + 1
    assert await counts(staged) == (0, 1)
    assert await settle.sweep(staged.world, TENANT) == 0


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


# Poison


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


# Tenants


class _Asked(WrappedStore):
    """Counts how often it is asked what is near."""

    times = 0

    async def nearest(
        self, unit: Unit, row_filter: RowFilter, vector: Vector, *, limit: int
    ) -> Sequence[Near]:
        self.times += 1
        return await super().nearest(unit, row_filter, vector, limit=limit)


@pytest.mark.covers("store.few")
@pytest.mark.parametrize(
    ("few", "asked"),
    [((foreseen.FEW, 0), 0), ((1, scopes.ROWS_PER_ASKING), 0), ((1, 0), 1)],
    ids=["few", "kept", "many"],
)
async def test_a_statement_is_compared_with_few_rows_in_the_ledger_with_many_by_the_store(
    tmp_path: Path,
    store: WeaviateStore,
    monkeypatch: pytest.MonkeyPatch,
    few: tuple[int, int],
    asked: int,
) -> None:
    monkeypatch.setattr(foreseen, "FEW", few[0])
    monkeypatch.setattr(scopes, "ROWS_PER_ASKING", few[1])
    counting = _Asked(store)
    async with worlds.world(tmp_path, store=counting) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        first = await receipt(staged, token, written("a", "The database is in Dublin"))
        await receipt(staged, token, written("b", "Bob prefers tea at noon"))
        counting.times = 0
        again = await receipt(staged, token, written("c", "The database is in Dublin"))
        assert (again.result, again.ids) == ("duplicate", first.ids)
        assert counting.times == asked


async def test_while_changes_come_the_servers_connection_is_never_idle(
    staged: Staged, store: WeaviateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    asked_s: list[float] = []
    now_s = 0.0
    ready = connection.Reached.ready

    async def counted(reached: connection.Reached) -> object:
        asked_s.append(now_s)
        return await ready(reached)

    monkeypatch.setattr(connection.Reached, "ready", counted)
    monkeypatch.setattr(store_module, "_seconds", lambda: now_s)
    for number in range(20):
        now_s += 0.9
        await receipt(staged, token, written(f"w{number}", f"Gate {number} is open"))
    gaps = [later - earlier for earlier, later in pairwise([0.9, *asked_s, now_s])]
    assert max(gaps) < 6
    assert len(set(asked_s)) < 10
    assert store.life == 0


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


# Collections


@pytest.mark.covers("store.space", "G8.pinned")
async def test_a_collection_of_another_dimension_is_refused(weaviate_server: Weaviate) -> None:
    first = stores.weaviate_store(weaviate_server, replace(FOUR, model="pinned"))
    await first.check()
    await first.close()
    other = stores.weaviate_store(weaviate_server, replace(FOUR, model="pinned", dimension=8))
    with pytest.raises(SpaceMismatch, match="'pinned' with 4"):
        await other.check()


@pytest.mark.covers("store.space")
async def test_a_collection_of_something_else_is_refused(weaviate_server: Weaviate) -> None:
    reached = await connection.connected(stores.server_of(weaviate_server))
    await reached.client.collections.create(schema.collection_name("taken"))
    await reached.close()
    store = stores.weaviate_store(weaviate_server, replace(FOUR, model="taken"))
    with pytest.raises(HomeInvalid, match="something else"):
        await store.check()


def test_models_never_share_a_collection() -> None:
    names = [
        "a/b", "a_b", "a-b", "a.b", "A/b", "a_2f_b", "a", "", "ä", "x" * 300, "x" * 299 + "y",
        "text-embedding-3-small", "text_embedding_3_small",
    ]  # fmt: skip
    made = [schema.collection_name(name) for name in names]
    assert len(set(made)) == len(names)
    assert all(name.isascii() and len(name) < 250 for name in made)


# Servers


@asynccontextmanager
async def answering(respond: Callable[[str], tuple[int, dict[str, str]]]) -> AsyncGenerator[str]:
    """A server of ours that answers each path with a status and a JSON document."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                status, document = respond(head.split()[1].decode())
                body = json.dumps(document).encode()
                writer.write(
                    f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n"
                    f"content-length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            served.set()

    served = asyncio.Event()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
        await served.wait()


async def refusal(url: str, **fields: Any) -> tuple[Unavailable, float]:
    store = WeaviateStore(Server(url, **fields), EmbeddingSpace("four", 4, 0.9, 0.8))
    begun = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        await store.check()
    await store.close()
    return caught.value, time.monotonic() - begun


@pytest.mark.covers("store.server")
async def test_a_server_that_is_away_is_named_with_the_remedy() -> None:
    (port,) = free_ports(1)
    error, seconds = await refusal(f"http://127.0.0.1:{port}")
    assert f"127.0.0.1:{port}" in error.message
    assert "weaviate_url" in error.message
    assert seconds < 10


@pytest.mark.covers("store.server")
async def test_a_server_that_never_answers_is_given_up_within_ten_seconds() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        error, seconds = await refusal(f"http://127.0.0.1:{port}")
    assert str(port) in error.message
    assert seconds < 10


@pytest.mark.covers("store.server")
async def test_a_server_that_is_too_old_is_refused_by_name() -> None:
    def respond(path: str) -> tuple[int, dict[str, str]]:
        return (200, {"version": "1.33.3", "hostname": "x"}) if "meta" in path else (200, {})

    async with answering(respond) as url:
        error, _ = await refusal(url, key="k")
    assert "Weaviate 1.33.3; 1.33.4 or newer is needed" in error.message
    assert url in error.message


@pytest.mark.covers("store.server")
async def test_a_half_started_server_is_not_taken_for_a_ready_one() -> None:
    async with answering(lambda _path: (503, {})) as url:
        error, _ = await refusal(url)
    assert "is not ready" in error.message


@pytest.mark.covers("store.server")
@pytest.mark.parametrize("key", ["", "wrong"])
async def test_a_server_that_refuses_the_key_names_where_the_key_comes_from(
    weaviate_server: Weaviate, key: str
) -> None:
    error, seconds = await refusal(
        weaviate_server.url, grpc_port=weaviate_server.grpc_port, key_name="MY_KEY", key=key
    )
    assert "refuses this key; set `$MY_KEY`" in error.message
    assert seconds < 10


# Outage


def store_settings(**fields: Any) -> Settings:
    return Settings.model_validate({"lock_wait_s": 5.0, "store": "weaviate"} | fields)


class _AwayStore(WrappedStore):
    """A server that is down: nothing gets through."""

    away = True

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner)

    async def check(self, *, surely: bool = False) -> None:
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
async def test_or_it_is_queued_within_its_bound_and_done_afterwards(
    tmp_path: Path, store: WeaviateStore
) -> None:
    wrapped = _AwayStore(store)
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
