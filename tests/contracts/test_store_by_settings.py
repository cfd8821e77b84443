"""A home whose settings name a Weaviate: opened, used, left and opened again by public names."""

from pathlib import Path
from typing import Any

import pytest

import hindsight_ray as hr
from hindsight_ray.entry.doctor import examine
from hindsight_ray.errors import InvalidSettings, Unavailable, Unfinished
from tests.servers.process import free_ports
from tests.servers.weaviate import Weaviate

KEY = "HINDSIGHT_TEST_WEAVIATE_KEY"


def named(running: Weaviate, **fields: Any) -> dict[str, Any]:
    given = {
        "store": "weaviate",
        "weaviate_url": running.url,
        "weaviate_grpc_port": running.grpc_port,
        "weaviate_api_key_env": KEY,
        "embedding": "hashed",
    }
    return given | fields


@pytest.mark.covers("store.at_once", "store.begin")
async def test_a_home_keeps_its_store_and_finds_what_it_holds_there(
    tmp_path: Path, weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, weaviate_server.api_key)
    async with hr.open(tmp_path / "home", **named(weaviate_server)) as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
        memory = hindsight.as_caller(ticket)
        await memory.write("Alice wants dates as YYYY-MM-DD", type="preference", confidence=0.9)
        (hit,) = (await memory.search("how does Alice write dates?")).hits
        assert "vector" in hit.routes
    settings = (tmp_path / "home" / "settings.json").read_text(encoding="utf-8")
    assert KEY in settings
    assert weaviate_server.api_key not in settings
    async with hr.open(tmp_path / "home") as hindsight:
        memory = hindsight.as_caller(ticket)
        (again,) = (await memory.search("how does Alice write dates?")).hits
        assert again.memory.id == hit.memory.id
        assert "vector" in again.routes
    # The ledger has every vector, so the same home works without its server too, and goes back.
    async with hr.open(tmp_path / "home", store="embedded") as hindsight:
        memory = hindsight.as_caller(ticket)
        await memory.write("Alice signs as A. Example", type="preference", confidence=0.9)
        assert len((await memory.search("how does Alice sign, and write dates?")).hits) == 2
    async with hr.open(tmp_path / "home") as hindsight:
        memory = hindsight.as_caller(ticket)
        found = await memory.search("how does Alice sign, and write dates?")
        assert len(found.hits) == 2
        assert all("vector" in hit.routes for hit in found.hits)


@pytest.mark.covers("store.server")
async def test_a_key_that_is_not_set_and_a_server_that_is_away_are_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY, raising=False)
    (port,) = free_ports(1)
    away = Weaviate(f"http://127.0.0.1:{port}", 1, "", None)  # type: ignore[arg-type]
    with pytest.raises(InvalidSettings, match=KEY):
        async with hr.open(tmp_path / "home", **named(away)):
            pass
    with pytest.raises(Unavailable, match=f"127.0.0.1:{port}"):
        async with hr.open(tmp_path / "home", **named(away, weaviate_api_key_env="")):
            pass


@pytest.mark.covers("cli.doctor", "store.server")
async def test_the_doctor_says_how_the_store_stands(
    tmp_path: Path, weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, weaviate_server.api_key)
    async with hr.open(tmp_path / "home", **named(weaviate_server)):
        pass
    (store,) = [one for one in await examine(tmp_path / "home") if one.what == "memory store"]
    assert (store.state, store.next_step) == ("ok", "")
    assert "acknowledged, 40 of 40" in store.seen
    assert "by words" in store.seen  # a server as it comes has the fault, and searches are right
    monkeypatch.setenv(KEY, "wrong")
    (store,) = [one for one in await examine(tmp_path / "home") if one.what == "memory store"]
    assert store.state == "fault"
    assert f"set `${KEY}`" in store.seen
    assert "embedded" in store.next_step


@pytest.mark.covers("store.outage")
async def test_a_home_whose_changes_may_wait_is_opened_while_its_server_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "nobody asks for it")
    away, grpc = free_ports(2)
    choices = {
        "store": "weaviate", "weaviate_url": f"http://127.0.0.1:{away}",
        "weaviate_grpc_port": grpc, "weaviate_api_key_env": KEY, "embedding": "hashed",
    }  # fmt: skip
    with pytest.raises(Unavailable):
        async with hr.open(tmp_path / "refused", **choices):
            """A home that is not to queue says so at once."""
    for said in ("The depot opens at nine", "The gate closes at six"):  # begun, and opened again
        async with hr.open(tmp_path / "home", **choices, store_outage="queue") as hindsight:
            ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
            memory = hindsight.as_caller(ticket)
            with pytest.raises(Unfinished):
                await memory.write(said, type="fact", confidence=0.9)
            found = await memory.search(said)
            assert found.hits[0].memory.content == said
            assert found.degraded
