"""Jobs that run beside an answer, and are awaited before a home is left."""

import asyncio
from collections.abc import Awaitable

from hindsight_ray.errors import OverQuota

JOBS_MAX = 1_000


class BackgroundJobs:
    """Starts jobs on the running loop and keeps hold of them until they are done.

    What a job raises is raised by `finish`, so that no failure of one goes unseen.
    """

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self._failed: list[BaseException] = []

    def __call__(self, job: Awaitable[None]) -> None:
        """Start `job`. Raises `OverQuota` if `JOBS_MAX` are running."""
        if len(self._running) >= JOBS_MAX:
            raise OverQuota(f"`background` has {JOBS_MAX} jobs running; try again later")
        task = asyncio.get_running_loop().create_task(_awaited(job))
        self._running.add(task)
        task.add_done_callback(self._ended)

    @property
    def running(self) -> int:
        """How many are not done."""
        return len(self._running)

    async def finish(self) -> None:
        """Wait for every job; raise the first failure there was."""
        while self._running:
            await asyncio.wait(set(self._running))
        if self._failed:
            failed, self._failed = self._failed, []
            raise failed[0]

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed.append(error)


async def _awaited(job: Awaitable[None]) -> None:
    await job
