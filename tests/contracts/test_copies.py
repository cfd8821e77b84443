"""A memory is copied and put back, from and to every ledger; a dropped tenant comes back empty."""

import asyncio
import hashlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import hindsight_ray as hr
from hindsight_ray import compose
from hindsight_ray.adapters.home import LEDGER_FILE
from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.copying import copy_out
from hindsight_ray.adapters.ledger.sql.ledger import metadata
from hindsight_ray.adapters.ledger.sql.postgres import Server
from hindsight_ray.adapters.ledger.sql.tenants import KEPT, OF_ALL
from hindsight_ray.domain.commands import DropTenant
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.errors import (
    AccessDenied,
    HomeInUse,
    HomeInvalid,
    InvalidImport,
    InvalidSettings,
    InvalidTicket,
    StorageFailed,
    Unavailable,
)
from hindsight_ray.ports import Apart, InHand, Placed
from tests.ledgers import BOTH, Ledgers, ledgers_of, new_database
from tests.records import memory_of, name_of, put, rows, run_of
from tests.servers.process import free_ports
from tests.worlds import TENANT

_FROM_TO = [(a, b) for a in BOTH for b in BOTH]


def _choices(request: pytest.FixtureRequest, kind: str, variable: str) -> dict[str, Any]:
    if kind == "postgresql":
        os.environ[variable] = new_database(request.getfixturevalue("postgres_server"))
        request.addfinalizer(lambda: os.environ.pop(variable, None))
    return {"ledger": kind, "postgres_dsn_env": variable, "embedding": "hashed"}


async def _filled(home: Path, choices: Mapping[str, Any]) -> tuple[str, str]:
    """A home with some of everything; a run and a memory of it."""
    async with hr.open(home, **choices) as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
        memory = hindsight.as_caller(ticket)
        async with memory.run(goal="Restore checkout", task_type="operate") as run:
            choice = run.decide("Roll back release 41")
            run.tool("deploy.rollback", arguments={"release": 41}, result="ok", causes=[choice])
            run.outcome(1.0, evaluator="monitor")
        kept = await memory.write("Datums als 日期: YYYY-MM-DD", scope="user:alice", topic="dates")
        await memory.update(kept.ids[0], content="Dates as YYYY-MM-DD")
        gone = await memory.write("Forget this one", scope="user:alice")
        await memory.forget(gone.ids[0])
        await memory.search("dates")
    return run.id, kept.ids[0]


async def _dumped(where: Path | Server, folder: Path) -> dict[str, list[str]]:
    """Every row of a ledger as text."""
    folder.mkdir()  # noqa: ASYNC240 - a test's own folder, once
    ledger = await SqlLedger.open(where)
    await ledger.copy_out(folder)
    await ledger.close()
    return {path.name: path.read_text().splitlines() for path in folder.glob("*.jsonl")}  # noqa: ASYNC240 - a test's own folder, once


def _where(home: Path, choices: Mapping[str, Any]) -> Path | Server:
    if choices["ledger"] == "postgresql":
        return Server(os.environ[choices["postgres_dsn_env"]], "the test's own server")
    return home / "hindsight.sqlite3"


@pytest.mark.covers("space.late")
async def test_a_copy_does_not_leave_what_its_original_puts_beside(tmp_path: Path) -> None:
    home, at = tmp_path / "home", datetime(2026, 1, 1, tzinfo=UTC)
    async with hr.open(home, embedding="hashed"):
        """An empty home."""
    placed = Placed("t1", MemoryRef(id=MemoryUuid(str(UUID(int=1))), revision=1))
    slice_ = InHand("token", "static", 4, at, (placed,))
    ledger = await SqlLedger.open(home / "hindsight.sqlite3")
    async with ledger.writing() as unit:
        await unit.elsewhere.keep("static", Apart(4))
        await unit.elsewhere.take(slice_)
        await unit.elsewhere.keep_place("t2", at)
    async with ledger.reading() as unit:
        assert await unit.elsewhere.in_hand() == [slice_]
        assert await unit.elsewhere.left_places() == {"t2": at}
    await ledger.close()
    await compose.backup(home, tmp_path / "copy")
    await compose.restore(tmp_path / "copy", tmp_path / "new", embedding="hashed")
    ledger = await SqlLedger.open(tmp_path / "new" / "hindsight.sqlite3")
    async with ledger.reading() as unit:
        assert await unit.elsewhere.in_hand() == []
        assert await unit.elsewhere.left_places() == {}
        assert await unit.elsewhere.spaces() == {}
    await ledger.close()


