"""The steward: looks after every tenant's memories, slice by slice, as its clock says.

And after reviews that nobody has made because whoever was to make them has been stopped.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from datetime import datetime

from hindsight_ray.actors.shell import Shell, WorldFactory
from hindsight_ray.domain.upkeep import Maintained
from hindsight_ray.errors import HindsightError
from hindsight_ray.service import review_due
from hindsight_ray.service.maintain import steward_slice

_log = logging.getLogger(__name__)
_LOOK_S = 1.0  # how often it looks at its clock; whether anything is due is the clock's to say

Start = Callable[[Callable[[], None]], Callable[[float], None]]
"""Runs a function beside this process's calls; gives back how to wait for its end."""


def beside(work: Callable[[], None]) -> Callable[[float], None]:
    """In a thread of its own, which ends with the process at the latest."""
    thread = threading.Thread(target=work, name="steward", daemon=True)
    thread.start()
    return thread.join


class Steward(Shell):
    """Archives what is cold, expired or too much, and lets go what was archived long enough.

    **Guarantees** (beside those of `Shell`)
    - A pass begins every `upkeep_every_s` of its world's clock, and goes in slices of
      `upkeep_slice` memories: nobody waits for more than one of them.
    - Where a slice has come to is in the ledger with what it did, so a restart goes on there.
    - One tenant that cannot be looked after keeps no other from it.
    - A run that ended within the last day and was never reviewed, though it should have been, is
      handed to the reviewers, once by each process of the steward, which remembers those of a day.
    """

    def __init__(
        self, build: WorldFactory, every_s: float, size: int, start: Start | None = beside
    ) -> None:
        super().__init__(build)
        self._every_s = every_s
        self._size = size
        self._next_s: float | None = None
        self._handed: dict[str, datetime] = {}
        self._stopped = threading.Event()
        self._wait = None if start is None else start(self._patrol)

    async def turn(self) -> dict[str, list[Maintained]]:
        """A pass over every tenant if one is due; what was done, by tenant."""
        world = await self.world()
        now_s = world.clock.steady_s()
        if self._next_s is not None and now_s < self._next_s:
            return {}
        self._next_s = now_s + self._every_s
        async with world.ledger.reading() as unit:
            tenants = await unit.policy.tenants()
        done: dict[str, list[Maintained]] = {}
        for tenant in tenants:
            try:
                done[tenant] = await self._pass(tenant)
                await self._hand_overdue(tenant)
            except HindsightError as error:
                _log.warning("tenant %s is looked after next time: %s", tenant, error)
        return done

    @property
    def handed(self) -> tuple[str, ...]:
        """The runs whose reviews it has handed over, as far as it must remember them."""
        return tuple(self._handed)

    async def ready(self) -> int:
        """This process's id. Its world is that of its own loop."""
        return os.getpid()

    async def drain(self, leaving: bool = False) -> None:
        self._stopped.set()
        if self._wait is not None:
            await asyncio.to_thread(self._wait, _LOOK_S * 10)
        await super().drain(leaving)

    async def _pass(self, tenant: str) -> list[Maintained]:
        slices: list[Maintained] = []
        while not self._stopped.is_set():
            slices.append(await steward_slice(await self.world(), tenant, self._size))
            if slices[-1].done:
                break
        return slices

    async def _hand_overdue(self, tenant: str) -> None:
        world = await self.world()
        now = world.clock.now()
        # What was handed before that ended before that: it is overdue no longer.
        since = now - review_due.LOOKED_BACK
        self._handed = {run: at for run, at in self._handed.items() if at > since}
        for due in await review_due.overdue(world, tenant, but=self._handed):
            if self._stopped.is_set():
                return
            self._handed[due.run_id] = now
            await review_due.handed(world, due)

    def _patrol(self) -> None:
        asyncio.run(self._turns())

    async def _turns(self) -> None:
        """In a loop of its own: its world is another than that of the calls."""
        own = Steward(self._build, self._every_s, self._size, start=None)
        own._stopped = self._stopped
        while not self._stopped.is_set():
            try:
                await own.turn()
            except HindsightError as error:
                _log.warning("upkeep waits: %s", error)
            await asyncio.to_thread(self._stopped.wait, _LOOK_S)
        await own.drain()
