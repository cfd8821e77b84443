"""Connections and their queue, whatever becomes of who waits for one or has it."""

import asyncio
import gc
import linecache
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from types import FrameType

import pytest
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import SqlLedger, dialect
from hindsight_ray.adapters.ledger.sql.ledger import SqlUnit
from hindsight_ray.adapters.ledger.sql.schema import facts

pytestmark = pytest.mark.covers("ledger.lanes")


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[SqlLedger]:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3", lock_wait_s=0.5, readers=1)
    yield ledger
    await ledger.close()


def _put(connection: Connection, name: str) -> None:
    connection.execute(facts.insert().values(name=name, value="1"))


def _names(connection: Connection) -> set[str]:
    return {name for (name,) in connection.execute(facts.select().with_only_columns(facts.c.name))}


async def _write(ledger: SqlLedger, name: str) -> None:
    async with ledger.writing() as unit:
        assert isinstance(unit, SqlUnit)
        await unit.work.brief(_put, name)
        await unit.work.brief(_put, f"{name} more")


async def _kept(ledger: SqlLedger) -> set[str]:
    async with ledger.reading() as unit:
        assert isinstance(unit, SqlUnit)
        return {one for one in await unit.work.brief(_names) if one.startswith("w")}


def _begin_in_another_loop(ledger: SqlLedger) -> asyncio.AbstractEventLoop:
    """A loop in which somebody has come to wait for the writer's lane, or has got it."""
    loop = asyncio.new_event_loop()
    waiter = loop.create_task(_write(ledger, "w of the other loop"))
    loop.run_until_complete(asyncio.sleep(0))
    assert not waiter.done()
    return loop


async def _in_a_thread(job: Callable[[], asyncio.AbstractEventLoop]) -> asyncio.AbstractEventLoop:
    return await asyncio.to_thread(job)


@pytest.mark.parametrize("collected", [False, True])
@pytest.mark.parametrize("closed", ["while it waits", "before it looks"])
async def test_a_waiter_whose_loop_is_closed_holds_nobody_up(
    ledger: SqlLedger, *, collected: bool, closed: str
) -> None:
    async with ledger.writing():
        other = await _in_a_thread(lambda: _begin_in_another_loop(ledger))
        if closed == "while it waits":
            other.close()
            if collected:
                gc.collect()
    if closed == "before it looks":
        other.close()
        del other
        gc.collect()
    await _write(ledger, "w")
    assert await _kept(ledger) == {"w", "w more"}


class _Interrupt(KeyboardInterrupt):
    """Like one, and told from one of whoever runs the tests."""


def _can_be_interrupted(frame: FrameType) -> bool:
    """In the ledger's own code, and not where the interpreter only enters or leaves a block, when
    it looks at no signals."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return not line.startswith(("with ", "async with ", "try:", "finally:"))


class _Interrupting:
    """Raises once, at the nth line that this thread runs in the ledger's own code."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _: object) -> object:
        if "adapters/ledger/sql/" not in frame.f_code.co_filename:
            return None
        if event == "line" and _can_be_interrupted(frame):
            self.left -= 1
            if self.left == 0:
                raise _Interrupt
        return self


def _interrupted(ledger: SqlLedger, name: str, at: int) -> bool:
    """Whether a write in a loop of its own was interrupted at that line."""
    loop = asyncio.new_event_loop()
    interrupting = _Interrupting(at)
    traced = sys.gettrace()
    task = loop.create_task(_write(ledger, name))
    sys.settrace(interrupting)
    try:
        loop.run_until_complete(task)
    except _Interrupt:
        pass
    finally:
        sys.settrace(traced)
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
    return interrupting.left <= 0


async def test_a_writer_interrupted_at_any_line_holds_nobody_up(ledger: SqlLedger) -> None:
    await _write(ledger, "w")  # its connection is there from now on
    at = 0
    while True:
        at += 1
        if not await asyncio.to_thread(_interrupted, ledger, f"w{at}", at):
            break
        await _write(ledger, f"w{at} after")
        kept = await _kept(ledger)
        assert (f"w{at}" in kept) == (f"w{at} more" in kept), at
        assert f"w{at} after" in kept
    assert at > 50


def _interrupted_after_begin(connection: Connection) -> None:
    raw = connection.connection.driver_connection
    assert raw is not None
    raw.execute("BEGIN IMMEDIATE")
    raise KeyboardInterrupt


async def test_what_the_driver_has_begun_is_undone_though_nobody_heard_of_it(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _write(ledger, "w1")

    def begin(connection: Connection, **_: bool) -> None:
        _interrupted_after_begin(connection)

    with monkeypatch.context() as patched:
        patched.setattr(dialect, "begin", begin)
        with pytest.raises(KeyboardInterrupt):
            await _write_caught(ledger)
    await _write(ledger, "w2")
    assert await _kept(ledger) == {"w1", "w1 more", "w2", "w2 more"}


async def _write_caught(ledger: SqlLedger) -> None:
    unit = ledger.writing()
    entered = await unit.__aenter__()
    assert isinstance(entered, SqlUnit)
    try:
        await entered.work.brief(_put, "w lost")
    except BaseException as error:
        await unit.__aexit__(type(error), error, error.__traceback__)
        raise


async def test_an_interrupted_unit_keeps_nothing_even_if_its_caller_goes_on(
    ledger: SqlLedger,
) -> None:
    def interrupted(connection: Connection) -> None:
        _put(connection, "w lost")
        raise _Interrupt

    await _write(ledger, "w")
    with pytest.raises(Exception, match="gave this transaction up"):
        async with ledger.writing() as unit:
            assert isinstance(unit, SqlUnit)
            await unit.work.brief(_put, "w first")
            with pytest.raises(_Interrupt):
                await unit.work.brief(interrupted)
            await unit.work.brief(_put, "w second")
    assert await _kept(ledger) == {"w", "w more"}


async def test_closing_in_vain_keeps_no_lane(tmp_path: Path) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3", lock_wait_s=0.01, readers=2)
    async with ledger.reading() as unit:
        assert isinstance(unit, SqlUnit)
        with pytest.raises(Exception, match="taken by others"):
            await ledger._readers.close()
        async with ledger.reading():
            pass
    await ledger.close()
