"""Calls that are made where they are asked for, and statements that are said without detours."""

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    literal,
    select,
)
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from hindsight_ray.adapters.ledger.sql import SqlLedger, dialect
from hindsight_ray.adapters.ledger.sql.ledger import SqlUnit
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import facts
from tests.ledgers import BOTH, ledgers_of

pytestmark = pytest.mark.covers("ledger.brief")

_VALUE = Ready(select(facts.c.value).where(facts.c.name == bindparam("name")))
_PUT = Ready(facts.insert(), ("name", "value"))


def _thread(_: Connection) -> int:
    return threading.get_ident()


def _fact(connection: Connection, name: str, value: str) -> int:
    _PUT.run(connection, {"name": name, "value": value})
    return threading.get_ident()


async def test_a_brief_call_of_a_reader_takes_no_thread(tmp_path: Path) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3")
    async with ledger.reading() as unit:
        assert isinstance(unit, SqlUnit)
        assert await unit.work.brief(_thread) == threading.get_ident()
        assert await unit.work.do(_thread) != threading.get_ident()
    await ledger.close()


async def test_a_writer_is_brief_where_the_lock_is_free(tmp_path: Path) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3")
    for name in ("first", "second"):
        async with ledger.writing() as unit:
            assert isinstance(unit, SqlUnit)
            assert await unit.work.brief(_fact, name, "1") == threading.get_ident()
            assert await unit.work.brief(_fact, f"{name} more", "2") == threading.get_ident()
    async with ledger.reading() as unit:
        assert isinstance(unit, SqlUnit)
        assert await unit.work.brief(_VALUE.value, {"name": "second more"}) == "2"
    await ledger.close()


async def test_a_writer_waits_for_a_lock_that_is_taken_in_a_thread_and_is_brief_from_then_on(
    tmp_path: Path,
) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3")
    other = await SqlLedger.open(tmp_path / "l.sqlite3")
    async with ledger.writing() as unit:  # its connection is there from now on
        assert isinstance(unit, SqlUnit)
        await unit.work.brief(_thread)

    async def waits() -> tuple[int, int]:
        async with ledger.writing() as unit:
            assert isinstance(unit, SqlUnit)
            waited = await unit.work.brief(_fact, "second", "2")
            return waited, await unit.work.brief(_fact, "third", "3")

    async with other.writing() as unit:
        assert isinstance(unit, SqlUnit)
        await unit.work.brief(_fact, "first", "1")
        waiting = asyncio.create_task(waits())
        await asyncio.sleep(0)
        assert not waiting.done()
    waited, following = await waiting
    assert waited != threading.get_ident()
    assert following == threading.get_ident()
    await ledger.close()
    await other.close()


async def test_a_brief_call_waits_for_what_is_under_way_on_its_connection(tmp_path: Path) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3")
    begun, go_on = threading.Event(), threading.Event()
    seen: list[str] = []

    def slow(_: Connection) -> None:
        begun.set()
        go_on.wait()
        seen.append("slow")

    def quick(_: Connection) -> None:
        seen.append("quick")

    async with ledger.writing() as unit:
        assert isinstance(unit, SqlUnit)
        first = asyncio.create_task(unit.work.do(slow))
        await asyncio.to_thread(begun.wait)
        second = asyncio.create_task(unit.work.brief(quick))
        await asyncio.sleep(0)
        assert seen == []
        go_on.set()
        await asyncio.gather(first, second)
    assert seen == ["slow", "quick"]
    await ledger.close()


