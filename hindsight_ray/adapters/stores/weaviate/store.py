"""Vector search in Weaviate under the access filter; what counts, and how near, the ledger says.

The server is asked which objects are near; the ledger then says which of their memories pass now,
at which revision, and how near exactly. So an answer is that of the caller's own transaction: an
object that was superseded stands for its memory as it is, and what has not reached the server is
compared beside. Vectors are the same on both sides, and so are similarities on every store.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import numpy as np
from weaviate.classes.query import Filter
from weaviate.classes.tenants import Tenant, TenantActivityStatus
from weaviate.collections import CollectionAsync
from weaviate.collections.classes.filters import FilterReturn
from weaviate.exceptions import (
    WeaviateBaseError,
    WeaviateInsertManyAllFailedError,
)

from hindsight_ray.adapters.stores.moved import moved
from hindsight_ray.adapters.stores.weaviate import connection, paging, schema
from hindsight_ray.adapters.stores.weaviate.collection import ensure_collection
from hindsight_ray.adapters.stores.weaviate.connection import Reached, Server, bounded
from hindsight_ray.adapters.stores.weaviate.hot import HotPlaces
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import EmbeddingSpace, Near, RowFilter
from hindsight_ray.errors import InvalidVector, StoreRefused, Unavailable
from hindsight_ray.ports import Placed, StoredObject, Unit, Vector

HOT_PLACES = 500
_BATCH = 200
_SPARE = 8  # asked beyond the limit: superseded objects take a place until they are deleted
_ASKED_MAX = 2_000
_TRIES = 3
_SLOW_S = 0.5  # an answer that takes longer makes us look whether the server is there
_TRUSTED_S = 1.0  # how long an answer counts as a sign of life
_KEPT_S = 4.0  # a server lets a connection go that is idle for 10 s, which reads as its death
_PAUSE_S = 0.05
_HOT = TenantActivityStatus.ACTIVE
_NO_PLACE = ("tenant not found", "could not find class", "class not found", "not present in schema")
_WAKING = ("tenant not active", "shutdown", "shutting down", "not ready", "being deleted")
_REFUSALS = ("vector length", "with length", "dimension", "no such prop", "invalid ", "not valid")

_log = logging.getLogger(__name__)
T = TypeVar("T")
_There = CollectionAsync[Any, Any]


class WeaviateStore:
    """`MemoryStore` over one server and one embedding space.

    It connects when it is first used, so that a process which needs it seldom, or starts while the
    server is down, is no worse for it; `open` connects at once.
    """

    def __init__(
        self,
        server: Server,
        space: EmbeddingSpace,
        *,
        hot_places: int = HOT_PLACES,
        hot_in_all: int = HOT_PLACES,
    ) -> None:
        """`hot_places` of this process, of `hot_in_all` of all that use the server for a home."""
        self._server = server
        self._space = space
        self._reached: Reached | None = None
        self._connecting = asyncio.Lock()
        self._hot = HotPlaces(hot_places)
        self._hot_in_all = max(hot_places, hot_in_all)
        self._looked_around = False
        self._known: set[str] = set()
        self._doubtful = False
        self._life = 0
        self._run: object = None  # of the server, as it answered last
        self._answered_s = self._looked_s = float("-inf")
        self._letting_go: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(
        cls, server: Server, space: EmbeddingSpace, *, hot_places: int = HOT_PLACES
    ) -> "WeaviateStore":
        """The store at `server`, its collection made if it is not there.

        Raises `Unavailable`, `SpaceMismatch` if the collection holds vectors of another dimension,
        `HomeInvalid` if it is none of ours.
        """
        store = cls(server, space, hot_places=hot_places)
        await store.check()
        return store

    @property
    def shares_ledger(self) -> bool:
        return False

    @property
    def life(self) -> int:
        return self._life

    async def check(self, *, surely: bool = False) -> None:
        """Connect if need be; ask whether it is ready, unless it has answered this very second.

        Now and then even so: what tells its lives apart is a connection that must not be idle.
        """
        due_s = min(self._answered_s + _TRUSTED_S, self._looked_s + _KEPT_S)
        if surely or self._doubtful or _seconds() > due_s:
            await self._ask_ready()

    async def nearest(
        self, unit: Unit, row_filter: RowFilter, vector: Vector, *, limit: int
    ) -> Sequence[Near]:
        """Equal similarities by memory id, as on every store."""
        await self.check_space(unit)
        self._check_vector(vector)
        if row_filter.empty or limit < 1:
            return ()
        place = await unit.intents.place(row_filter.tenant)
        if place is None:
            return ()
        asked = limit + _SPARE
        while True:
            found = await self.candidates(place, row_filter, vector, asked)
            if found is None:
                _log.warning("place %s is not there: its tenant is compared row by row", place)
                return (await unit.memories.nearest_of(row_filter, vector, None))[:limit]
            ids, full = found
            near = await unit.memories.nearest_or_untold(row_filter, vector, [*ids])
            passed = sum(one.ref.id in ids for one in near)
            if passed >= limit or not full or asked >= _ASKED_MAX:
                return near[:limit]
            asked = min(asked * 4, _ASKED_MAX)

    async def lacks(self, place: str) -> bool:
        if place in self._known:
            return False
        async with self._asked() as objects:
            try:
                there = await objects.tenants.exists(place)
            except WeaviateBaseError:  # the collection went with the last place in it
                there = False
        if there:
            self._known.add(place)
        return not there

    async def put(self, objects: Sequence[StoredObject]) -> None:
        """In batches by place. What the server will not take is `StoreRefused`, by memory id."""
        refused: dict[str, str] = {}
        by_place: dict[str, list[StoredObject]] = {}
        for stored in objects:
            if stored.model not in (None, self._space.model):
                raise moved(self._space.model, stored.model)
            self._check_vector(stored.vector)
            by_place.setdefault(stored.placed.place, []).append(stored)
        for place, theirs in by_place.items():
            await self._ensure_place(place)
            for start in range(0, len(theirs), _BATCH):
                refused |= await self._put(place, theirs[start : start + _BATCH])
        if refused:
            raise StoreRefused(
                f"the memory store refused {len(refused)} objects: {next(iter(refused.values()))}",
                reasons=refused,
            )

    async def delete(self, gone: Sequence[Placed]) -> None:
        by_place: dict[str, list[Placed]] = {}
        for placed in gone:
            by_place.setdefault(placed.place, []).append(placed)
        for place, theirs in by_place.items():
            ids = [schema.object_id(placed.ref) for placed in theirs]
            for start in range(0, len(ids), _BATCH):
                where = Filter.by_id().contains_any(ids[start : start + _BATCH])
                await self._with_place(
                    place, lambda there, w=where: there.data.delete_many(where=w)
                )

    async def held(
        self, place: str, *, after: MemoryRef | None = None, limit: int | None = None
    ) -> Sequence[MemoryRef]:
        async def refs(there: _There) -> list[MemoryRef]:
            return await paging.refs(there, after, limit)

        return await self._with_place(place, refs) or ()

    async def leave(self, place: str) -> None:
        async with self._asked() as objects:
            await objects.tenants.remove([place])
        self._hot.forget(place)
        self._known.discard(place)

    async def collections(self) -> Any:
        """The server's collections, for what is to be known of it beside our own."""
        return (await self._connected()).client.collections

    async def close(self) -> None:
        if self._letting_go:
            await asyncio.wait(self._letting_go)
        if self._reached is not None:
            await self._reached.close()
            self._reached = None

    async def _connected(self) -> Reached:
        if self._reached is None:
            async with self._connecting:
                if self._reached is None:
                    self._reached = await self._connect()
        return self._reached

    async def _connect(self) -> Reached:
        reached = await connection.connected(self._server)
        try:
            async with bounded(self._server):
                await ensure_collection(reached.client, self._space)
            self._run = await reached.ready()
        except BaseException:
            await reached.close()
            raise
        return reached

    async def _ask_ready(self) -> Reached:
        reached = await self._connected()
        try:
            run = await reached.ready()
        except Unavailable:
            self._doubt()
            raise
        if run != self._run and not self._doubtful:
            self._life += 1  # it went and came back, and nobody had asked it anything
        self._run = run
        self._doubtful, self._answered_s = False, _seconds()
        self._looked_s = self._answered_s
        return reached

    def _doubt(self) -> None:
        if not self._doubtful:
            self._doubtful = True
            self._life += 1

    async def check_space(self, unit: Unit) -> None:
        """What is told here once the home is in another space would count nowhere."""
        pinned = await unit.spaces.pinned()
        if pinned is not None and pinned[0] != self._space.model:
            raise moved(self._space.model, pinned[0])

    def _check_vector(self, vector: Vector) -> None:
        """Before anything is sent: the server takes what it should not."""
        wanted = self._space.dimension
        if vector.shape != (wanted,):
            raise InvalidVector(
                f"`vector` has shape {vector.shape}; this space has {wanted} numbers",
                dimension=wanted,
            )
        if not np.isfinite(vector).all() or not vector.any():
            raise InvalidVector("`vector` is zero, or holds NaN or infinity")

    async def candidates(
        self, place: str, row_filter: RowFilter, vector: Vector, asked: int
    ) -> tuple[dict[str, None], bool] | None:
        """Ids of the nearest objects' memories, and whether there may be more; None: no place."""
        near = vector.tolist()

        async def one(there: _There, part: FilterReturn) -> list[str]:
            found = await there.query.near_vector(
                near_vector=near, limit=asked, filters=part, return_properties=[schema.MEMORY]
            )
            return [str(one.properties[schema.MEMORY]) for one in found.objects]

        merged: dict[str, None] = {}
        full = False
        for part in schema.filters(row_filter):
            ids = await self._with_place(place, lambda there, p=part: one(there, p))
            if ids is None:
                return None
            merged |= dict.fromkeys(ids)
            full = full or len(ids) >= asked
        return merged, full

    async def _ensure_place(self, place: str) -> None:
        if place not in self._known:
            async with self._asked() as objects:
                try:
                    await objects.tenants.create([Tenant(name=place)])
                except WeaviateBaseError:  # the collection went with the last place in it
                    await ensure_collection((await self._connected()).client, self._space)
                    await objects.tenants.create([Tenant(name=place)])
            self._known.add(place)

    async def _put(self, place: str, objects: Sequence[StoredObject]) -> dict[str, str]:
        """Put one batch; return what was refused, and why. Anything else raises."""
        sent = [schema.data_object(stored) for stored in objects]

        async def insert(there: _There) -> dict[int, str]:
            try:
                done = await there.data.insert_many(sent)
            except WeaviateInsertManyAllFailedError as error:
                if len(sent) > 1 and _is_refusal(str(error)):
                    return dict.fromkeys(range(len(sent)), "")  # each is tried by itself
                if _is_refusal(str(error)):
                    return {0: str(error)}
                raise
            failed = {index: str(error.message) for index, error in done.errors.items()}
            other = next((why for why in failed.values() if not _is_refusal(why)), None)
            if other is not None:
                raise WeaviateBaseError(other)
            return failed

        failed = await self._with_place(place, insert)
        if failed is None:  # what was in it is gone, too: who told it has to know
            self._known.discard(place)
            raise Unavailable(f"the memory store has lost the place {place!r}", place=place)
        refused: dict[str, str] = {}
        for index, why in failed.items():
            if why:
                refused[objects[index].placed.ref.id] = why
            else:
                refused |= await self._put(place, [objects[index]])
        return refused

    async def _with_place(self, place: str, ask: Callable[[_There], Awaitable[T]]) -> T | None:
        """Ask while the place is kept hot; None if it is not there. Wakes it if it was let go."""
        with self._hot.used(place):
            async with self._asked() as objects:
                there = objects.with_tenant(place)
                answer = await self._watched(_woken(lambda: ask(there)))
        self._let_go()
        return answer

    async def _watched(self, asking: Coroutine[Any, Any, T]) -> T:
        """Await it, asking meanwhile whether the server lives: the client would try for long."""
        task = asyncio.get_running_loop().create_task(asking)
        try:
            while not (await asyncio.wait({task}, timeout=_SLOW_S))[0]:
                reached = await self._connected()
                await reached.ready()
            return task.result()
        finally:
            task.cancel()

    @asynccontextmanager
    async def _asked(self) -> AsyncGenerator[_There]:
        """Bounded; after a failure the server is first asked whether it is ready again."""
        reached = await (self._ask_ready() if self._doubtful else self._connected())
        try:
            async with bounded(self._server):
                yield reached.client.collections.use(schema.collection_name(self._space.model))
            self._answered_s = _seconds()
        except Unavailable:
            self._doubt()
            raise

    def _let_go(self) -> None:
        places = self._hot.excess()
        look_around = not self._looked_around and self._hot.several
        if places or look_around:
            self._looked_around = self._looked_around or look_around
            task = asyncio.get_running_loop().create_task(self._deactivate(places, look_around))
            self._letting_go.add(task)
            task.add_done_callback(self._letting_go.discard)

    async def _deactivate(self, places: Sequence[str], look_around: bool) -> None:
        try:
            async with self._asked() as objects:
                left: Sequence[str] = ()
                if look_around:
                    found = await objects.tenants.get()
                    hot = [n for n, t in found.items() if t.activity_status is _HOT]
                    left = self._hot.left(hot, self._hot_in_all)
                if places or left:
                    await objects.tenants.deactivate([*dict.fromkeys([*places, *left])])
        except Unavailable as error:  # they stay hot a little longer
            _log.warning("%d places could not be let go: %s", len(places), error)


def _seconds() -> float:
    return asyncio.get_running_loop().time()


async def _woken(ask: Callable[[], Awaitable[T]]) -> T | None:
    """Ask, again where the place is just waking; None if there is no such place."""
    for left in reversed(range(_TRIES)):
        try:
            return await ask()
        except WeaviateBaseError as error:
            text = str(error)
            if any(words in text for words in _NO_PLACE):
                return None
            if not left or not any(word in text for word in _WAKING):
                raise
        await asyncio.sleep(_PAUSE_S)
    return None


def _is_refusal(why: str) -> bool:
    """Whether it is the object that is at fault, so that trying again is no use."""
    return any(word in why for word in _REFUSALS)
