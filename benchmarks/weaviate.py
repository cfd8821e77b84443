"""Memories in Weaviate against its bare client: searching through the door, and writing.

A server of its own is started for the run and stopped after it; without one the group says so.
The peers use nothing of ours but filters and values: the vendor's client asks for the same vectors
under the same filter, and inserts the same objects; SQLite's driver reads the same postings under
the same filter, and commits the same rows. Vectors have as many numbers as the built-in model's.
"""

import asyncio
import json
import pathlib
import sqlite3
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from random import Random
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np
from weaviate.classes.data import DataObject
from weaviate.classes.tenants import Tenant
from weaviate.collections import CollectionAsync

from benchmarks._bare_writes import bare_commits, copied, written_rows
from benchmarks._on_weaviate import measured
from hindsight_ray.adapters.clock import SystemClock
from hindsight_ray.adapters.ledger.sql.schema import micros
from hindsight_ray.adapters.stores.weaviate import schema
from hindsight_ray.adapters.stores.weaviate.connection import connected
from hindsight_ray.core.keywords import query_terms
from hindsight_ray.domain.commands import Search, Write
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import CommandName
from hindsight_ray.domain.memory import Memory, Source
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.ports import Placed, Purpose, StoredObject, Vector
from hindsight_ray.service import commit, settle
from hindsight_ray.service.admit import admit, row_filter
from hindsight_ray.service.commit import Author
from tests import stores, worlds
from tests.servers import weaviate
from tests.worlds import TENANT, Staged

MEMORIES = 20_000
QUERIES = 150
SINGLES = 100
BULK = 200
SCOPES = ("user:alice", "agent:planner", "global", "user:bob")
_FIRST = ("check", "data", "gate", "mail", "pay", "load", "log", "cache")
_THIRD = ("", *(f"-{letter}{other}" for letter in "abcdef" for other in "klmnop"))
_SECOND = ("out", "base", "way", "box", "roll", "line", "work", "store", "point")
_WORDS = [f"{one}{two}{three}" for one in _FIRST for two in _SECOND for three in _THIRD]
_DIMENSION = 384
_There = CollectionAsync[Any, Any]


class _Wide:
    """Trigrams hashed into as many numbers as the built-in model has.

    What it was asked once it knows: the peers are given their vectors, and so is what is measured.
    """

    space = EmbeddingSpace("hashed-trigrams-384", _DIMENSION, 0.95, 0.85)

    def __init__(self) -> None:
        self._known: dict[str, Vector] = {}

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:  # noqa: ARG002 - both alike
        new = [text for text in texts if text not in self._known]
        self._known.update(zip(new, self._hashed(new), strict=True))
        return np.stack([self._known[text] for text in texts])

    def _hashed(self, texts: Sequence[str]) -> Vector:
        vectors = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
        for row, text in enumerate(texts):
            padded = f"  {text.casefold()} "
            for start in range(len(padded) - 2):
                code = crc32(padded[start : start + 3].encode())
                vectors[row, code % _DIMENSION] += 1.0 if code >> 31 else -1.0
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


EMBEDDER = _Wide()
_POSTINGS = """
    SELECT p.term, m.memory_id, p.count, m.length
    FROM postings p JOIN memories m ON m.number = p.memory
    WHERE p.term IN (SELECT number FROM terms
                     WHERE tenant = ? AND term IN (SELECT value FROM json_each(?)))
      AND p.key IN (SELECT number FROM audience_keys
                    WHERE tenant = ? AND key IN (SELECT value FROM json_each(?)))
      AND m.status IN ('active', 'outdated') AND (m.expires_at IS NULL OR m.expires_at > ?)
"""


def figures(data: pathlib.Path) -> list[dict[str, Any]]:  # noqa: ARG001 - recorded logs are not needed
    return measured(_measured)


async def _measured(folder: pathlib.Path, running: weaviate.Weaviate) -> list[dict[str, Any]]:
    store = stores.weaviate_store(running, EMBEDDER.space)
    async with worlds.world(folder / "home", store=store, embedder=EMBEDDER) as staged:
        bulk = await _bulk(staged, running)
        async with staged.world.ledger.reading() as unit:
            assert await unit.intents.count() == 0  # else the ledger stands in for the store
        async with _bare_client(running) as collection:
            searches = [
                figure
                for callers in (1, 8)
                for figure in await _searches(staged, collection, callers)
            ]
            return [*searches, bulk, *await _all_singles(staged, collection, folder)]


def _sentence(chance: Random) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(8)) + f" {chance.randrange(10**6)}"


