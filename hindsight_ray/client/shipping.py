"""Shipping: batches of events go out in order, are kept until acknowledged, and tried again.

At least once: a batch whose answer was lost is sent again as it was, and the memory counts the
events that it has already. One batch at a time, so that an agent's events arrive in order.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from hindsight_ray.client.buffer import EventBuffer
from hindsight_ray.client.loop import LoopThread
from hindsight_ray.domain.event import Event, SequenceGap
from hindsight_ray.domain.run import RecordAck
from hindsight_ray.errors import Busy, RateLimited, StorageFailed, Unavailable, Unfinished

R = TypeVar("R")
Pause = Callable[[float], Awaitable[None]]

PASSING = (Busy, RateLimited, StorageFailed, Unavailable, Unfinished)  # worth trying again
FLUSH_TRIES = 4
_LINGER_S = 0.02  # how long a lone event waits for company
_PAUSE_FIRST_S = 0.05
_PAUSE_MAX_S = 5.0


class Shipper:
    """Sends what is in a buffer. All of it runs on the client's own loop, except `wake`."""

    def __init__(
        self,
        loop: LoopThread,
        send: Callable[[tuple[Event, ...]], Awaitable[RecordAck]],
        *,
        batch: int,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self.stored = 0
        self.repeated = 0
        self.gaps: tuple[SequenceGap, ...] = ()
        self.buffer: EventBuffer
        self._loop = loop
        self._send = send
        self._batch = batch
        self._pause = pause
        self._one_at_a_time = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Start shipping in the background; callable from every thread."""
        self._loop.call_soon(self._start)

    async def drain(self) -> None:
        """Ship what is queued now. Raises the error of a failing batch and keeps its events."""
        self.buffer.revive()
        goal = self.buffer.end
        try:
            while self.buffer.taken < goal:
                await self.tried(self._ship_one)
        except (*PASSING, asyncio.CancelledError):
            self._start()  # what passes by itself is tried again in the background
            raise
        except BaseException as error:
            self.buffer.refuse(error)
            raise
        if not self.buffer.rest():
            self._start()

    async def tried(self, job: Callable[[], Awaitable[R]]) -> R:
        """Do `job`, again after errors that pass by themselves, `FLUSH_TRIES` times in all."""
        for attempt in range(FLUSH_TRIES - 1):
            try:
                return await job()
            except PASSING:
                await self._pause(_pause_s(attempt))
        return await job()

    async def stop(self) -> None:
        """End shipping in the background; what is queued stays queued."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._ship_on())
            self._task.add_done_callback(self._ended)

    async def _ship_on(self) -> None:
        """Ship until the buffer is empty. Errors that pass are waited out; others end this."""
        attempt = 0
        await self._pause(_LINGER_S)
        while not self.buffer.rest():
            try:
                await self._ship_one()
                attempt = 0
            except PASSING:
                await self._pause(_pause_s(attempt))
                attempt += 1

    async def _ship_one(self) -> None:
        async with self._one_at_a_time:
            batch = self.buffer.head(self._batch)
            if not batch:
                return
            ack = await self._send(batch)
            self.buffer.take(len(batch))
        self.stored += ack.stored
        self.repeated += ack.repeated
        self.gaps = ack.gaps

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.buffer.refuse(error)
        elif not self.buffer.rest():
            self._start()  # an event came while this task was on its way out


def _pause_s(attempt: int) -> float:
    return min(_PAUSE_FIRST_S * 2.0**attempt, _PAUSE_MAX_S)
