"""Memory stores for tests: each kind there is, by name, and things to put around one."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.adapters.stores.weaviate.connection import Server
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import EmbeddingSpace, Near, RowFilter
from hindsight_ray.errors import StoreRefused
from hindsight_ray.ports import MemoryStore, Placed, StoredObject, Unit, Vector
from tests.servers.weaviate import Weaviate

FOUR = EmbeddingSpace("four", 4, 0.95, 0.85)
MakeStore = Callable[[EmbeddingSpace], MemoryStore]


def server_of(running: Weaviate) -> Server:
    return Server(running.url, running.grpc_port, "HINDSIGHT_WEAVIATE_KEY", running.api_key)


def weaviate_store(
    running: Weaviate, space: EmbeddingSpace = FOUR, **options: int
) -> WeaviateStore:
    """A store on the running server; its places are this home's alone."""
    return WeaviateStore(server_of(running), space, **options)


class WrappedStore:
    """A store around another, which does as the other does. The base of those that do not."""

    def __init__(self, inner: MemoryStore) -> None:
        self.inner = inner

    @property
    def shares_ledger(self) -> bool:
        return self.inner.shares_ledger

    @property
    def life(self) -> int:
        return self.inner.life

    async def check(self, *, surely: bool = False) -> None:
        await self.inner.check(surely=surely)

    async def check_space(self, unit: Unit) -> None:
        await self.inner.check_space(unit)

    async def nearest(
        self, unit: Unit, row_filter: RowFilter, vector: Vector, *, limit: int
    ) -> Sequence[Near]:
        return await self.inner.nearest(unit, row_filter, vector, limit=limit)

    async def lacks(self, place: str) -> bool:
        return await self.inner.lacks(place)

    async def put(self, objects: Sequence[StoredObject]) -> None:
        await self.inner.put(objects)

    async def delete(self, gone: Sequence[Placed]) -> None:
        await self.inner.delete(gone)

    async def held(
        self, place: str, *, after: MemoryRef | None = None, limit: int | None = None
    ) -> Sequence[MemoryRef]:
        return await self.inner.held(place, after=after, limit=limit)

    async def leave(self, place: str) -> None:
        await self.inner.leave(place)

    async def close(self) -> None:
        await self.inner.close()


class ParkedStore(WrappedStore):
    """Its puts stand still while `parked`; `arrived` is set when one does."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner)
        self.arrived = asyncio.Event()
        self._go = asyncio.Event()
        self._go.set()

    @asynccontextmanager
    async def parked(self) -> AsyncGenerator[None]:
        self._go.clear()
        try:
            yield
        finally:
            self._go.set()

    async def put(self, objects: Sequence[StoredObject]) -> None:
        self.arrived.set()
        await self._go.wait()
        await self.inner.put(objects)


class PickyStore(WrappedStore):
    """Refuses, as a server does, every object of a memory and revision that it is told to."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner)
        self.refused: Callable[[MemoryRef], bool] = lambda _ref: False
        self.tries = 0

    async def put(self, objects: Sequence[StoredObject]) -> None:
        bad = {o.placed.ref.id: "no such prop" for o in objects if self.refused(o.placed.ref)}
        self.tries += len(bad)
        await self.inner.put([o for o in objects if o.placed.ref.id not in bad])
        if bad:
            raise StoreRefused("the memory store refused an object", reasons=bad)


def kills() -> int:
    """How often a test kills a real process: thrice, or as `make crash` says."""
    return int(os.environ.get("HINDSIGHT_KILLS", "3"))


def embedded_store() -> EmbeddedStore:
    return EmbeddedStore()