async def test_a_call_withdrawn_from_the_queue_lets_nobody_onto_a_busy_connection(
    tmp_path: Path,
) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3")
    begun, go_on = threading.Event(), threading.Event()

    def slow(_: Connection) -> None:
        begun.set()
        go_on.wait()

    async with ledger.writing() as unit:
        assert isinstance(unit, SqlUnit)
        first = asyncio.create_task(unit.work.do(slow))
        await asyncio.to_thread(begun.wait)
        withdrawn = asyncio.create_task(unit.work.do(_thread))
        await asyncio.sleep(0)
        withdrawn.cancel()
        third = asyncio.create_task(unit.work.brief(_thread))
        await asyncio.sleep(0)
        go_on.set()
        await first
        assert await third != threading.get_ident()
    async with ledger.writing() as unit:  # the next one has the connection to itself again
        assert isinstance(unit, SqlUnit)
        await unit.work.do(_thread)
        assert await unit.work.brief(_thread) == threading.get_ident()
    await ledger.close()


@pytest.mark.parametrize("kind", BOTH)
async def test_a_ready_statement_says_what_sqlalchemy_would(
    kind: str, request: pytest.FixtureRequest
) -> None:
    plain = select(facts.c.name, literal(7), func.coalesce(facts.c.value, "none")).where(
        facts.c.name.in_(dialect.members(bindparam("names"))), facts.c.value != "100%"
    )
    ready = Ready(plain.order_by(facts.c.name))
    added = Ready(facts.insert().returning(facts.c.value), ("name", "value"))

    def compared(connection: Connection) -> None:
        for name, value in (("%a", "x"), ("b", "100%"), ("c:d", "?")):
            assert added.value(connection, {"name": name, "value": value}) == value
        bound = {"names": '["%a", "b", "c:d"]'}
        said = connection.execute(plain.order_by(facts.c.name), bound).all()
        assert ready.rows(connection, bound) == [tuple(row) for row in said]
        assert ready.row(connection, {"names": "[]"}) is None
        assert ready.value(connection, bound) == said[0][0]

    async with ledgers_of(request, kind).opened() as ledger, ledger.writing() as unit:
        assert isinstance(unit, SqlUnit)
        await unit.work.do(compared)


@pytest.mark.parametrize("kind", BOTH)
async def test_an_error_of_a_ready_statement_is_the_one_of_any_other(
    kind: str, request: pytest.FixtureRequest
) -> None:
    def twice(connection: Connection) -> None:
        _fact(connection, "one", "1")
        _fact(connection, "one", "2")

    async with ledgers_of(request, kind).opened() as ledger:
        with pytest.raises(IntegrityError):
            async with ledger.writing() as unit:
                assert isinstance(unit, SqlUnit)
                await unit.work.do(twice)
        async with ledger.reading() as unit:
            assert isinstance(unit, SqlUnit)
            assert await unit.work.brief(_VALUE.value, {"name": "one"}) is None


@pytest.mark.parametrize("kind", BOTH)
async def test_many_rows_are_kept_as_they_were_given(
    kind: str, request: pytest.FixtureRequest
) -> None:
    metadata = MetaData()
    columns = (
        Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
        Column("word", Text), Column("large", BigInteger), Column("part", Float),
        Column("raw", LargeBinary),
    )  # fmt: skip
    table = Table("many", metadata, *columns)
    names = ("word", "large", "part", "raw")
    rows = [
        ('{"said": "a \\"b\\" \\\\ %s %b"}', 1, 0.5, b"\x00\xff"),
        ("", 2**62, -0.0, b""),
        ("NULL", -(2**40), 1e300, b'"'),
        ("é中𝟗{},;\n", 0, 3.0, bytes(range(256))),
        (None, None, None, None),
    ]

    def kept(connection: Connection, which: list[tuple[object, ...]]) -> None:
        table.drop(connection, checkfirst=True)
        table.create(connection)
        dialect.insert_rows(connection, table, names, which)
        found = connection.execute(select(table).order_by(table.c.number)).all()
        assert [tuple(row)[1:] for row in found] == which

    async with ledgers_of(request, kind).opened() as ledger, ledger.writing() as unit:
        assert isinstance(unit, SqlUnit)
        for which in (rows, rows[:1], rows[1:2], rows[-1:], rows[:1] * 3):
            await unit.work.do(kept, list[tuple[object, ...]](which))
