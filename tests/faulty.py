"""Ports that fail at the nth effect, before it or after: around any ledger and any store."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from hindsight_ray.domain.rows import Near, RowFilter
from hindsight_ray.errors import StorageFailed, Unavailable
from hindsight_ray.ports import Ledger, MemoryStore, Placed, StoredObject, Unit, Vector
from tests.stores import WrappedStore

T = TypeVar("T")
_READS = frozenset({
    "get", "get_all", "newest", "events", "event_count", "gaps", "open_runs", "offered",
    "annotations", "of_run", "methods", "working", "window", "standing", "standings", "current",
    "tenants",
    "of", "version", "all", "change_number", "scope_change", "changed_since", "at", "history",
    "on_topic", "recent", "keyword_matches", "derived_from", "count", "nearest_of",
    "nearest_or_untold", "nearest_known", "pinned", "opened", "waiting", "again", "settled",
    "place", "told_to",
})  # fmt: skip


class Faults:
    """Counts effects, and fails the one that it was told to, once."""

    def __init__(self) -> None:
        self.made = 0
        self._at = 0
        self._after = False

    def arm(self, at: int, *, after: bool) -> None:
        self.made, self._at, self._after = 0, at, after

    async def around(self, effect: Callable[[], Awaitable[T]], error: Exception) -> T:
        self.made += 1
        mine = self.made == self._at
        if mine and not self._after:
            raise error
        done = await effect()
        if mine:
            raise error
        return done


class FaultyLedger:
    """Each write of a unit and each commit is an effect. Reads are none."""

    def __init__(self, inner: Ledger, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    def reading(self) -> AbstractAsyncContextManager[Unit]:
        return self._inner.reading()

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[Unit]:
        unit = self._inner.writing()
        async with _Committed(unit, self._faults) as inside:
            yield _FaultyUnit(inside, self._faults)  # type: ignore[misc]

    async def close(self) -> None:
        await self._inner.close()


class _Committed:
    """A unit whose commit is an effect: failing before it, the unit is undone."""

    def __init__(self, unit: AbstractAsyncContextManager[Unit], faults: Faults) -> None:
        self._unit = unit
        self._faults = faults

    async def __aenter__(self) -> Unit:
        return await self._unit.__aenter__()

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> bool | None:
        if kind is not None:
            return await self._unit.__aexit__(kind, error, trace)
        left = False

        async def commit() -> None:
            nonlocal left
            left = True
            await self._unit.__aexit__(None, None, None)

        fault = StorageFailed("a fault at a commit")
        try:
            await self._faults.around(commit, fault)
        except StorageFailed:
            if not left:
                await self._unit.__aexit__(StorageFailed, fault, None)
            raise
        return None


class _FaultyUnit:
    def __init__(self, unit: Unit, faults: Faults) -> None:
        self.inner = unit
        self._faults = faults

    def step(self) -> Any:
        return self.inner.step()

    def __getattr__(self, name: str) -> Any:
        return _FaultyLog(getattr(self.inner, name), self._faults)


class _FaultyLog:
    def __init__(self, log: Any, faults: Faults) -> None:
        self._log = log
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._log, name)
        if name in _READS:
            return method

        async def effect(*args: Any, **options: Any) -> Any:
            fault = StorageFailed(f"a fault at `{name}`")
            return await self._faults.around(lambda: method(*args, **options), fault)

        return effect


class FaultyStore(WrappedStore):
    """Each question and each change is an effect."""

    def __init__(self, inner: MemoryStore, faults: Faults) -> None:
        super().__init__(inner)
        self._faults = faults

    async def nearest(
        self, unit: Unit, row_filter: RowFilter, vector: Vector, *, limit: int
    ) -> Sequence[Near]:
        within = unit.inner if isinstance(unit, _FaultyUnit) else unit
        ask = super().nearest
        return await self._faults.around(
            lambda: ask(within, row_filter, vector, limit=limit),
            Unavailable("a fault at `nearest`"),
        )

    async def put(self, objects: Sequence[StoredObject]) -> None:
        put = super().put
        await self._faults.around(lambda: put(objects), Unavailable("a fault at `put`"))

    async def delete(self, gone: Sequence[Placed]) -> None:
        delete = super().delete
        await self._faults.around(lambda: delete(gone), Unavailable("a fault at `delete`"))