async def _bulk(staged: Staged, running: weaviate.Weaviate) -> dict[str, Any]:
    """All memories through transaction and store; and the same objects by the bare client."""
    chance = Random(1)
    texts = [_sentence(chance) for _ in range(MEMORIES)]
    vectors = await EMBEDDER.embed(texts, "passage")
    memories = [_memory(text, SCOPES[number % len(SCOPES)]) for number, text in enumerate(texts)]
    by = Author("agent:operator", "Import", "", 1, SystemClock().now())
    await staged.ticket(agent="planner", user="alice")
    begun = time.perf_counter()
    for start in range(0, MEMORIES, BULK):
        async with settle.changing(staged.world, f"bulk{start}") as unit:
            for number in range(start, start + BULK):
                await commit.put(unit, memories[number], vectors[number], by, "imported")
    ours = MEMORIES / (time.perf_counter() - begun)
    # Before the store's own connection is left idle, which would read as the server's death.
    await staged.jobs.finish()
    await settle.finish(staged.world)
    await settle.replay_all(staged.world)
    objects = [_object(memory, vector) for memory, vector in zip(memories, vectors, strict=True)]
    async with _bare_client(running) as collection:
        begun = time.perf_counter()
        for start in range(0, MEMORIES, BULK):
            await collection.data.insert_many(objects[start : start + BULK])
        bare = MEMORIES / (time.perf_counter() - begun)
    return _figure(
        "weaviate.bulk",
        f"memories/s ({ours:.0f}) in batches of {BULK} over the bare client's ({bare:.0f})",
        ours / bare, 0.4, at_least=True,
    )  # fmt: skip


@asynccontextmanager
async def _bare_client(running: weaviate.Weaviate, place: str = "bare") -> AsyncGenerator[_There]:
    """The vendor's client on the same collection, in a tenant of its own unless one is named."""
    reached = await connected(stores.server_of(running))
    try:
        objects = reached.client.collections.use(schema.collection_name(EMBEDDER.space.model))
        await objects.tenants.create([Tenant(name=place)])
        yield objects.with_tenant(place)
    finally:
        await reached.close()


def _memory(text: str, scope: str) -> Memory:
    now = worlds.START
    return Memory.model_validate(
        {
            "id": str(uuid4()), "revision": 1, "tenant": TENANT, "scope": scope,
            "audience": (scope,), "content": text, "type": "fact", "created_at": now,
            "updated_at": now, "source": Source(kind="user", weight=1.0),
            "embedding_model": EMBEDDER.space.model,
        }
    )  # fmt: skip


