"""The client's own event loop, in a thread of its own.

Every command of a client runs there. So a memory may be used from any number of event loops and
threads at once, the synchronous client needs nothing else, and an agent that blocks its own loop
(on a full buffer, say) does not stop its events from being shipped.
"""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from hindsight_ray.errors import Unavailable

T = TypeVar("T")
_STOP_WAIT_S = 10.0


class LoopThread:
    """A daemon thread that runs one event loop until `stop`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="hindsight-client", daemon=True)
        self._thread.start()

    async def run(self, job: Coroutine[Any, Any, T]) -> T:
        """Run `job` on this loop and wait for it on the caller's own."""
        if asyncio.get_running_loop() is self._loop:
            return await job
        return await asyncio.wrap_future(self.submit(job))

    def wait(self, job: Awaitable[T]) -> T:
        """Run `job` on this loop; the calling thread waits."""
        return self.submit(job if inspect.iscoroutine(job) else _awaited(job)).result()

    def submit(self, job: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `job` on this loop. Raises `Unavailable` once the loop is stopped.

        Likewise in a process that was forked: threads stay behind, so nobody would ever answer.
        """
        if self._stopped:
            job.close()
            raise Unavailable("`client` is closed; open or connect again")
        if not self._thread.is_alive():
            job.close()
            raise _of_another_process()
        return asyncio.run_coroutine_threadsafe(job, self._loop)

    def create_task(self, job: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start `job` from within this loop."""
        return self._loop.create_task(job)

    def call_soon(self, callback: Any, *arguments: Any) -> None:
        """Have `callback` called on this loop, from whichever thread; nothing once stopped.

        Raises `Unavailable` in a process that was forked.
        """
        if not self._stopped and not self._thread.is_alive():
            raise _of_another_process()
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            if not self._stopped:
                raise

    @property
    def is_here(self) -> bool:
        """Whether the calling thread is this loop's own."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """End the loop after what it has in hand; waits for the thread unless called from it."""
        if self._stopped:
            return
        self._stopped = True
        # Two rounds, so that the job which called this can still hand over its result.
        self._loop.call_soon_threadsafe(lambda: self._loop.call_soon(self._loop.stop))
        if not self.is_here:
            self._thread.join(_STOP_WAIT_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._cancel_rest()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def _cancel_rest(self) -> None:
        rest = asyncio.all_tasks(self._loop)
        for task in rest:
            task.cancel()
        if rest:
            self._loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))


def _of_another_process() -> Unavailable:
    return Unavailable(
        "`client` was opened in the process that this one was forked from; open or connect here"
    )


async def _awaited(job: Awaitable[T]) -> T:
    return await job
