"""Group commit: many writers, one transaction; each takes effect alone or not at all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hindsight_ray.adapters.wrapping.grouped import GROUP_WRITERS_MAX, GroupedLedger
from hindsight_ray.errors import Busy, NotFound, StorageFailed


class _Unit:
    """A unit over a list: steps undo what was added since they began."""

    def __init__(self, book: "_Book") -> None:
        self.rows = list(book.committed)
        self._book = book

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        before = list(self.rows)
        try:
            yield
        except BaseException:
            if self._book.fail_undo:
                raise StorageFailed("`ledger` has lost the savepoint") from None
            self.rows = before
            raise


class _Book:
    """A ledger over a list that counts its commits and fails when told to."""

    def __init__(self) -> None:
        self.committed: list[str] = []
        self.commits = 0
        self.fail_begin = self.fail_commit = self.fail_undo = False
        self.closed = False

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[_Unit]:
        await asyncio.sleep(0)
        if self.fail_begin:
            raise Busy("`ledger` is locked")
        unit = _Unit(self)
        yield unit
        await asyncio.sleep(0)
        if self.fail_commit:
            raise StorageFailed("`ledger` is full")
        self.committed = unit.rows
        self.commits += 1

    reading = writing

    async def close(self) -> None:
        self.closed = True


async def _write(ledger: GroupedLedger, row: str, *, fail: bool = False) -> str:
    async with ledger.writing() as unit:
        unit.rows.append(row)  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        if fail:
            raise NotFound(row)
    return row


@pytest.fixture
def book() -> _Book:
    return _Book()


@pytest.fixture
def ledger(book: _Book) -> GroupedLedger:
    return GroupedLedger(book)  # type: ignore[arg-type]


async def test_concurrent_writers_share_commits_and_all_rows_are_there(
    book: _Book, ledger: GroupedLedger
) -> None:
    names = [str(i) for i in range(50)]
    assert await asyncio.gather(*(_write(ledger, name) for name in names)) == names
    assert book.committed == names
    assert book.commits == 1


async def test_one_that_fails_leaves_nothing_and_the_others_of_its_group_stay(
    book: _Book, ledger: GroupedLedger
) -> None:
    done = await asyncio.gather(
        _write(ledger, "a"),
        _write(ledger, "b", fail=True),
        _write(ledger, "c"),
        return_exceptions=True,
    )
    assert book.committed == ["a", "c"]
    assert isinstance(done[1], NotFound)
    assert book.commits == 1


@pytest.mark.parametrize("fault", ["fail_begin", "fail_commit"])
async def test_a_failed_commit_is_told_to_every_writer_of_the_group(
    book: _Book, ledger: GroupedLedger, fault: str
) -> None:
    setattr(book, fault, True)
    done = await asyncio.gather(*(_write(ledger, name) for name in "abc"), return_exceptions=True)
    assert {type(error) for error in done} == {Busy if fault == "fail_begin" else StorageFailed}
    assert book.committed == []
    setattr(book, fault, False)
    assert await _write(ledger, "later") == "later"
    assert book.committed == ["later"]


async def test_a_writer_that_cannot_be_undone_takes_its_group_with_it(
    book: _Book, ledger: GroupedLedger
) -> None:
    book.fail_undo = True
    done = await asyncio.gather(
        _write(ledger, "a"), _write(ledger, "b", fail=True), return_exceptions=True
    )
    assert {type(error) for error in done} == {StorageFailed}
    assert book.committed == []


async def test_a_cancelled_writer_neither_blocks_the_others_nor_leaves_a_row(
    book: _Book, ledger: GroupedLedger
) -> None:
    waiting = [asyncio.create_task(_write(ledger, name)) for name in ("a", "gone", "b")]
    await asyncio.sleep(0)
    waiting[1].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert book.committed == ["a", "b"]


async def test_a_group_is_bounded(book: _Book, ledger: GroupedLedger) -> None:
    await asyncio.gather(*(_write(ledger, str(i)) for i in range(GROUP_WRITERS_MAX + 1)))
    assert book.commits == 2


async def test_closing_waits_for_the_commit(book: _Book, ledger: GroupedLedger) -> None:
    writing = asyncio.create_task(_write(ledger, "a"))
    await asyncio.sleep(0)
    await ledger.close()
    assert await writing == "a"
    assert book.closed
