"""What a server does that a file does not: it is away, refuses, breaks off, serves many hosts."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

import hindsight_ray as hr
from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.postgres import Server
from hindsight_ray.adapters.ledger.sql.server import ADDRESS_IS
from hindsight_ray.core.redaction import redacted
from hindsight_ray.entry.doctor import examine
from hindsight_ray.errors import Busy, HomeInvalid, InvalidSettings, Unavailable
from tests.ledgers import new_database, server_database
from tests.records import memory_of, name_of, put, rows, run_of
from tests.servers.postgres import Postgres
from tests.worlds import TENANT

_ENCRYPTION = (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30")  # codes of TLS and GSSAPI requests
_BOUND_S = 10.0  # within which a server that cannot be used is named


@pytest.fixture
def server(postgres_server: Postgres) -> Server:
    return server_database(postgres_server)


@asynccontextmanager
async def _opened(server: Server, lock_wait_s: float = 5.0) -> AsyncGenerator[SqlLedger]:
    ledger = await SqlLedger.open(server, lock_wait_s=lock_wait_s)
    try:
        yield ledger
    finally:
        await ledger.close()


async def _refusal(dsn: str) -> Unavailable:
    with pytest.raises(Unavailable) as raised:
        await asyncio.wait_for(SqlLedger.open(Server(dsn, "`DSN`")), _BOUND_S)
    return raised.value


@pytest.mark.covers("postgres.away")
async def test_a_server_that_is_not_there_is_named_with_the_remedy() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    refusal = await _refusal(f"postgresql://me:secret@127.0.0.1:{port}/mine")
    assert f"127.0.0.1:{port}/mine" in refusal.message
    assert "postgres_dsn_env" in refusal.message
    assert "secret" not in refusal.message + str(refusal.details)


@pytest.mark.covers("postgres.away")
async def test_a_server_that_takes_calls_and_never_answers_is_named_within_the_bound() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        refusal = await _refusal(f"postgresql://me:secret@127.0.0.1:{port}/mine?connect_timeout=90")
    assert f"127.0.0.1:{port}/mine" in refusal.message


@pytest.mark.covers("postgres.away")
async def test_a_wrong_password_or_database_is_named(postgres_server: Postgres) -> None:
    good = postgres_server.url()
    wrong = await _refusal(good.replace(postgres_server.password, "wrong-secret"))
    assert "password" in wrong.message
    assert "wrong-secret" not in wrong.message
    assert "nowhere" in (await _refusal(postgres_server.url("nowhere"))).message


@asynccontextmanager
async def _answering(*messages: bytes) -> AsyncGenerator[str]:
    """The address of a server that takes no encryption and says this to whoever connects."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (start := await reader.read(8))[4:8] in _ENCRYPTION:
            writer.write(b"N")
        if start:
            await reader.read(int.from_bytes(start[:4], "big") - 8)
            writer.writelines(messages)
            await reader.read()
        writer.close()

    serving = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with serving:
        port = serving.sockets[0].getsockname()[1]
        yield f"postgresql://me:secret@127.0.0.1:{port}/mine"


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + (len(content) + 4).to_bytes(4, "big") + content


@pytest.mark.covers("postgres.away")
async def test_a_server_that_is_starting_is_named_and_may_be_tried_again() -> None:
    said = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
    async with _answering(_message(b"E", said)) as dsn:
        refusal = await _refusal(dsn)
    assert "starting" in refusal.message
    assert "try again in some seconds" in refusal.message
    assert dsn.partition("@")[2] in refusal.message


@pytest.mark.covers("postgres.away")
@pytest.mark.parametrize(
    "said",
    [
        "sorry, too many clients already",
        "remaining connection slots are reserved for roles with the SUPERUSER attribute",
        'too many connections for role "me"',
    ],
)
async def test_a_server_without_a_connection_left_is_busy_and_says_what_to_raise(said: str) -> None:
    message = f"SFATAL\0VFATAL\0C53300\0M{said}\0\0".encode()
    async with _answering(_message(b"E", message)) as dsn:
        with pytest.raises(Busy, match="max_connections") as raised:
            await asyncio.wait_for(SqlLedger.open(Server(dsn, "`DSN`")), _BOUND_S)
    assert said in raised.value.message
    assert dsn.partition("@")[2] in raised.value.message


