"""One connection of a ledger and its thread: what runs there, what here, and how it ends.

A connection has one worker thread, so a port call is one hop and the statements inside it run
without another. Over a file, where a statement takes microseconds, a short call is made where it is
asked for, and begins its transaction there if the lock is free: the hop would cost several times
the call. What may wait, for a lock or the disk, never is. Whatever becomes of a caller in the
middle of a unit, its transaction is ended before the next unit gets the connection.
"""

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Engine
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.errors import StorageFailed, Unavailable

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
        self.turn: object = None  # whose it is; nobody's if it is free
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
        except Exception:
            raise
        except BaseException:  # interrupted anywhere: nobody knows what was done
            self._failed = True
            raise

    def end(self, turn: object) -> None:
        """Undo what was not committed. In the thread, as the last job of a unit, whose turn it is:
        one that was interrupted while it ended has given the job twice."""
        if self.turn is turn:
            self._done = self._given - 1  # some may have been withdrawn
            self._end()

    def _end(self) -> None:
        """Roll back; drop a connection that cannot even do that, or is interrupted in it.

        What the driver has begun counts: an interrupt may come before SQLAlchemy hears of it.
        """
        self._failed = False
        connection = self._connection
        if connection is None:
            return
        try:
            connection.rollback()
            usable = not connection.invalidated
            if usable:
                connection.connection.rollback()  # the driver's own; nothing where nothing is open
        except Exception:  # noqa: BLE001 - whatever it was, a new connection has none of it
            usable = False
        except BaseException:
            self._drop()
            raise
        if not usable:
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


def _given_up() -> StorageFailed:
    return StorageFailed(
        "`ledger` gave this transaction up after an earlier failure in it; nothing was acknowledged"
    )
