"""Ports at which every call parks until a seeded scheduler lets one go: interleavings on demand.

Wraps the real ledger, store and embedder of a world. One call runs at a time, so a seed is a
schedule; whoever watches is told when a unit of work takes its snapshot and when it has committed.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, TypeVar, cast

from sqlalchemy import Engine

from hindsight_ray.adapters.ledger.sql import connection, dialect, lane
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.ports import Embedder, Ledger, MemoryStore, Purpose, Unit, Vector

T = TypeVar("T")
_SETTLED = 12  # turns of the loop after which whoever could go on has done so


class InThisThread:
    """An executor that does the job at once: one call at a time needs no threads to wait for."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, job: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(job(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - it is the future's to raise
            done.set_exception(error)
        return done

    def shutdown(self, *, wait: bool = True) -> None:
        del wait


class _AtOnce:
    """`asyncio`, in which what is done already is not waited for: no turn of the loop."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    def wrap_future(future: Future[T]) -> asyncio.Future[T]:
        if not future.done():
            return asyncio.wrap_future(future)
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        error = future.exception()
        if error is None:
            done.set_result(future.result())
        else:
            done.set_exception(error)
        return done


class _OneDialect:
    """Engines that share a dialect, and so every statement that was compiled once."""

    def __init__(self, made: Callable[..., Engine]) -> None:
        self._made = made
        self._first: Engine | None = None

    def __call__(self, where: Any, **how: Any) -> Engine:
        engine = self._made(where, **how)
        if engine.dialect.name == "sqlite":
            if self._first is None:
                self._first = engine
            engine.dialect = self._first.dialect
            cast(Any, engine)._compiled_cache = cast(Any, self._first)._compiled_cache
        return engine


_ONE_DIALECT = _OneDialect(dialect.engine_of)


@contextmanager
def without_threads() -> Generator[None]:
    """Ledgers opened within run their statements in the caller's thread, compiled but once."""
    before = lane.ThreadPoolExecutor, connection.asyncio, dialect.engine_of
    lane.ThreadPoolExecutor = cast(Any, InThisThread)
    connection.asyncio = cast(Any, _AtOnce())
    dialect.engine_of = cast(Any, _ONE_DIALECT)
    try:
        yield
    finally:
        lane.ThreadPoolExecutor, connection.asyncio, dialect.engine_of = before


class Watching(Protocol):
    """Somebody whose calls these are."""

    def snapshot(self, unit: int, *, write: bool) -> None: ...

    def committed(self, unit: int) -> None: ...

    def begun(self) -> int: ...


CURRENT: ContextVar[Watching | None] = ContextVar("CURRENT", default=None)


@dataclass(slots=True)
class _Parked:
    turn: asyncio.Future[None]
    may_go: Callable[[], bool]


