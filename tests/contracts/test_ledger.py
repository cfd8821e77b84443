"""What every ledger keeps: units of work, whole or not at all, one writer at a time."""

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path

import pytest

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.errors import (
    Busy,
    HomeInvalid,
    Unavailable,
)
from hindsight_ray.ports import Ledger
from tests.records import Stop, audit_of, memory_of, name_of, put, rows, run_of
from tests.worlds import TENANT


async def test_what_a_unit_wrote_is_there_once_it_is_left(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("r"))
    async with ledger.reading() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) == run_of("r")


async def test_a_unit_left_by_an_exception_changes_nothing(ledger: Ledger) -> None:
    with contextlib.suppress(Stop):
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))
            await put(unit, memory_of("a"))
            raise Stop
    async with ledger.reading() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) is None
        assert await unit.memories.change_number(TENANT) == 0
        assert await unit.spaces.pinned() is None


async def test_a_step_left_by_an_exception_is_undone_alone(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("before"))
        with contextlib.suppress(Stop):
            async with unit.step():
                await unit.runs.create(run_of("within"))
                raise Stop
        await unit.runs.create(run_of("after"))
    async with ledger.reading() as unit:
        found = await unit.runs.newest(TENANT, limit=10)
        assert {run.goal for run in found} == {"before", "after"}


async def test_a_reader_keeps_its_snapshot_while_others_commit(ledger: Ledger) -> None:
    async with ledger.reading() as reader:
        assert await reader.memories.count(rows()) == 0
        async with ledger.writing() as writer:
            await put(writer, memory_of("a"))
        assert await reader.memories.count(rows()) == 0
        assert await reader.memories.change_number(TENANT) == 0
    async with ledger.reading() as reader:
        assert await reader.memories.count(rows()) == 1


async def test_writers_take_turns_in_the_order_they_came(ledger: Ledger) -> None:
    order: list[int] = []

    async def write(number: int) -> None:
        async with ledger.writing() as unit:
            await unit.audit.append(audit_of(f"v{number}"))
            order.append(number)

    async with ledger.writing() as unit:
        await unit.audit.append(audit_of("first"))
        waiting = [asyncio.ensure_future(write(number)) for number in range(20)]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert order == list(range(20))
    async with ledger.reading() as unit:
        assert len(await unit.audit.newest(TENANT, limit=100)) == 21


async def test_a_writer_cancelled_midway_changes_nothing_and_holds_nobody_up(
    ledger: Ledger,
) -> None:
    entered = asyncio.Event()

    async def write() -> None:
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))
            entered.set()
            await asyncio.Event().wait()

    writer = asyncio.ensure_future(write())
    await entered.wait()
    writer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writer
    async with ledger.writing() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) is None


async def test_a_writer_cancelled_in_the_middle_of_a_call_holds_nobody_up(ledger: Ledger) -> None:
    for _ in range(20):

        async def write() -> None:
            async with ledger.writing() as unit:
                await unit.runs.create(run_of("r"))
                raise Stop

        writer = asyncio.ensure_future(write())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        writer.cancel()
        with pytest.raises((asyncio.CancelledError, Stop)):
            await writer
    async with ledger.writing() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) is None


async def test_a_writer_cancelled_while_it_waits_leaves_the_queue(ledger: Ledger) -> None:
    async def write() -> None:
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))

    async with ledger.writing():
        writer = asyncio.ensure_future(write())
        await asyncio.sleep(0)
        writer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writer
    async with ledger.writing() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) is None


async def test_who_waits_too_long_for_another_writer_is_told_busy(tmp_path: Path) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3", lock_wait_s=0.02)
    async with ledger.writing() as unit:
        await unit.audit.append(audit_of("v"))
        with pytest.raises(Busy):
            async with ledger.writing():
                pass
    await ledger.close()


async def test_a_lock_of_another_process_is_busy_too_and_passes(tmp_path: Path) -> None:
    file = tmp_path / "l.sqlite3"
    ledger = await SqlLedger.open(file, lock_wait_s=0.02)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy):
        async with ledger.writing() as unit:
            await unit.audit.append(audit_of("v"))
    other.execute("ROLLBACK")
    other.close()
    async with ledger.writing() as unit:
        await unit.audit.append(audit_of("v"))
    await ledger.close()


async def test_two_event_loops_share_a_ledger(ledger: Ledger) -> None:
    async def write(name: str) -> None:
        for number in range(10):
            async with ledger.writing() as unit:
                await unit.audit.append(audit_of(f"{name}{number}"))

    other = threading.Thread(target=lambda: asyncio.run(write("b")))
    other.start()
    await write("a")
    await asyncio.to_thread(other.join)
    async with ledger.reading() as unit:
        assert len(await unit.audit.newest(TENANT, limit=100)) == 20


async def test_a_closed_ledger_says_so(tmp_path: Path) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3")
    await ledger.close()
    await ledger.close()
    with pytest.raises(Unavailable):
        async with ledger.reading():
            pass


async def test_a_file_of_something_else_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello " * 1000)
    with pytest.raises(HomeInvalid):
        await SqlLedger.open(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE cakes (name TEXT)")
    other.close()
    with pytest.raises(HomeInvalid):
        await SqlLedger.open(tmp_path / "other")


async def test_a_ledger_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    await (await SqlLedger.open(tmp_path / "l.sqlite3")).close()
    other = sqlite3.connect(tmp_path / "l.sqlite3", isolation_level=None)
    other.execute("UPDATE facts SET value = '999' WHERE name = 'schema'")
    other.close()
    with pytest.raises(HomeInvalid):
        await SqlLedger.open(tmp_path / "l.sqlite3")