@pytest.mark.covers("postgres.away")
async def test_a_server_that_is_too_old_is_refused_by_name() -> None:
    told = {"server_version": "12.20", "server_encoding": "UTF8", "client_encoding": "UTF8"}
    async with _answering(
        _message(b"R", bytes(4)),
        *(_message(b"S", f"{name}\0{value}\0".encode()) for name, value in told.items()),
        _message(b"K", bytes(8)),
        _message(b"Z", b"I"),
    ) as dsn:
        refusal = await _refusal(dsn)
    assert "PostgreSQL 12; it needs 13 or newer" in refusal.message


@pytest.mark.covers("cli.doctor")
async def test_the_doctor_begins_no_ledger_in_an_empty_database_and_blames_settings_for_themselves(
    tmp_path: Path, postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ledger() -> tuple[str, str]:
        (found,) = [one for one in await examine(tmp_path) if one.what == "ledger"]
        return found.state, found.seen + found.next_step

    choices = {"ledger": "postgresql", "postgres_dsn_env": "DSN_LOOKED_AT", "embedding": "hashed"}
    monkeypatch.setenv("DSN_LOOKED_AT", new_database(postgres_server))
    await (await hr.open(tmp_path, **choices)).close()
    assert (await ledger())[0] == "ok"
    other = new_database(postgres_server)
    monkeypatch.setenv("DSN_LOOKED_AT", other)
    for _ in range(2):
        state, told = await ledger()
        assert state == "fault"
        assert "is empty" in told
    assert not await SqlLedger.is_begun(Server(other, "`DSN`"))
    monkeypatch.delenv("DSN_LOOKED_AT")
    state, told = await ledger()
    assert state == "fault"
    assert "not set here" in told
    assert "backup" not in told


async def test_what_an_address_looks_like_is_said_in_words_that_nobody_masks() -> None:
    said = f"set it, {ADDRESS_IS}"
    assert redacted(said) == (said, 0)


async def test_an_address_that_is_none_is_refused_without_being_repeated() -> None:
    with pytest.raises(InvalidSettings) as raised:
        await SqlLedger.open(Server("my secret is at home", "`DSN`"))
    assert "secret" not in raised.value.message


async def test_a_database_of_another_encoding_is_refused(postgres_server: Postgres) -> None:
    with psycopg.connect(postgres_server.url(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(HomeInvalid, match="UTF8"):
        await SqlLedger.open(Server(postgres_server.url("latin"), "`DSN`"))


async def test_a_role_that_may_make_no_tables_is_told_what_to_grant(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        admin.execute("DROP ROLE IF EXISTS guest")
        admin.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    address = server.dsn.split("@", 1)[1]
    assert "Grant" in (await _refusal(f"postgresql://guest:guest@{address}")).message


async def test_a_database_of_something_else_is_left_alone(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("CREATE TABLE runs (distance_km int)")
    with pytest.raises(HomeInvalid, match="something else"):
        await SqlLedger.open(server)


async def test_processes_that_open_a_new_ledger_at_once_make_it_once(server: Server) -> None:
    opened = await asyncio.gather(*(SqlLedger.open(server) for _ in range(6)))
    async with opened[0].writing() as unit:
        await unit.runs.create(run_of("r"))
    for ledger in opened:
        async with ledger.reading() as unit:
            assert await unit.runs.get(TENANT, name_of("r")) == run_of("r")
        await ledger.close()


@pytest.mark.covers("postgres.order")
async def test_what_one_process_commits_every_other_finds_on_every_route(server: Server) -> None:
    async with _opened(server) as one, _opened(server) as other:
        for number in range(20):
            writer, reader = (one, other) if number % 2 else (other, one)
            async with writer.writing() as unit:
                scope = f"user:u{number % 3}"
                change = await put(unit, memory_of(f"word {number}", scope=scope))
            assert change == number + 1
            async with reader.reading() as unit:
                assert await unit.memories.change_number(TENANT) == change
                assert len(await unit.memories.recent(rows(), limit=50)) == change
                matches = await unit.memories.keyword_matches(rows(), ["word"])
                assert matches.documents == len(matches.lengths) == change
                assert len(await unit.keys.all(TENANT)) == min(3, change)


@pytest.mark.covers("postgres.order")
async def test_writers_of_several_processes_follow_one_another(server: Server) -> None:
    changes: list[int] = []

    async def write(ledger: SqlLedger, name: str) -> None:
        for number in range(10):
            async with ledger.writing() as unit:
                before = await unit.memories.change_number(TENANT)
                change = await put(unit, memory_of(f"{name}{number}"))
                assert change == before + 1
            changes.append(change)

    async with _opened(server) as one, _opened(server) as two, _opened(server) as three:
        named = zip((one, two, three), "abc", strict=True)
        await asyncio.gather(*(write(ledger, name) for ledger, name in named))
    assert sorted(changes) == list(range(1, 31))


async def test_another_processs_writer_that_holds_on_too_long_is_busy(server: Server) -> None:
    async with _opened(server) as one, _opened(server, lock_wait_s=0.2) as other:
        async with one.writing() as unit:
            await unit.runs.create(run_of("r"))
            with pytest.raises(Busy):
                async with other.writing() as late:
                    await late.runs.create(run_of("s"))
        async with other.writing() as unit:
            await unit.runs.create(run_of("s"))


def _end_backends(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.covers("postgres.broken")
async def test_connections_that_the_server_has_ended_are_made_anew(server: Server) -> None:
    async with _opened(server) as ledger:
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))
        _end_backends(server)
        async with ledger.reading() as unit:
            assert await unit.runs.get(TENANT, name_of("r")) == run_of("r")
        _end_backends(server)
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("s"))


@pytest.mark.covers("postgres.broken")
async def test_a_connection_that_breaks_within_a_unit_acknowledges_nothing(server: Server) -> None:
    async with _opened(server) as ledger:
        with pytest.raises(Unavailable, match="nothing was acknowledged"):
            async with ledger.writing() as unit:
                await unit.runs.create(run_of("r"))
                _end_backends(server)
                await unit.runs.create(run_of("s"))
        with pytest.raises(Unavailable):
            async with ledger.writing() as unit:
                await unit.runs.create(run_of("r"))
                _end_backends(server)
        with pytest.raises(Unavailable):
            async with ledger.reading() as unit:
                assert await unit.runs.get(TENANT, name_of("r")) is None
                _end_backends(server)
                await unit.runs.get(TENANT, name_of("r"))
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))


@pytest.mark.covers("postgres.home")
async def test_a_home_may_keep_its_ledger_on_a_server(
    postgres_server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = {"ledger": "postgresql", "postgres_dsn_env": "THE_DSN", "embedding": "hashed"}
    with pytest.raises(InvalidSettings, match="THE_DSN"):
        async with hr.open(tmp_path, **choices):
            pass
    monkeypatch.setenv("THE_DSN", new_database(postgres_server))
    async with hr.open(tmp_path, **choices) as hindsight:
        memory = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", user="alice"))
        kept = await memory.write("Dates as YYYY-MM-DD", scope="user:alice")
    assert not (tmp_path / "hindsight.sqlite3").exists()
    assert postgres_server.password not in (tmp_path / "settings.json").read_text()
    async with hr.open(tmp_path) as hindsight:  # the home knows where its ledger is
        memory = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", user="alice"))
        assert (await memory.search("dates")).ids == list(kept.ids) or kept.ids
        assert (await memory.get(kept.ids[0])).content == "Dates as YYYY-MM-DD"
    with pytest.raises(InvalidSettings, match="ledger"):
        async with hr.open(tmp_path, ledger="sqlite"):
            pass