def _object(memory: Memory, vector: np.ndarray) -> DataObject[dict[str, Any], None]:
    placed = Placed("bare", MemoryRef(id=memory.id, revision=memory.revision))
    return schema.data_object(
        StoredObject(
            placed, "key", memory.scope, memory.status, memory.type, memory.layer, None, (),
            memory.created_at, None, vector,
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Times:
    p50: float
    p95: float


async def _timed(
    ask: Callable[[str], Awaitable[object]], queries: Sequence[str], callers: int
) -> _Times:
    taken: list[float] = []
    waiting = list(queries)

    async def caller() -> None:
        while waiting:
            query = waiting.pop()
            begun = time.perf_counter()
            await ask(query)
            taken.append((time.perf_counter() - begun) * 1_000)

    await asyncio.gather(*(caller() for _ in range(callers)))
    parts = statistics.quantiles(taken, n=20)
    return _Times(statistics.median(taken), parts[-1])


async def _searches(staged: Staged, client: _There, callers: int) -> list[dict[str, Any]]:
    token = await staged.ticket(agent="planner", user="alice")
    caller = await staged.world.tickets.verify(token, staged.clock.now())
    async with staged.world.ledger.reading() as unit:
        rows = await row_filter(staged.world, unit, await admit(staged.world, unit, caller))
        place = await unit.intents.place(TENANT) or ""
    chance = Random(2 + callers)
    queries = [_sentence(chance) for _ in range(QUERIES)]
    vectors = dict(zip(queries, await EMBEDDER.embed(queries, "query"), strict=True))

    there = client.with_tenant(place)
    (passes,) = schema.filters(rows)
    readers: SimpleQueue[sqlite3.Connection] = SimpleQueue()
    for _ in range(callers):
        readers.put(_reader(staged.path / "hindsight.sqlite3"))

    async def bare_vector(query: str) -> object:
        return await there.query.near_vector(
            near_vector=vectors[query].tolist(),
            limit=staged.world.settings.vector_limit,
            filters=passes,
            return_properties=[schema.MEMORY],
        )

    def read_postings(query: str) -> object:
        reader = readers.get()
        try:
            terms, keys = json.dumps(query_terms(query)), json.dumps(sorted(rows.keys or ()))
            return reader.execute(
                _POSTINGS, (TENANT, terms, TENANT, keys, micros(rows.now))
            ).fetchall()
        finally:
            readers.put(reader)

    async def bare_postings(query: str) -> object:
        return await asyncio.to_thread(read_postings, query)

    async def through_the_door(query: str) -> object:
        return await staged.ask(token, Search(query=query))

    times: dict[str, _Times] = {}
    for name, ask in (
        ("warm", through_the_door), ("vector", bare_vector), ("postings", bare_postings),
        ("door", through_the_door),
    ):  # fmt: skip
        times[name] = await _timed(ask, queries, callers)
    await staged.jobs.finish()
    for _ in range(callers):
        readers.get().close()
    door = times["door"]
    at = f"{callers} caller{'s' if callers > 1 else ''}, {MEMORIES:,} memories"
    vector, postings = times["vector"], times["postings"]
    seen = f"{door.p50:.1f} ms; vector {vector.p50:.1f}, postings {postings.p50:.1f}"
    p50, p95 = max(vector.p50, postings.p50), max(vector.p95, postings.p95)
    return [
        _figure(
            f"weaviate.search.{callers}.p50", f"p50 over 1.3 × slower bare + 3 ms ({at}: {seen})",
            door.p50 / (1.3 * p50 + 3), 1.0,
        ),
        _figure(
            f"weaviate.search.{callers}.p95", f"p95 over 1.5 × slower bare + 3 ms ({at})",
            door.p95 / (1.5 * p95 + 3), 1.0,
        ),
    ]  # fmt: skip


def _reader(database: pathlib.Path) -> sqlite3.Connection:
    raw = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
    for pragma in ("cache_size=-16384", "temp_store=MEMORY", "mmap_size=268435456"):
        raw.execute(f"PRAGMA {pragma}").close()
    return raw


async def _all_singles(
    staged: Staged, client: _There, folder: pathlib.Path
) -> list[dict[str, Any]]:
    """Into a scope of the writer's own, and into one of a quarter of all memories."""
    own = await _singles(staged, client, folder / "own", "user:carol")
    large = await _singles(staged, client, folder / "large", SCOPES[0])
    return [
        _figure(f"weaviate.single{name}", what, value, 0.5, at_least=True)
        for name, (value, what) in (("", own), (".large", large))
    ]


async def _singles(
    staged: Staged, client: _There, folder: pathlib.Path, scope: str
) -> tuple[float, str]:
    """Writes one by one through the door, over a bare commit of the same rows and a bare insert."""
    user = scope.removeprefix("user:")
    token = await staged.ticket(agent="writer", user=user)
    chance = Random(user)
    texts = [_sentence(chance) for _ in range(SINGLES + 10)]
    vectors = await EMBEDDER.embed(texts, "passage")
    commands = [
        Write(command_id=CommandName(f"{user}{n}"), content=text, type="fact", confidence=0.9)
        for n, text in enumerate(texts)
    ]
    for command in commands[SINGLES:]:  # what is connected, compiled and read once
        await staged.ask(token, command)
    await staged.jobs.finish()
    database = staged.path / "hindsight.sqlite3"
    before = copied(database, folder.with_suffix(".sqlite3"))
    ours = 0.0
    for command in commands[:SINGLES]:
        begun = time.perf_counter()
        await staged.ask(token, command)
        taken = time.perf_counter() - begun
        ours += taken / SINGLES
        staged.clock.advance(seconds=taken)  # so that what was told is closed as it would be
    await staged.jobs.finish()
    commits = sum(bare_commits(before, written_rows(database, before))) / SINGLES
    begun = time.perf_counter()
    for text, vector in zip(texts[:SINGLES], vectors, strict=False):
        made = _object(_memory(text, scope), vector)
        await client.data.insert(made.properties, uuid=made.uuid, vector=made.vector)
    inserts = (time.perf_counter() - begun) / SINGLES
    return (commits + inserts) / ours, (
        f"writes/s through the door, into {scope} ({1_000 * ours:.1f} ms), over a bare commit of"
        f" the same rows ({1_000 * commits:.1f}) and a bare insert ({1_000 * inserts:.1f}) in turn"
    )


def _figure(
    name: str, what: str, value: float, bound: float, *, at_least: bool = False
) -> dict[str, Any]:
    holds = value >= bound if at_least else value <= bound
    return {
        "id": name, "what": what, "value": value, "bound": bound, "holds": holds, "unit": "ratio",
    }  # fmt: skip
