"""Erasing where rows and vectors lie on servers: every interface is asked for what was erased."""

import json
import urllib.request
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from hindsight_ray.adapters.ledger.sql.postgres import Server
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.erasure import Erased
from hindsight_ray.errors import NotFound, Unfinished
from hindsight_ray.service import settle
from tests import stores
from tests.asking import ask
from tests.canaries import PLACES, canary, planted
from tests.ledgers import new_database
from tests.servers.postgres import Postgres
from tests.servers.weaviate import Weaviate
from tests.stores import PickyStore
from tests.worlds import TENANT, Staged, world

HASHED = HashedEmbedder().space
LONG_AGO = timedelta(0)


@pytest.fixture
def address(postgres_server: Postgres) -> str:
    return new_database(postgres_server)


@pytest.fixture
async def home(tmp_path: Path, address: str, weaviate_server: Weaviate) -> AsyncGenerator[Staged]:
    store = stores.weaviate_store(weaviate_server, HASHED)
    server = Server(address, "the test's own server")
    async with world(tmp_path / "home", store=store, database=server) as staged:
        yield staged


def _said_in_the_database(address: str) -> dict[str, set[str]]:
    """Which canaries any row of any table says, asked in plain SQL."""
    found: dict[str, set[str]] = {}
    with psycopg.connect(address) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        ).fetchall()
        for (table,) in tables:
            rows = connection.execute(f'SELECT t::text FROM "{table}" t').fetchall()  # noqa: S608
            text = "\n".join(row[0] for row in rows)
            hits = {place for place in PLACES if f"zq{place}xv" in text}
            if hits:
                found[table] = hits
    return found


def _objects(weaviate: Weaviate, collection: str, place: str) -> list[dict[str, Any]]:
    """Every object of a place, with its vector, by the server's own interface."""
    if place not in _places(weaviate, collection):
        return []  # another test's, of another model
    asked = urllib.request.Request(
        f"{weaviate.url}/v1/objects?class={collection}&tenant={place}&limit=1000&include=vector",
        headers={"Authorization": f"Bearer {weaviate.api_key}"},
    )
    with urllib.request.urlopen(asked) as answer:
        return list(json.load(answer)["objects"])


def _places(weaviate: Weaviate, collection: str) -> list[str]:
    asked = urllib.request.Request(
        f"{weaviate.url}/v1/schema/{collection}/tenants",
        headers={"Authorization": f"Bearer {weaviate.api_key}"},
    )
    with urllib.request.urlopen(asked) as answer:
        return [one["name"] for one in json.load(answer)]


def _collections(weaviate: Weaviate) -> list[str]:
    """Those that hold places; another test may have left one that holds none."""
    asked = urllib.request.Request(
        f"{weaviate.url}/v1/schema", headers={"Authorization": f"Bearer {weaviate.api_key}"}
    )
    with urllib.request.urlopen(asked) as answer:
        classes = json.load(answer)["classes"]
    return [one["class"] for one in classes if one["multiTenancyConfig"]["enabled"]]


@pytest.mark.covers("erase.servers")
async def test_no_interface_of_any_server_says_what_was_erased(
    home: Staged, address: str, weaviate_server: Weaviate
) -> None:
    ids = await planted(home)
    bob = await home.ticket(user="bob")
    kept = await ask(home, bob, c.Write, content="Bob likes short mails")
    said = _said_in_the_database(address)
    assert set().union(*said.values()) == set(PLACES)
    operator = await home.operator()
    proof: Erased = await ask(home, operator, c.Erase, user="alice")
    assert _said_in_the_database(address) == {}
    async with home.world.ledger.reading() as unit:
        place = await unit.intents.place(TENANT)
    assert place is not None
    left = [
        one
        for name in _collections(weaviate_server)
        for one in _objects(weaviate_server, name, place)
    ]
    assert len(left) == proof.remains.objects == 1
    (vector,) = await home.world.embedder.embed(["Bob likes short mails"], "passage")
    assert np.allclose(next(iter(left[0]["vectors"].values())), vector, atol=1e-6)
    for name in ("own", "acted", "promoted"):
        for kind in (c.Get, c.History, c.Explain):
            with pytest.raises(NotFound):
                await ask(home, operator, kind, memory_id=ids[name])
    found = await ask(home, operator, c.Search, query=canary("content"), k=100)
    assert [hit.memory.id for hit in found.hits] == list(kept.ids)
    assert (proof.remains.found, proof.remains.held_elsewhere) == ((), ())


@pytest.mark.covers("erase.servers")
async def test_the_proof_says_what_the_server_still_holds_and_until_when(
    home: Staged, address: str
) -> None:
    await planted(home)
    proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
    assert proof.remains.where == "server"
    stated = "\n".join(proof.remains.stated)
    with psycopg.connect(address) as connection:
        for setting in ("autovacuum_naptime", "checkpoint_timeout", "max_wal_size"):
            row = connection.execute(f"SHOW {setting}").fetchone()
            assert row is not None
            assert row[0] in stated
    for kind in ("row versions", "write-ahead log", "backups", "copies", "freed segments"):
        assert kind in stated


@pytest.mark.covers("erase.servers")
async def test_an_object_that_the_store_did_not_let_go_is_named_in_the_proof(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    store = Clinging(stores.weaviate_store(weaviate_server, HASHED))
    async with world(tmp_path / "home", store=store) as home:
        alice = await home.ticket(user="alice")
        wrote = await ask(home, alice, c.Write, content=canary("content"))
        store.clings = True
        proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
        assert proof.remains.found == (f"memory store: {wrote.ids[0]}",)
        store.clings = False
        again: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
        assert again.remains.found == ()


class Clinging(stores.WrappedStore):
    """Takes what is to be deleted for deleted, and keeps it."""

    clings = False

    async def delete(self, gone: Any) -> None:
        if not self.clings:
            await self.inner.delete(gone)


@pytest.mark.covers("erase.servers", "erase.bytes")
async def test_no_vector_of_an_erased_text_is_kept_for_a_store_that_refused_another(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    store = PickyStore(stores.weaviate_store(weaviate_server, HASHED))
    async with world(tmp_path / "home", store=store) as home:
        alice = await home.ticket(user="alice")
        wrote = await ask(home, alice, c.Write, content=canary("content"))
        store.refused = lambda ref: ref.revision == 2
        with pytest.raises(Unfinished):
            await ask(home, alice, c.Update, memory_id=wrote.ids[0], content="Something else")
        for _ in range(settle.ATTEMPTS_MAX):
            await settle.replay(home.world, idle=LONG_AGO)
        (vector,) = await home.world.embedder.embed([canary("content")], "passage")
        assert vector.tobytes() in _bytes(home.path)  # set aside, beside what was before
        await ask(home, await home.operator(), c.Erase, user="alice")
        assert vector.tobytes() not in _bytes(home.path)


def _bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
