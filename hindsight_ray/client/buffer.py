"""The bounded queue between an agent's thread and the shipping of its events.

Appending builds the event under the lock, so that numbers follow each other without a gap and in
the order of the queue, from however many threads.
"""

import threading
from collections import deque
from collections.abc import Callable
from itertools import islice

from hindsight_ray.domain.event import Event
from hindsight_ray.errors import BufferFull, HindsightError, RunClosed


class EventBuffer:
    """At most `limit` events that nobody has acknowledged yet, oldest first.

    What `append` does when it is full is `when_full`: `block` waits for room, `drop` counts and
    forgets the event (its number stays used, so that the loss shows as a gap), `fail` raises
    `BufferFull`. `wake` is called, from the appending thread, when there is something to ship and
    nobody is shipping; `may_wait` says whether the current thread may be made to wait.
    """

    def __init__(
        self,
        *,
        limit: int,
        when_full: str,
        wake: Callable[[], None],
        may_wait: Callable[[], bool],
    ) -> None:
        self.dropped = 0
        self._limit = limit
        self._when_full = when_full
        self._wake = wake
        self._may_wait = may_wait
        self._events: deque[Event] = deque()
        self._room = threading.Condition(threading.Lock())
        self._next = 0
        self._taken = 0
        self._resting = True
        self._sealed = False
        self._refusal: BaseException | None = None

    def append(self, build: Callable[[int], Event]) -> Event:
        """Number, build and queue one event. An event that `build` refuses uses up no number."""
        with self._room:
            if self._sealed:
                raise RunClosed("`run` has been left; join it again to record more")
            full = len(self._events) >= self._limit and not self._made_room()
            event = build(self._next)
            self._next += 1
            if full:
                self.dropped += 1
                return event
            self._events.append(event)
            wake, self._resting = self._resting, False
        if wake:
            self._wake()
        return event

    def head(self, limit: int) -> tuple[Event, ...]:
        """The oldest events, at most `limit`; they stay until `take`."""
        with self._room:
            return tuple(islice(self._events, limit))

    def take(self, count: int) -> None:
        """Let go of the oldest `count` events: they are durable now."""
        with self._room:
            for _ in range(count):
                self._events.popleft()
            self._taken += count
            self._room.notify_all()

    def rest(self) -> bool:
        """Whether there is nothing to ship; if so, the next event will call `wake`."""
        with self._room:
            self._resting = not self._events
            return self._resting

    def refuse(self, error: BaseException) -> None:
        """Shipping has ended with `error`: whoever waits for room, or would, is told so."""
        with self._room:
            self._refusal = error
            self._room.notify_all()

    def revive(self) -> None:
        """Shipping is tried again."""
        with self._room:
            self._refusal = None

    def seal(self) -> None:
        """Take no more events."""
        with self._room:
            self._sealed = True
            self._room.notify_all()

    def unseal(self) -> None:
        """Take events again."""
        with self._room:
            self._sealed = False

    @property
    def taken(self) -> int:
        """How many events have ever been let go of."""
        return self._taken

    @property
    def end(self) -> int:
        """What `taken` will be once all that is queued now is durable."""
        with self._room:
            return self._taken + len(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def _made_room(self) -> bool:
        """Called when full, holding the lock: wait, say that the event is to drop, or raise."""
        if self._when_full == "drop":
            return False
        if self._when_full == "fail" or not self._may_wait():
            raise BufferFull(
                f"`buffer` holds {self._limit} events that are not shipped yet;"
                " `await run.flush()` makes room",
                limit=self._limit,
            )
        while len(self._events) >= self._limit:
            if self._refusal is not None:
                raise BufferFull(
                    f"`buffer` is full and cannot be shipped: {_words(self._refusal)}",
                    limit=self._limit,
                ) from self._refusal
            if self._sealed:
                raise RunClosed("`run` has been left; join it again to record more")
            self._room.wait()
        return True


def _words(error: BaseException) -> str:
    return error.message if isinstance(error, HindsightError) else repr(error)
