"""How async callers share connections: a thread each, a fair queue before them, clean endings.

A connection has one worker thread, so a port call is one hop and the statements inside it run
without another. Over a file, where a statement takes microseconds, a short call is made where it is
asked for, and begins its transaction there if the lock is free: the hop would cost several times
the call. What may wait, for a lock or the disk, never is. Waiting is a queue of futures that belong
to no event loop, so that two loops of one process may share a ledger. Whatever becomes of a caller
in the middle of a unit, its transaction is ended before the next unit gets the connection.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Engine
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.errors import Busy, StorageFailed, Unavailable
from hindsight_ray.ports.watching import spent_on

P = ParamSpec("P")
R = TypeVar("R")


class Lane:
    """One connection and its thread. Nobody else touches it while that has anything to do."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._failed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._in_process = dialect.in_process(engine)
        self._given = 0  # jobs of the thread, counted by whoever holds the lane,
        self._done = 0  # and by the thread

    def submit(self, job: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        self._given += 1
        return self._thread.submit(self._counted, job, *args, **kwargs)

    def _counted(self, job: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return job(*args, **kwargs)
        finally:
            self._done += 1

    def at_hand(self, write: bool) -> bool:
        """Whether a short job may be done here and now: nothing is under way, nothing to wait for.

        A reader's snapshot waits for nobody; a writer's transaction must have begun.
        """
        if self._connection is None or not self._rests():
            return False
        return not write or self._connection.in_transaction()

    def begins_here(self, write: bool) -> bool:
        """Begin a writer's transaction now if nobody has the lock, and say so."""
        connection = self._connection
        if not write or connection is None or not self._rests() or connection.in_transaction():
            return False
        with self._told():
            return dialect.begin_unless_locked(connection)

    def ends_here(self, write: bool) -> bool:
        """End now if there is nothing to wait for, and say so."""
        connection = self._connection
        if not self._rests() or (write and connection is not None and connection.in_transaction()):
            return False
        self._end()
        return True

    def _rests(self) -> bool:
        return self._in_process and self._given == self._done

    def within(
        self,
        write: bool,
        job: Callable[Concatenate[Connection, P], R],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        """Run `job` inside the lane's transaction, which the first job begins. In the thread.

        Once the disk has refused, every later job of the transaction is refused, and its commit:
        what would be kept then is a part, or rows that stand outside any transaction.
        """
        with self._told():
            if self._connection is not None and self._connection.in_transaction():
                self._refuse_after_failure(self._connection)
                return job(self._connection, *args, **kwargs)
            waited = self._connection is not None  # a server may have ended it in the meantime
            try:
                return job(self._begun(write), *args, **kwargs)
            except DBAPIError as error:
                if write or not (waited and error.connection_invalidated):
                    raise
            self._drop()
            return job(self._begun(write), *args, **kwargs)

    def _begun(self, write: bool) -> Connection:
        """The lane's connection in a new transaction. Nothing was said in it that could be lost."""
        if self._connection is None:
            self._connection = self._engine.connect()
            dialect.begin(self._connection, write=write)
            return self._connection
        try:
            dialect.begin(self._connection, write=write)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            self._drop()
            return self._begun(write)
        return self._connection

    def undo(self) -> None:
        """Go back to the savepoint, which a failed statement of the transaction may be after."""
        with self._told():
            if self._connection is not None:
                self._refuse_after_failure(self._connection)
                dialect.to_savepoint(self._connection)

    def alone(self, job: Callable[[Connection], R]) -> R:
        """Run `job` outside any transaction, which the lane must not have. In the thread."""
        with self._told():
            if self._connection is None:
                self._connection = self._engine.connect()
            return job(self._connection)

    def commit(self) -> None:
        """Make the transaction durable, if one was begun. In the thread."""
        with self._told():
            if self._connection is not None and self._connection.in_transaction():
                self._refuse_after_failure(self._connection)
                if dialect.broken(self._connection):
                    raise _given_up()
                self._connection.commit()

    def _refuse_after_failure(self, connection: Connection) -> None:
        if self._failed or connection.invalidated or dialect.undone(connection):
            raise _given_up()

    @contextmanager
    def _told(self) -> Generator[None]:
        """Raise a driver's error as one that a caller may handle, and remember a bad one."""
        try:
            yield
        except DBAPIError as error:
            known = dialect.translated(error, self._engine)
            if known is None:
                raise
            self._failed = self._failed or isinstance(known, StorageFailed | Unavailable)
            raise known from error

    def end(self) -> None:
        """Undo what was not committed. In the thread, as the last job of a unit."""
        self._done = self._given - 1  # some may have been withdrawn
        self._end()

    def _end(self) -> None:
        """Roll back; drop a connection that cannot even do that."""
        self._failed = False
        if self._connection is None:
            return
        try:
            self._connection.rollback()
        except DBAPIError:
            self._drop()
        else:
            if self._connection.invalidated:
                self._drop()

    def _drop(self) -> None:
        """Part from a connection that is of no use any more."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def close(self) -> Future[None]:
        done = self.submit(self._close)
        self._thread.shutdown(wait=False)
        return done

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Lanes:
    """At most `size` lanes, handed out in the order in which they were asked for."""

    def __init__(self, engine: Engine, *, size: int, wait_s: float, name: str) -> None:
        self._engine = engine
        self._name = name
        self._wait_s = wait_s
        self._guard = threading.Lock()
        self._idle: list[Lane] = []
        self._unmade = size
        self._size = size
        self._waiting: deque[Future[Lane]] = deque()
        self._closed = False

    async def take(self) -> Lane:
        """A lane of one's own. Raises `Busy` if none comes free in time."""
        with self._guard:
            if self._closed:
                raise Unavailable("`ledger` is closed; open the home again")
            if not self._waiting:
                lane = self._free()
                if lane is not None:
                    return lane
            turn: Future[Lane] = Future()
            self._waiting.append(turn)
        try:
            with spent_on("ledger"):
                return await asyncio.wait_for(
                    asyncio.shield(asyncio.wrap_future(turn)), timeout=self._wait_s
                )
        except TimeoutError:
            self._withdraw(turn)
            raise Busy(
                f"`{self._name}` was taken by others for {self._wait_s:g} s; try again"
            ) from None
        except asyncio.CancelledError:
            self._withdraw(turn)
            raise

    def _free(self) -> Lane | None:
        if self._idle:
            return self._idle.pop()
        if self._unmade:
            self._unmade -= 1
            return Lane(self._engine, self._name)
        return None

    def _withdraw(self, turn: Future[Lane]) -> None:
        """Leave the queue; if the turn had come in the meantime, pass the lane on."""
        with self._guard:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return
        self.give_back(turn.result())

    def give_back(self, lane: Lane) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set_result(lane)
            else:
                self._idle.append(lane)

    async def close(self) -> None:
        """Wait for the lanes in use, then close each connection in its own thread."""
        with self._guard:
            if self._closed:
                return
        lanes = [await self.take() for _ in range(self._size)]
        with self._guard:
            self._closed = True
        for lane in lanes:
            await asyncio.wrap_future(lane.close())


class Work:
    """One transaction on a lane; what the logs of a unit run their statements through."""

    def __init__(self, lanes: Lanes, lane: Lane, *, write: bool) -> None:
        self._lanes = lanes
        self._lane = lane
        self._write = write
        self._open = True
        self.changed_memories = False  # if so, what it sees of them is nobody else's yet
        self.changed_policy = False  # likewise
        self._kept: list[Callable[[], None]] = []
        self._last: list[Any] = []
        self._say: Callable[[Connection, list[Any]], None] | None = None

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
        except BaseException:
            del self._last[last:], self._kept[kept:]
            await self._surely(self._lane.submit(self._lane.undo))
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
        """Roll back what is open and pass the lane on, both in the lane's order; never waits."""
        self._open = False
        lanes, lane = self._lanes, self._lane
        if lane.ends_here(self._write):
            lanes.give_back(lane)
        else:
            lane.submit(lane.end).add_done_callback(lambda _: lanes.give_back(lane))


def _given_up() -> StorageFailed:
    return StorageFailed(
        "`ledger` gave this transaction up after an earlier failure in it; nothing was acknowledged"
    )