@pytest.mark.covers("copy.same")
@pytest.mark.parametrize(("source", "target"), _FROM_TO)
async def test_a_copy_put_back_holds_the_same_row_by_row(
    request: pytest.FixtureRequest, tmp_path: Path, source: str, target: str
) -> None:
    before, after = (
        _choices(request, kind, name) for kind, name in ((source, "DSN_ONE"), (target, "DSN_TWO"))
    )
    run_id, memory_id = await _filled(tmp_path / "home", before)
    counts = await compose.backup(tmp_path / "home", tmp_path / "copy")
    assert counts["memories"] == 2
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0
    restored = await compose.restore(tmp_path / "copy", tmp_path / "new", **after)
    assert restored == counts
    one = await _dumped(_where(tmp_path / "home", before), tmp_path / "one")
    other = await _dumped(_where(tmp_path / "new", after), tmp_path / "other")
    assert one == other
    async with hr.open(tmp_path / "new") as hindsight:  # and it goes on
        ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
        memory = hindsight.as_caller(ticket)
        assert len((await memory.trajectory(run_id)).events) == 2
        assert (await memory.search("dates")).ids[0] == memory_id
        assert len(await memory.history(memory_id)) == 2
        more = await memory.write("Written after the restore", scope="user:alice")
        assert (await memory.get(more.ids[0])).content == "Written after the restore"


async def test_a_copy_that_was_cut_or_changed_is_refused_and_leaves_an_empty_ledger(
    tmp_path: Path,
) -> None:
    await _filled(tmp_path / "home", {"embedding": "hashed"})
    await compose.backup(tmp_path / "home", tmp_path / "copy")
    with pytest.raises(InvalidSettings, match="there already"):
        await compose.backup(tmp_path / "home", tmp_path / "copy")
    with pytest.raises(HomeInvalid, match="not empty"):
        await compose.restore(tmp_path / "copy", tmp_path / "home")
    file = tmp_path / "copy" / "ledger" / "memories.jsonl"
    whole = file.read_text()
    file.write_text(whole.replace("YYYY", "XXXX"))
    with pytest.raises(InvalidImport, match="cut or changed"):
        await compose.restore(tmp_path / "copy", tmp_path / "changed")
    file.write_text(whole.splitlines()[0] + "\n")
    with pytest.raises(InvalidImport, match="cut or changed"):
        await compose.restore(tmp_path / "copy", tmp_path / "cut")
    manifest = tmp_path / "copy" / "ledger" / "manifest.json"
    fields = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**fields, "schema": 999}))
    with pytest.raises(InvalidImport, match="999"):
        await compose.restore(tmp_path / "copy", tmp_path / "newer")
    manifest.unlink()
    with pytest.raises(InvalidImport, match="no whole copy"):
        await compose.restore(tmp_path / "copy", tmp_path / "half")


@pytest.mark.covers("copy.refused")
async def test_of_copies_made_at_once_into_one_folder_one_is_whole_and_the_rest_are_refused(
    tmp_path: Path,
) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy"
    await _filled(home, {"embedding": "hashed"})
    made = await asyncio.gather(
        *(compose.backup(home, copy) for _ in range(5)), return_exceptions=True
    )
    (rows,) = [one for one in made if isinstance(one, dict)]
    assert sum(isinstance(one, InvalidSettings) for one in made) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "home"]  # noqa: ASYNC240
    assert await compose.restore(copy, tmp_path / "again") == rows


@pytest.mark.covers("copy.refused")
async def test_a_copy_that_is_refused_leaves_nothing_and_may_be_put_back_once_it_is_whole(
    tmp_path: Path,
) -> None:
    await _filled(tmp_path / "home", {"embedding": "hashed"})
    await compose.backup(tmp_path / "home", tmp_path / "copy")
    file = tmp_path / "copy" / "ledger" / "memories.jsonl"
    whole, new = file.read_bytes(), tmp_path / "new"
    there = tmp_path / "there"
    there.mkdir()
    changed = (b"garbage\n", b"[1]\n", b"[" * 100_000, b'[{"a":1},"b"]\n', b"\xff\n")
    manifest = tmp_path / "copy" / "ledger" / "manifest.json"
    fields = json.loads(manifest.read_text())
    for lines in changed:
        file.write_bytes(whole + lines)
        for digests in (fields["sha256"], fields["sha256"] | {"memories": _digest(file)}):
            manifest.write_text(json.dumps({**fields, "sha256": digests}))
            for home in (new, there):
                with pytest.raises(InvalidImport):
                    await compose.restore(tmp_path / "copy", home, embedding="hashed")
            assert not new.exists()
            assert list(there.iterdir()) == []
    with pytest.raises(HomeInvalid):
        await compose.restore(tmp_path / "copy", file)
    file.write_bytes(whole)
    manifest.write_text(json.dumps(fields))
    for home in (new, there):
        restored = await compose.restore(tmp_path / "copy", home, embedding="hashed")
        assert restored["memories"] == 2
        async with hr.open(home) as hindsight:
            assert await hindsight.tenants() == ("acme",)


