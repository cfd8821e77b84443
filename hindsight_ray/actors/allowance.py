"""How much of something may be in hand at once, where whatever is in hand takes memory."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Allowance:
    """Gives out amounts of a limit, in the order in which they are asked for. For one loop.

    **Guarantees**
    - What is given out at once never adds up to more than the limit, but for an amount that is
      more than that by itself: it is given out alone.
    - Nobody who came later goes first, so that a large amount does not wait for ever.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._given = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def of(self, amount: int) -> AsyncGenerator[None]:
        """Hold `amount` for as long as the context lasts; waits until there is so much."""
        if self._waiting or not self._fits(amount):
            await self._turn(amount)
        else:
            self._given += amount
        try:
            yield
        finally:
            self._give_back(amount)

    async def _turn(self, amount: int) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((amount, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._give_back(amount)
            self._pass_on()  # who came later may fit where this one did not
            raise

    def _fits(self, amount: int) -> bool:
        return not self._given or self._given + amount <= self._limit

    def _give_back(self, amount: int) -> None:
        self._given -= amount
        self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            amount, turn = self._waiting[0]
            if not turn.cancelled():
                if not self._fits(amount):
                    return
                self._given += amount
                turn.set_result(None)
            self._waiting.popleft()
