"""What keeps batches in hand bounded: amounts of a limit, first come, first served."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from hindsight_ray.actors.allowance import Allowance


class _Holders:
    """Asks an allowance for amounts, each in a task of its own, and lets go when told."""

    def __init__(self, limit: int) -> None:
        self.allowance = Allowance(limit)
        self.held: list[str] = []
        self.release: dict[str, asyncio.Event] = {}

    def ask(self, name: str, amount: int) -> asyncio.Task[None]:
        self.release[name] = asyncio.Event()
        return asyncio.create_task(self._hold(name, amount))

    async def _hold(self, name: str, amount: int) -> None:
        async with self.allowance.of(amount):
            self.held.append(name)
            try:
                await self.release[name].wait()
            finally:
                self.held.remove(name)


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_as_much_is_held_as_fits_and_the_rest_waits_in_order() -> None:
    holders = _Holders(10)
    tasks = [holders.ask(name, amount) for name, amount in (("a", 6), ("b", 4), ("c", 7), ("d", 1))]
    await _settled()
    assert holders.held == ["a", "b"]
    holders.release["b"].set()
    await _settled()
    assert holders.held == ["a"], "`d` would fit, and came after `c`"
    holders.release["a"].set()
    await _settled()
    assert holders.held == ["c", "d"]
    for name in ("c", "d"):
        holders.release[name].set()
    await asyncio.gather(*tasks)


async def test_what_is_more_than_the_limit_goes_alone() -> None:
    holders = _Holders(10)
    tasks = [holders.ask(name, amount) for name, amount in (("a", 1), ("b", 11), ("c", 1))]
    await _settled()
    assert holders.held == ["a"]
    holders.release["a"].set()
    await _settled()
    assert holders.held == ["b"]
    holders.release["b"].set()
    await _settled()
    assert holders.held == ["c"]
    holders.release["c"].set()
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("moment", ["waiting", "holding", "given and not yet awake"])
async def test_whoever_gives_up_takes_nothing_along(moment: str) -> None:
    holders = _Holders(10)
    first = holders.ask("a", 10)
    second, third = holders.ask("b", 10), holders.ask("c", 4)
    await _settled()
    if moment == "waiting":
        second.cancel()
        await _settled()
        assert holders.held == ["a"]
    if moment != "waiting":
        holders.release["a"].set()
    if moment == "holding":
        await _settled()
        assert holders.held == ["b"]
        second.cancel()
    if moment == "given and not yet awake":
        for _ in range(10):
            if not first.done():
                await asyncio.sleep(0)
        assert not holders.held, "`b` was given its turn just now"
        second.cancel()
    holders.release["a"].set()
    await _settled()
    assert holders.held == ["c"]
    holders.release["c"].set()
    await asyncio.gather(first, third)
    assert second.cancelled()
    async with AsyncExitStack() as all_of_it:  # nothing is held for anybody any more
        for _ in range(10):
            await all_of_it.enter_async_context(holders.allowance.of(1))