# Puts a copy back and is killed amid it, by what it is given: before, or after so many steps.
_KILLED = """
import asyncio, json, os, signal, sys
from pathlib import Path
from hindsight_ray import compose
from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.putting_back import Draft

copy, home, when, choices = sys.argv[1:]
_finish, _replace = Draft.finish, Path.replace

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def finish(draft, *said):
    _finish(draft, *said)
    if when == "whole":
        die()
    Path.replace = lambda path, to: die(_replace(path, to))

def filled_in(copied):
    async def then_die(*said):
        await copied(*said)
        die()
    return then_die

if when == "committed":
    SqlLedger.copy_in = filled_in(SqlLedger.copy_in)
Draft.finish = die if when == "half" else finish
asyncio.run(compose.restore(copy, home, **json.loads(choices)))
"""


@pytest.mark.covers("copy.refused")
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("when", ["half", "committed", "whole", "moving"])
async def test_a_restore_that_was_killed_is_no_home_and_is_brought_to_its_end_by_another(
    request: pytest.FixtureRequest, tmp_path: Path, when: str, kind: str
) -> None:
    copy, new = tmp_path / "copy", tmp_path / "new"
    choices = _choices(request, kind, "DSN_NEW")
    await _filled(tmp_path / "home", {"embedding": "hashed"})
    rows = await compose.backup(tmp_path / "home", copy)
    words = [sys.executable, "-c", _KILLED, str(copy), str(new), when, json.dumps(choices)]
    killed = await asyncio.create_subprocess_exec(*words)
    assert await killed.wait() == -signal.SIGKILL
    with pytest.raises(HomeInvalid, match="cut short"):
        await hr.open(new)
    assert await compose.restore(copy, new, **choices) == rows
    one = await _dumped(tmp_path / "home" / LEDGER_FILE, tmp_path / "one")
    other = await _dumped(_where(new, choices), tmp_path / "other")
    if when in ("half", "committed"):
        assert other == one
    async with hr.open(new) as hindsight:
        assert await hindsight.tenants() == ("acme",)
    with pytest.raises(HomeInvalid, match="not empty"):
        await compose.restore(copy, new)


@pytest.mark.covers("copy.refused")
async def test_a_place_that_takes_no_copy_is_named_as_such(tmp_path: Path) -> None:
    await _filled(tmp_path / "home", {"embedding": "hashed"})
    no_folder = tmp_path / "home" / LEDGER_FILE
    with pytest.raises(StorageFailed, match="cannot be written"):
        await compose.backup(tmp_path / "home", no_folder / "copy")


async def test_a_copy_put_back_while_its_store_is_away_is_a_home_and_says_so(
    tmp_path: Path,
) -> None:
    await _filled(tmp_path / "home", {"embedding": "hashed"})
    await compose.backup(tmp_path / "home", tmp_path / "copy")
    (port,) = free_ports(1)
    away = {"store": "weaviate", "weaviate_url": f"http://127.0.0.1:{port}"}
    with pytest.raises(Unavailable, match="is put back"):
        await compose.restore(tmp_path / "copy", tmp_path / "new", **away)
    async with hr.open(tmp_path / "new", store="embedded") as hindsight:
        assert await hindsight.tenants() == ("acme",)


@pytest.mark.covers("copy.refused")
async def test_of_two_who_put_a_copy_back_into_one_home_one_is_told_of_the_other(
    tmp_path: Path,
) -> None:
    await _filled(tmp_path / "home", {"embedding": "hashed"})
    rows = await compose.backup(tmp_path / "home", tmp_path / "copy")
    made = await asyncio.gather(
        *(compose.restore(tmp_path / "copy", tmp_path / "new") for _ in range(5)),
        return_exceptions=True,
    )
    assert [one for one in made if isinstance(one, dict)] == [rows]
    assert sum(isinstance(one, HomeInUse | HomeInvalid) for one in made) == 4
    async with hr.open(tmp_path / "new") as hindsight:
        assert await hindsight.tenants() == ("acme",)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture(params=BOTH)
