"""Doing together what comes at once: everybody has their own answer, whatever becomes of others."""

import asyncio
from collections.abc import Sequence

import pytest

from hindsight_ray.errors import StorageFailed, Unavailable
from hindsight_ray.service.together import TOGETHER_MAX, Together


class _Work:
    """Doubles numbers, none below zero; fails when told to; remembers what it was given."""

    def __init__(self) -> None:
        self.goes: list[list[int]] = []
        self.begun = asyncio.Event()
        self.failure: BaseException | None = None

    async def __call__(self, numbers: Sequence[int]) -> Sequence[int | None]:
        self.goes.append(list(numbers))
        self.begun.set()
        for _ in range(3):
            await asyncio.sleep(0)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return [None if number < 0 else 2 * number for number in numbers]


async def test_what_comes_at_once_goes_together_and_each_has_its_own_answer() -> None:
    together, work = Together[int, int](), _Work()
    found = await asyncio.gather(*(together.done(n, work) for n in (1, -1, 3)))
    assert found == [2, None, 6]
    assert work.goes == [[1, -1, 3]]


async def test_what_comes_during_a_go_waits_for_the_next_and_no_go_is_endless() -> None:
    together, work = Together[int, int](), _Work()
    first = asyncio.create_task(together.done(0, work))
    await work.begun.wait()
    count = TOGETHER_MAX + 5
    rest = [asyncio.create_task(together.done(n, work)) for n in range(1, count + 1)]
    await asyncio.sleep(0)
    assert len(together) >= count - TOGETHER_MAX
    assert await asyncio.gather(first, *rest) == [2 * n for n in range(count + 1)]
    assert [len(go) for go in work.goes] == [1, TOGETHER_MAX, 5]
    assert [n for go in work.goes for n in go] == list(range(count + 1))


async def test_who_is_cancelled_while_it_waits_is_left_out() -> None:
    together, work = Together[int, int](), _Work()
    tasks = [asyncio.create_task(together.done(n, work)) for n in range(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    assert await asyncio.gather(tasks[0], tasks[2]) == [0, 4]
    assert work.goes == [[0, 2]]


async def test_a_failure_is_told_to_all_of_its_go_and_to_nobody_after() -> None:
    together, work = Together[int, int](), _Work()
    work.failure = StorageFailed("`ledger` is full")
    tasks = [asyncio.create_task(together.done(n, work)) for n in range(2)]
    await work.begun.wait()
    later = asyncio.create_task(together.done(7, work))
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in found] == [StorageFailed, StorageFailed]
    assert await later == 14


async def test_after_a_mistake_of_whoever_all_of_its_go_are_to_go_alone() -> None:
    together, work = Together[int, int](), _Work()
    work.failure = ZeroDivisionError()
    assert await asyncio.gather(*(together.done(n, work) for n in range(2))) == [None, None]
    assert await together.done(1, work) == 2


async def test_work_that_breaks_off_leaves_nobody_waiting() -> None:
    together, work = Together[int, int](), _Work()
    work.failure = asyncio.CancelledError()
    tasks = [asyncio.create_task(together.done(n, work)) for n in range(2)]
    await work.begun.wait()
    tasks.append(asyncio.create_task(together.done(2, work)))
    await asyncio.sleep(0)
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in found] == [Unavailable] * 3
    with pytest.raises(Unavailable, match="broke off"):
        raise found[0]  # type: ignore[misc]
    assert await together.done(3, work) == 6
