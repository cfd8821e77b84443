"""The disk refuses at the nth page, then at the n+1st: a unit is there whole or not at all."""

import contextlib
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import SqlLedger, SqlUnit
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.domain.access import Rule
from hindsight_ray.errors import StorageFailed
from hindsight_ray.ports import Unit
from tests.records import event_of, memory_of, name_of, put, rows, run_of, vector_of
from tests.worlds import START, TENANT

_NO_LIMIT = 1_073_741_823
_RULE = Rule(subject="role:agent", tenant="*", object="global", action="read", effect="allow")


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[SqlLedger]:
    opened = await SqlLedger.open(tmp_path / "ledger.sqlite3")
    yield opened
    await opened.close()


def _limit(connection: Connection, pages: int | None) -> None:
    """Let the file grow by so many pages and no more, as a full disk would."""
    count = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    most = _NO_LIMIT if pages is None else count + pages
    connection.exec_driver_sql(f"PRAGMA max_page_count={most}").close()


async def _limited(unit: Unit, pages: int | None) -> None:
    assert isinstance(unit, SqlUnit)
    await unit.work.do(_limit, pages)


async def _work(unit: Unit, word: str) -> None:
    """A bit of everything, enough for several pages."""
    await unit.runs.create(run_of(word))
    batch = [event_of(word, seq, summary="x" * 900) for seq in range(60)]
    await unit.runs.append(TENANT, name_of(word), batch)
    for number in range(5):
        await put(unit, memory_of(f"{word} {number}"), vector_of(1.0))
    await unit.policy.replace([_RULE], [], START)


async def _found(ledger: SqlLedger, word: str) -> tuple[int, int, int, int]:
    """Runs, events, memories on each route, policy revision."""
    async with ledger.reading() as unit:
        run = await unit.runs.get(TENANT, name_of(word))
        events = await unit.runs.event_count(TENANT, name_of(word))
        count = await unit.memories.count(rows())
        matches = await unit.memories.keyword_matches(rows(), [word])
        near = await EmbeddedStore().nearest(unit, rows(), vector_of(1.0), limit=100)
        assert matches.documents == len(matches.lengths) == len(near) == count
        return int(run is not None), events, count, (await unit.policy.current()).revision


async def test_a_unit_that_meets_a_full_disk_changes_nothing(ledger: SqlLedger) -> None:
    refused = 0
    for pages in range(200):
        try:
            async with ledger.writing() as unit:
                await _limited(unit, pages)
                await _work(unit, "r")
        except StorageFailed:
            refused += 1
            async with ledger.writing() as unit:
                await _limited(unit, None)
            assert await _found(ledger, "r") == (0, 0, 0, 0)
        else:
            break
    assert refused > 5
    assert await _found(ledger, "r") == (1, 60, 5, 1)


async def test_whoever_goes_on_after_a_full_disk_is_told_again_and_nothing_is_kept(
    ledger: SqlLedger,
) -> None:
    """A service that swallowed the first refusal must not have its later rows committed alone."""
    for pages in range(0, 12, 3):
        with pytest.raises(StorageFailed, match="gave this transaction up"):
            await _swallowing(ledger, pages)
        assert await _found(ledger, "r") == (0, 0, 0, 0)
        assert (await _found(ledger, "later"))[0] == 0


async def _swallowing(ledger: SqlLedger, pages: int) -> None:
    async with ledger.writing() as unit:
        await _limited(unit, pages)
        with pytest.raises(StorageFailed):
            await _work(unit, "r")
        with contextlib.suppress(StorageFailed):
            await unit.runs.create(run_of("later"))


async def test_a_ledger_that_may_not_be_written_says_so(tmp_path: Path) -> None:
    file = tmp_path / "l.sqlite3"
    await (await SqlLedger.open(file)).close()
    raw = sqlite3.connect(file)
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    damaged = bytearray(file.read_bytes())
    for page in range(1, len(damaged) // 4096):
        damaged[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    file.write_bytes(damaged)
    with pytest.raises(StorageFailed):
        ledger = await SqlLedger.open(file)
        async with ledger.writing() as unit:
            await _work(unit, "r")
