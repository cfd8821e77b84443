"""The steward, built plainly: its world's clock says when it looks after which tenants."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hindsight_ray.actors.steward import Steward
from hindsight_ray.domain.commands import Write
from hindsight_ray.service.world import Opened
from hindsight_ray.service.write import write
from tests.worlds import Staged, world


def _steward(home: Staged, *, every_s: float, size: int = 2) -> Steward:
    async def opened() -> Opened:
        async def close() -> None:
            """The world belongs to the test."""

        return Opened(home.world, close)

    return Steward(opened, every_s, size, start=None)


async def _fill(home: Staged, tenant: str, count: int) -> None:
    alice = await home.caller(user="alice", tenant=tenant)
    for n in range(count):
        named = {"command_id": f"{tenant}{n}", "content": f"Shelf {n} holds {n} jars"}
        await write(home.world, alice, Write.model_validate(named))


@pytest.mark.covers("life.steward")
async def test_every_tenant_is_looked_after_when_the_clock_says_so(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        await _fill(home, "acme", 5)
        await _fill(home, "globex", 1)
        steward = _steward(home, every_s=3_600)
        first = await steward.turn()
        assert {tenant: sum(s.looked_at for s in done) for tenant, done in first.items()} == {
            "acme": 5,
            "globex": 1,
        }
        assert all(one.looked_at <= 2 for one in first["acme"])
        assert await steward.turn() == {}
        home.clock.advance(seconds=3_599)
        assert await steward.turn() == {}
        home.clock.advance(days=91)
        done = await steward.turn()
        assert sum(len(one.archived) for one in done["acme"]) == 5
        async with home.world.ledger.reading() as unit:
            entry = (await unit.audit.newest("acme", limit=1))[0]
        assert (entry.principal, entry.verb) == ("agent:steward", "Maintain")


@pytest.mark.covers("life.steward")
async def test_a_restarted_steward_goes_on_where_the_one_before_had_come_to(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as home:
        await _fill(home, "acme", 3)
        home.clock.advance(days=91)
        before = _steward(home, every_s=60)
        before._stopped.set()  # ended before its first slice
        assert await before.turn() == {"acme": []}
        after = await _steward(home, every_s=60).turn()
        assert sum(len(one.archived) for one in after["acme"]) == 3


async def test_draining_waits_for_what_runs_beside_and_ends_it(tmp_path: Path) -> None:
    begun = threading.Event()
    ended: list[float] = []

    def start(work: Callable[[], None]) -> Callable[[float], None]:
        assert work is not None
        begun.set()
        return ended.append

    async with world(tmp_path) as home:

        async def opened() -> Opened:
            async def close() -> None:
                """The world belongs to the test."""

            return Opened(home.world, close)

        steward = Steward(opened, 60.0, 10, start=start)
        assert begun.is_set()
        assert await steward.ready() > 0
        await steward.drain()
        assert len(ended) == 1