class Schedule:
    """Who is parked, and whose turn it is. While `on` is False nothing parks."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._parked: list[_Parked] = []
        self._under_way = 0
        self._idle = asyncio.Event()
        self.on = False
        self.writer = asyncio.Lock()
        self.released = 0

    async def park(self, may_go: Callable[[], bool] = lambda: True) -> None:
        if not self.on:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parked.append(_Parked(turn, may_go))
        await turn

    async def through(self, call: Awaitable[T]) -> T:
        """The real call: it alone runs in a thread until it is back."""
        self._under_way += 1
        try:
            return await call
        finally:
            self._under_way -= 1
            self._idle.set()

    async def play(self, tasks: Sequence[asyncio.Task[Any]], *, calls_max: int | None) -> None:
        """Let one parked call go at a time until the tasks are done, or for so many calls."""
        self.on = True
        try:
            await self._settle()
            while not all(task.done() for task in tasks):
                self._parked = [one for one in self._parked if not one.turn.cancelled()]
                ready = [one for one in self._parked if one.may_go()]
                if not ready or (calls_max is not None and calls_max <= 0):
                    return
                chosen = self._random.choice(ready)
                self._parked.remove(chosen)
                self.released += 1
                calls_max = None if calls_max is None else calls_max - 1
                chosen.turn.set_result(None)
                await self._settle()
        finally:
            self.on = False

    def let_all_go(self) -> None:
        for one in self._parked:
            if not one.turn.done():
                one.turn.set_result(None)
        self._parked = []

    async def _settle(self) -> None:
        turns = 0
        while turns < _SETTLED:
            if self._under_way:
                self._idle.clear()
                await self._idle.wait()
                turns = 0
            await asyncio.sleep(0)
            turns += 1


class ParkedLedger:
    """`Ledger`: beginning, every call and committing park; a writer waits until it may write."""

    def __init__(self, inner: Ledger, schedule: Schedule) -> None:
        self._inner = inner
        self._schedule = schedule

    def reading(self) -> AbstractAsyncContextManager[Unit]:
        return self._unit(self._inner.reading(), write=False)

    def writing(self) -> AbstractAsyncContextManager[Unit]:
        return self._unit(self._inner.writing(), write=True)

    async def close(self) -> None:
        await self._inner.close()

    @asynccontextmanager
    async def _unit(
        self, entering: AbstractAsyncContextManager[Unit], *, write: bool
    ) -> AsyncGenerator[Unit]:
        schedule, watching = self._schedule, CURRENT.get()
        await schedule.park(lambda: not (write and schedule.writer.locked()))
        number = 0 if watching is None else watching.begun()
        async with AsyncExitStack() as held:
            if write:
                await held.enter_async_context(schedule.writer)
            unit = await schedule.through(entering.__aenter__())
            try:
                parked = ParkedUnit(unit, schedule, watching, number, write=write)
                yield cast(Unit, parked)
                await schedule.park()
            except BaseException as error:
                await entering.__aexit__(type(error), error, error.__traceback__)
                raise
            await schedule.through(entering.__aexit__(None, None, None))
            if write and watching is not None:
                watching.committed(number)


class ParkedUnit:
    """`Unit` whose logs park; its first call is its snapshot."""

    def __init__(
        self, unit: Unit, schedule: Schedule, watching: Watching | None, number: int, *, write: bool
    ) -> None:
        self.unit = unit
        self.schedule = schedule
        self._watching = watching
        self._number = number
        self._write = write

    def __getattr__(self, name: str) -> Any:
        if name == "step":
            return self.unit.step
        if name == "privacy":  # says nothing of who may see what: it is no snapshot of that
            return self.unit.privacy
        log = _ParkedLog(self, getattr(self.unit, name))
        setattr(self, name, log)
        return log

    def seen(self) -> None:
        if self._watching is not None:
            self._watching.snapshot(self._number, write=self._write)
            self._watching = None


class _ParkedLog:
    def __init__(self, unit: ParkedUnit, log: Any) -> None:
        self._unit = unit
        self._log = log

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Coroutine[Any, Any, Any]] = getattr(self._log, name)
        unit = self._unit

        async def parked(*args: Any, **kwargs: Any) -> Any:
            await unit.schedule.park()
            unit.seen()
            return await unit.schedule.through(method(*args, **kwargs))

        setattr(self, name, parked)
        return parked


class ParkedStore:
    """`MemoryStore` over units that park."""

    def __init__(self, inner: MemoryStore, schedule: Schedule) -> None:
        self._inner = inner
        self._schedule = schedule

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def nearest(self, unit: ParkedUnit, *args: Any, **kwargs: Any) -> Any:
        await self._schedule.park()
        unit.seen()
        return await self._schedule.through(self._inner.nearest(unit.unit, *args, **kwargs))

    async def put(self, objects: Any) -> None:
        await self._schedule.park()
        await self._schedule.through(self._inner.put(objects))

    async def delete(self, gone: Any) -> None:
        await self._schedule.park()
        await self._schedule.through(self._inner.delete(gone))

    async def lacks(self, place: str) -> bool:
        return await self._schedule.through(self._inner.lacks(place))

    async def check(self, *, surely: bool = False) -> None:
        await self._schedule.through(self._inner.check(surely=surely))

    async def held(self, place: str, **page: Any) -> Any:
        return await self._schedule.through(self._inner.held(place, **page))


class ParkedErasing:
    """`Erasing` over units that park: it reads the SQL ledger's own."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def asked(*args: Any) -> Any:
            return await method(*(one.unit if isinstance(one, ParkedUnit) else one for one in args))

        return asked


class ParkedEmbedder:
    """`Embedder` that parks, so that the world moves on while texts are embedded."""

    def __init__(self, inner: Embedder, schedule: Schedule) -> None:
        self._inner = inner
        self._schedule = schedule

    @property
    def space(self) -> EmbeddingSpace:
        return self._inner.space

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        await self._schedule.park()
        return await self._inner.embed(texts, purpose)
