"""How async callers share connections: a fair queue before them, clean endings.

Waiting is a queue of futures that belong to no event loop, so that two loops of one process may
share a ledger. Whatever becomes of a caller, while it waits, in the middle of a unit, or as it
ends, its lane goes to the next.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Engine
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.lane import Lane
from hindsight_ray.errors import Busy, Unavailable
from hindsight_ray.ports.watching import spent_on

P = ParamSpec("P")
R = TypeVar("R")


class Turn:
    """One caller's place in the queue, and the lane that it got, until it is ended.

    Whose a lane is is said in one place, `lane.turn`, so that an interrupt between any two steps
    leaves it either free or somebody's who will end it.
    """

    def __init__(self, lanes: "Lanes") -> None:
        self._lanes = lanes
        self.lane: Lane | None = None  # its own only while that says so
        self.loop: asyncio.AbstractEventLoop | None = None
        self.came: Future[None] = Future()
        self.over = False

    @property
    def has_come(self) -> bool:
        return self.lane is not None and self.lane.turn is self

    async def come(self) -> Lane:
        """Wait for the lane. Raises `Busy` if none comes free in time."""
        await self._lanes.wait(self)
        assert self.lane is not None  # noqa: S101 - it has come
        return self.lane

    def end(self, *, write: bool) -> None:
        """Roll back what is open and pass the lane on, both in the lane's order, or leave the
        queue; never waits. May be said again if it was interrupted."""
        self._lanes.leave(self)
        lane = self.lane
        if lane is None or not self.has_come:
            return
        if lane.ends_here(write):
            self._lanes.give_back(self)
        else:
            self.end_later(lane)

    def end_later(self, lane: Lane) -> None:
        lane.submit(lane.end, self).add_done_callback(lambda _: self._lanes.give_back(self))


class Lanes:
    """At most `size` lanes, handed out in the order in which they were asked for."""

    def __init__(self, engine: Engine, *, size: int, wait_s: float, name: str) -> None:
        self._engine = engine
        self._name = name
        self._wait_s = wait_s
        # Entered anew by its holder: what is collected there may be a caller, which then ends.
        self._guard = threading.RLock()
        self._made: list[Lane] = []
        self._size = size
        self._waiting: deque[Turn] = deque()
        self._closed = False

    def turn(self) -> Turn:
        return Turn(self)

    async def wait(self, turn: Turn) -> None:
        turn.loop = asyncio.get_running_loop()
        with self._guard:
            if self._closed:
                raise Unavailable("`ledger` is closed; open the home again")
            self._waiting.append(turn)
            self._serve()
        if turn.has_come:
            return
        try:
            with spent_on("ledger"):
                came = asyncio.shield(asyncio.wrap_future(turn.came))
                await asyncio.wait_for(came, timeout=self._wait_s)
        except TimeoutError:
            raise Busy(
                f"`{self._name}` was taken by others for {self._wait_s:g} s; try again"
            ) from None

    def _serve(self) -> None:
        """Give free lanes to whoever waits, but to nobody whose event loop is closed."""
        while self._waiting:
            turn = self._waiting[0]
            if not turn.has_come and not turn.over and not _gone(turn):
                lane = self._free()
                if lane is None:
                    return
                turn.lane = lane
                if lane.turn is None and not turn.over:
                    lane.turn = turn
            if turn.has_come and not turn.came.done():
                turn.came.set_result(None)
            if turn.has_come or turn.over or _gone(turn):
                self._strike(turn)

    def _free(self) -> Lane | None:
        for lane in self._made:
            turn = lane.turn
            if turn is None:
                return lane
            if isinstance(turn, Turn) and _gone(turn) and not turn.over:
                turn.over = True  # it had the lane and will never end its turn
                turn.end_later(lane)
        if len(self._made) == self._size:
            return None
        self._made.append(Lane(self._engine, self._name))
        return self._made[-1]

    def _strike(self, turn: Turn) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)

    def leave(self, turn: Turn) -> None:
        """Wait no longer."""
        with self._guard:
            turn.over = True
            self._strike(turn)

    def give_back(self, turn: Turn) -> None:
        with self._guard:
            if turn.lane is not None and turn.has_come:
                turn.lane.turn = None
            self._serve()

    async def close(self) -> None:
        """Wait for the lanes in use, then close each connection in its own thread."""
        with self._guard:
            if self._closed:
                return
        turns = [self.turn() for _ in range(self._size)]
        try:
            lanes = [await turn.come() for turn in turns]
        except BaseException:
            for turn in turns:
                turn.end(write=False)
            raise
        with self._guard:
            self._closed = True
        for lane in lanes:
            await asyncio.wrap_future(lane.close())


def _gone(turn: Turn) -> bool:
    """Whether nobody can be told: it was waiting in an event loop that has been closed."""
    return turn.loop is not None and turn.loop.is_closed()


class Work:
    """One transaction on a lane; what the logs of a unit run their statements through."""

    def __init__(self, lanes: Lanes, *, write: bool) -> None:
        self._turn = lanes.turn()
        self._write = write
        self._open = False
        self.changed_memories = False  # if so, what it sees of them is nobody else's yet
        self.changed_policy = False  # likewise
        self._kept: list[Callable[[], None]] = []
        self._last: list[Any] = []
        self._say: Callable[[Connection, list[Any]], None] | None = None

    async def begin(self) -> None:
        """Wait for a lane. Raises `Busy` if none comes free in time."""
        self._lane = await self._turn.come()
        self._open = True

    async def do(
        self, job: Callable[Concatenate[Connection, P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run `job(connection, …)` in the transaction."""
        if not self._open:
            raise RuntimeError("this unit of work has ended")
        with spent_on("ledger"):
            return await asyncio.wrap_future(
                self._lane.submit(self._lane.within, self._write, job, *args, **kwargs)
            )

    async def brief(
        self, job: Callable[Concatenate[Connection, P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """The same for a job of a few short statements, which need not be taken elsewhere."""
        lane, write = self._lane, self._write
        if self._open and (lane.at_hand(write) or lane.begins_here(write)):
            with spent_on("ledger"):
                return lane.within(write, job, *args, **kwargs)
        return await self.do(job, *args, **kwargs)

    def once_kept(self, learn: Callable[[], None]) -> None:
        """Have this called once what the transaction sees is everybody's: a reader's is already."""
        if self._write:
            self._kept.append(learn)
        else:
            learn()

    def say_last(self, row: Any, say: Callable[[Connection, list[Any]], None]) -> None:
        """Have `row` written at the end of the transaction, together with all that were given."""
        if not self._open:
            raise RuntimeError("this unit of work has ended")
        self._last.append(row)
        self._say = say

    async def said(self) -> None:
        """Write now what was to be written last: somebody wants to read it."""
        if self._last:
            await self.do(self._saying)

    def _saying(self, connection: Connection) -> None:
        if self._last and self._say is not None:
            self._say(connection, self._last)
            self._last = []

    @asynccontextmanager
    async def step(self) -> AsyncGenerator[None]:
        """A savepoint: left by an exception, what was done in it is undone, and no more."""
        await self.brief(dialect.savepoint)
        last, kept = len(self._last), len(self._kept)
        try:
            yield
        except BaseException as error:
            del self._last[last:], self._kept[kept:]
            undone = self._lane.submit(self._lane.undo)
            if not isinstance(error, GeneratorExit):  # else nobody is there to wait
                await self._surely(undone)
            raise
        if self._lane.at_hand(self._write):
            self._lane.within(self._write, dialect.release)
        else:
            keep = self._lane.submit(self._lane.within, self._write, dialect.release)
            await self._surely(keep)

    async def _surely(self, done: Future[None]) -> None:
        """Wait for what is under way, which happens even if the caller is cancelled."""
        await asyncio.shield(asyncio.wrap_future(done))

    async def commit(self) -> None:
        self._open = False
        with spent_on("ledger"):
            await asyncio.wrap_future(self._lane.submit(self._end_well))
        for learn in self._kept:
            learn()

    def _end_well(self) -> None:
        if self._last:
            self._lane.within(self._write, self._saying)
        self._lane.commit()

    def end(self) -> None:
        """Roll back what is open and pass the lane on; never waits. Whatever interrupts it."""
        self._open = False
        try:
            self._turn.end(write=self._write)
        except BaseException:
            self._turn.end(write=self._write)
            raise