def ledgers(request: pytest.FixtureRequest) -> Ledgers:
    return ledgers_of(request, request.param)


async def test_a_copy_is_of_one_moment_whatever_is_written_meanwhile(
    ledgers: Ledgers, tmp_path: Path
) -> None:
    async with ledgers.opened() as ledger:
        async with ledger.writing() as unit:
            await put(unit, memory_of("before"))
        async with ledger.reading() as unit:
            await unit.memories.count(rows())
            async with ledger.writing() as writer:
                await put(writer, memory_of("meanwhile"))
                await writer.runs.create(run_of("r"))
            counts = await unit.work.do(copy_out, tmp_path)  # type: ignore[attr-defined]
    assert (counts["memories"], counts["memory_vectors"], counts["runs"]) == (1, 1, 0)


def test_every_table_is_of_a_tenant_of_a_memory_or_of_all() -> None:
    of_all = {
        name
        for name, table in metadata.tables.items()
        if "tenant" not in table.c and "memory" not in table.c
    }
    assert of_all == OF_ALL, "say in `tenants.py` what becomes of it when a tenant is dropped"
    assert set(metadata.tables) >= KEPT - {"erasures"}


@pytest.mark.covers("tenant.dropped")
async def test_a_tenant_that_was_dropped_comes_back_empty_in_every_process(
    ledgers: Ledgers,
) -> None:
    async with ledgers.opened() as one, ledgers.opened() as other:
        for _ in range(2):
            async with one.writing() as unit:
                await unit.policy.add_tenant(TENANT, run_of("r").started_at)
                await unit.runs.create(run_of("r"))
                first = await put(unit, memory_of("apple", topic="fruit"))
                await put(unit, memory_of("foreign", tenant="other"))
            for ledger in (one, other):
                async with ledger.reading() as unit:
                    assert len(await unit.memories.recent(rows(), limit=9)) == 1
                    assert len(await unit.keys.all(TENANT)) == 1
                    assert (await unit.memories.keyword_matches(rows(), ["appl"])).documents == 1
            async with one.writing() as unit:
                assert await unit.policy.drop_tenant(TENANT) > 5
            for ledger in (one, other):
                async with ledger.reading() as unit:
                    assert await unit.memories.recent(rows(), limit=9) == []
                    assert (await unit.memories.keyword_matches(rows(), ["appl"])).documents == 0
                    assert await unit.keys.all(TENANT) == {}
                    assert await unit.memories.history(TENANT, name_of("apple")) == []
                    assert await unit.runs.get(TENANT, name_of("r")) is None
                    assert await unit.policy.tenants() == []
                    assert await unit.memories.change_number(TENANT) > first
                    assert await unit.memories.count(rows(tenant="other")) == 1
            async with one.writing() as unit:
                await unit.memories.forget("other", name_of("foreign"), by="b", why="w",
                                           at=run_of("r").started_at)  # fmt: skip
                await unit.policy.drop_tenant("other")


@pytest.mark.covers("tenant.dropped")
async def test_the_operator_alone_drops_a_tenant_and_its_grants_and_audit_are_told(
    tmp_path: Path,
) -> None:
    async with hr.open(tmp_path, embedding="hashed") as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", user="alice")
        alice = hindsight.as_caller(ticket)
        kept = await alice.write("Dates as YYYY-MM-DD", scope="user:alice", command_id="one")
        await alice.share("user:alice", to="agent:planner")
        dropped = await hindsight.drop_tenant("acme")
        assert dropped.grants_ended == 1
        with pytest.raises(InvalidTicket):
            await alice.search("dates")
        again = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", user="alice"))
        assert (await again.search("dates")).ids == ()
        same = await again.write("Dates as YYYY-MM-DD", scope="user:alice", command_id="one")
        assert same.ids == kept.ids
        assert (await again.search("dates")).ids == same.ids
        planner = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", agent="planner"))
        assert (await planner.search("dates", scopes=["user:alice"])).ids == ()
        audit = await hindsight.operator("acme").audit()
        assert "DropTenant" in {entry.verb for entry in audit}
        with pytest.raises(AccessDenied):
            await again.ask(DropTenant.model_validate({"tenant": "acme"}))
