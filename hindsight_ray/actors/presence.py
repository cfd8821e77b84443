"""Is the cluster that this process has joined still there? And parting from it once it is not.

Ray asks a cluster that is gone for a minute, holding up whoever asks, and then ends the process.
So nobody asks Ray while the cluster's head does not answer, be it gone or stopped, and a process
that has joined parts in time; whoever waits for an answer meanwhile is told.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from hindsight_ray.adapters.listening import answers
from hindsight_ray.errors import Unavailable

_PAUSE_S = 1.0
_AWAY_AFTER = 2  # looks in a row: one alone may be a hiccup
_GONE_AFTER = 30  # looks and seconds spent on them: half of what Ray lets pass before the end


class Presence:
    """Looked after on the loop of the calls, from the first of them on."""

    def __init__(
        self,
        address: str,
        part: Callable[[], None],
        *,
        listening: Callable[[str], bool] = answers,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """`part` undoes this process's tie to the cluster, if it was made here."""
        self.gone: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._address = address
        self._part = part
        self._listening = listening
        self._heard = listening(address)  # where it cannot be heard at all, silence says nothing
        self._pause_s = pause_s
        self._watch: asyncio.Task[None] | None = None
        self._missed = 0
        self._silent = 0.0
        self._waiting: set[asyncio.Task[Any]] = set()
        self._told: set[asyncio.Task[Any]] = set()

    def require(self) -> None:
        """Raises `Unavailable` unless the cluster answers at this moment."""
        if self._missed >= _AWAY_AFTER or not self._here():
            raise self._away()

    @contextmanager
    def waited_for(self) -> Generator[None]:
        """Around a wait for the cluster's answer: it ends with `Unavailable` if that goes away."""
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._look())
        if self._missed >= _AWAY_AFTER or self.gone.done():
            raise self._away()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a loop runs nothing else
        self._waiting.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if task in self._told and task.uncancel() == 0:
                raise self._away() from None
            raise
        finally:
            self._waiting.discard(task)
            self._told.discard(task)

    def close(self) -> None:
        """Look no longer."""
        if self._watch is not None:
            self._watch.cancel()

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        while not self.gone.done():
            began_s = loop.time()
            here = await asyncio.to_thread(self._here)
            self._missed = 0 if here else self._missed + 1
            self._silent = 0.0 if here else self._silent + 1 + loop.time() - began_s
            if self._missed == _AWAY_AFTER:
                self._told |= self._waiting
                for task in self._waiting:
                    task.cancel()
            if self._silent >= _GONE_AFTER:
                try:
                    await asyncio.to_thread(self._part)
                finally:
                    self.gone.set_result(None)
            await asyncio.sleep(self._pause_s)

    def _here(self) -> bool:
        return not self._heard or self._listening(self._address)

    def _away(self) -> Unavailable:
        return Unavailable(
            f"the deployment's cluster at {self._address!r} does not answer; `hindsight-ray status`"
            " tells of it, `hindsight-ray up` starts it again",
            address=self._address,
        )
