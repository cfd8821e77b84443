"""Group commit: how writers that come at the same time share one transaction and one fsync.

A wrapper around any ledger, so that services stay ignorant of it: each `writing()` still takes
effect alone or not at all (a savepoint), and still returns only after its commit. What is shared
is the commit itself, which on a disk costs more than the rows.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from hindsight_ray.errors import HindsightError, StorageFailed, Unavailable
from hindsight_ray.ports import Ledger, Unit
from hindsight_ray.ports.watching import spent_on

GROUP_WRITERS_MAX = 256


@dataclass(eq=False, slots=True)
class _Turn:
    """One writer: waits for `unit`, sets `done`, and waits for `committed`."""

    unit: asyncio.Future[Unit]
    committed: asyncio.Future[None]
    done: asyncio.Event = field(default_factory=asyncio.Event)
    broken: bool = False  # its step could not be undone: nobody's may be kept


class GroupedLedger:
    """A ledger whose concurrent `writing()` blocks are committed in groups.

    **Guarantees**
    - A block that is left well is durable when `writing()` returns; one left by an exception
      has changed nothing, whatever the others of its group did.
    - Blocks run one after the other in the order of their arrival, each seeing the earlier ones.
    - If the commit fails, every block of the group raises; none is acknowledged.
    - At most `GROUP_WRITERS_MAX` blocks share a commit, so that none waits for an endless queue.
    """

    def __init__(self, inner: Ledger) -> None:
        self._inner = inner
        self._waiting: deque[_Turn] = deque()
        self._leader: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many writers wait for their turn."""
        return len(self._waiting)

    def reading(self) -> AbstractAsyncContextManager[Unit]:
        return self._inner.reading()

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[Unit]:
        turn = self._queued()
        try:
            with spent_on("ledger"):
                unit = await turn.unit
            entered = False
            try:
                async with unit.step():
                    entered = True
                    yield unit
            except StorageFailed:
                turn.broken = True
                raise
            finally:
                turn.broken = turn.broken or not entered
        except BaseException:
            turn.committed.cancel()
            raise
        finally:
            turn.done.set()
        with spent_on("ledger"):
            await turn.committed

    async def close(self) -> None:
        if self._leader is not None:
            await asyncio.wait([self._leader])
        await self._inner.close()

    def _queued(self) -> _Turn:
        loop = asyncio.get_running_loop()
        turn = _Turn(loop.create_future(), loop.create_future())
        self._waiting.append(turn)
        if self._leader is None or self._leader.done():
            self._leader = loop.create_task(self._lead())
        return turn

    async def _lead(self) -> None:
        while self._waiting:
            group: list[_Turn] = []
            try:
                await self._run(group)
            except HindsightError as error:
                _fail(group or self._taken(), error)
            except BaseException:
                _fail([*group, *self._taken()], Unavailable("`ledger` stopped before the commit"))
                raise
            else:
                for turn in group:
                    if not turn.committed.done():
                        turn.committed.set_result(None)

    async def _run(self, group: list[_Turn]) -> None:
        """Give each waiting writer its turn in one transaction, filling `group`, and commit."""
        async with self._inner.writing() as unit:
            while self._waiting and len(group) < GROUP_WRITERS_MAX:
                turn = self._waiting.popleft()
                if turn.unit.cancelled():
                    continue
                group.append(turn)
                turn.unit.set_result(unit)
                await turn.done.wait()
                if turn.broken:
                    raise StorageFailed(
                        "`ledger` could not undo one writer of a group, so none was committed;"
                        " send the batch again"
                    )

    def _taken(self) -> list[_Turn]:
        """Everybody who waits: the transaction did not even begin."""
        turns = list(self._waiting)
        self._waiting.clear()
        return turns


def _fail(turns: list[_Turn], error: HindsightError) -> None:
    for turn in turns:
        future = turn.committed if turn.unit.done() else turn.unit
        if not future.done():
            future.set_exception(error)
