"""What many ask for at the same time, done in one go: whoever comes during one goes with the next.

Each waits for its own answer. Whoever is out of the ordinary is not taken along, and goes alone.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Generic, TypeVar

from hindsight_ray.errors import HindsightError, Unavailable

TOGETHER_MAX = 256  # in one go, so that nobody waits for an endless queue

T = TypeVar("T")
R = TypeVar("R")
Do = Callable[[Sequence[T]], Awaitable[Sequence[R | None]]]


class Together(Generic[T, R]):
    """Gathers what waits while something is under way. For one event loop.

    **Guarantees**
    - One go follows the other; each takes along those who came first, in their order.
    - Whoever is cancelled while it waits is left out.
    - An error of ours in a go is told to all whom it took along. After any other, which one of them
      must have caused, all go alone.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[T, asyncio.Future[R | None]]] = deque()
        self._going: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """How many wait for a go to begin."""
        return len(self._waiting)

    async def done(self, one: T, do: Do[T, R]) -> R | None:
        """Have `do` do `one` with the others; None if it did nothing for it, which goes alone.

        `do` is everybody's: it answers all that it is given, in their order.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[R | None] = loop.create_future()
        self._waiting.append((one, answer))
        if self._going is None or self._going.done():
            # In no call's context: what it takes is not the first one's alone.
            self._going = loop.create_task(self._go_on(do), context=Context())
        return await answer

    async def _go_on(self, do: Do[T, R]) -> None:
        while self._waiting:
            count = min(len(self._waiting), TOGETHER_MAX)
            taken = [self._waiting.popleft() for _ in range(count)]
            taken = [(one, answer) for one, answer in taken if not answer.done()]
            try:
                found = await do([one for one, _ in taken])
            except HindsightError as error:
                _fail(taken, error)
                continue
            except Exception:  # noqa: BLE001 - whoever it belongs to meets it again, alone
                found = [None] * len(taken)
            except BaseException as error:
                _fail([*taken, *self._waiting], Unavailable(f"what was asked broke off: {error!r}"))
                self._waiting.clear()
                raise
            for (_, answer), told in zip(taken, found, strict=True):
                if not answer.done():
                    answer.set_result(told)


def _fail(taken: Sequence[tuple[T, asyncio.Future[R | None]]], error: HindsightError) -> None:
    for _, answer in taken:
        if not answer.done():
            answer.set_exception(error)
