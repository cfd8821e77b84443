"""What every actor that answers commands does: build its world when first needed, ask the door.

Apart from the single actors, because the order in which a process comes up, drains and stops is
the same for all of them.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

from hindsight_ray.actors.cluster import own_node
from hindsight_ray.domain.commands import Command
from hindsight_ray.errors import Unavailable
from hindsight_ray.service import door
from hindsight_ray.service.world import Opened, World

STOPPING = "`deployment` is stopping; start it again with `hindsight-ray up`"

WorldFactory = Callable[[], Awaitable[Opened]]  # picklable: a restart builds the world anew


class Shell:
    """A process of the deployment. Subclasses say which commands come here.

    **Guarantees**
    - Nothing is decided or kept here: the door decides, the ledger keeps. A restarted process
      starts from the ledger and knows all that was acknowledged.
    - The world is built on the first call, not in the constructor, so that a home which is busy
      for a moment makes one call fail and not the actor.
    - After `drain` has returned, nothing is in flight here and every further call is refused.
    """

    def __init__(self, build: WorldFactory) -> None:
        self._build = build
        self._opened: Opened | None = None
        self._building = asyncio.Lock()
        self._running = 0
        self._idle = asyncio.Event()
        self._draining = False
        self._leaving = False
        self._answered = 0
        self._failed = 0

    async def call(self, token: str, command: Command) -> Any:
        """Answer one command. Raises what its verb raises, and `Unavailable` while stopping."""
        with self._in_hand():
            return await door.call(await self.world(), token, command)

    async def ready(self) -> int:
        """This process's id, once its world is built."""
        await self.world()
        return os.getpid()

    async def where(self) -> str:
        """The node that this process is on. Builds no world."""
        return own_node()

    async def state(self) -> dict[str, Any]:
        """How this process is: its id, its load, and the policy's revision as it sees it."""
        world = await self.world()
        async with world.ledger.reading() as unit:
            standing = await unit.policy.standing("", "")
        return {
            "pid": os.getpid(),
            "node_id": own_node(),
            "running": self._running,
            "answered": self._answered,
            "failed": self._failed,
            "revision": standing.revision,
        }

    async def drain(self, leaving: bool = False) -> None:
        """Let what is in flight finish, then close the stores.

        One that is `leaving` a deployment which goes on sends callers to the others.
        """
        self._leaving = leaving
        self._draining = True
        if self._running:
            await self._idle.wait()
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await opened.close()

    async def world(self) -> World:
        """The world of this process, built once."""
        if self._leaving:
            raise Unavailable("this process has left the deployment; ask another", leaving=True)
        if self._draining:
            raise Unavailable(STOPPING)
        if self._opened is None:
            async with self._building:
                if self._opened is None:
                    self._opened = await self._build()
        return self._opened.world

    @contextmanager
    def _in_hand(self) -> Generator[None]:
        """One piece of work: `drain` waits for it, and it has failed unless it ends well."""
        self._running += 1
        self._idle.clear()
        self._failed += 1
        try:
            yield
            self._failed -= 1
        finally:
            self._running -= 1
            self._answered += 1
            if self._running == 0:
                self._idle.set()
