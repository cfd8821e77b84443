"""Memories in Weaviate against its bare client: searching through the door, and writing.

A server of its own is started for the run and stopped after it; without one the group says so.
"""

import asyncio
import pathlib
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import uuid4

import numpy as np

from hindsight_ray.adapters.clock import SystemClock
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.core.keywords import query_terms
from hindsight_ray.domain.commands import Search, Write
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import Memory, Source
from hindsight_ray.ports import Placed, StoredObject
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
EMBEDDER = HashedEmbedder()


def figures(data: pathlib.Path) -> list[dict[str, Any]]:  # noqa: ARG001 - recorded logs are not needed
    with tempfile.TemporaryDirectory() as folder:
        running = weaviate.start(pathlib.Path(folder) / "weaviate")
        try:
            return asyncio.run(_measured(pathlib.Path(folder), running))
        finally:
            running.process.stop()


async def _measured(folder: pathlib.Path, running: weaviate.Weaviate) -> list[dict[str, Any]]:
    store = stores.weaviate_store(running, EMBEDDER.space)
    async with worlds.world(folder / "home", store=store) as staged:
        bulk = await _bulk(staged, store)
        await staged.jobs.finish()
        await settle.finish(staged.world)
        await settle.replay_all(staged.world)
        searches = [
            figure for callers in (1, 8) for figure in await _searches(staged, store, callers)
        ]
        return [*searches, bulk, await _singles(staged, store)]


def _sentence(chance: Random) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(8)) + f" {chance.randrange(10**6)}"


async def _bulk(staged: Staged, store: WeaviateStore) -> dict[str, Any]:
    """All memories, through transaction and store; and a part of them by the bare client."""
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
    bare = MEMORIES // 4
    begun = time.perf_counter()
    for start in range(0, bare, BULK):
        await store.put([_object(memories[n], vectors[n]) for n in range(start, start + BULK)])
    bare_rate = bare / (time.perf_counter() - begun)
    return _figure(
        "weaviate.bulk", f"memories/s in batches of {BULK} over the bare client's",
        ours / bare_rate, 0.4, at_least=True,
    )  # fmt: skip


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


def _object(memory: Memory, vector: np.ndarray) -> StoredObject:
    placed = Placed("bare", MemoryRef(id=memory.id, revision=memory.revision))
    return StoredObject(
        placed, "key", memory.scope, memory.status, memory.type, memory.layer, None, (),
        memory.created_at, None, vector,
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


async def _searches(staged: Staged, store: WeaviateStore, callers: int) -> list[dict[str, Any]]:
    token = await staged.ticket(agent="planner", user="alice")
    caller = await staged.world.tickets.verify(token, staged.clock.now())
    async with staged.world.ledger.reading() as unit:
        rows = await row_filter(staged.world, unit, await admit(staged.world, unit, caller))
        place = await unit.intents.place(TENANT) or ""
    chance = Random(2 + callers)
    queries = [_sentence(chance) for _ in range(QUERIES)]
    vectors = dict(zip(queries, await EMBEDDER.embed(queries, "query"), strict=True))

    async def bare_vector(query: str) -> object:
        return await store.candidates(place, rows, vectors[query], 20)

    async def bare_postings(query: str) -> object:
        async with staged.world.ledger.reading() as unit:
            return await unit.memories.keyword_matches(rows, query_terms(query))

    async def through_the_door(query: str) -> object:
        return await staged.ask(token, Search(query=query))

    times = {}
    for name, ask in (
        ("warm", through_the_door), ("vector", bare_vector), ("postings", bare_postings),
        ("door", through_the_door),
    ):  # fmt: skip
        times[name] = await _timed(ask, queries, callers)
    await staged.jobs.finish()
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


async def _singles(staged: Staged, store: WeaviateStore) -> dict[str, Any]:
    """Writes one by one through the door, against a bare commit and a bare insert in turn."""
    token = await staged.ticket(agent="writer", user="carol")
    chance = Random(9)
    texts = [_sentence(chance) for _ in range(2 * SINGLES)]
    vectors = await EMBEDDER.embed(texts, "passage")
    begun = time.perf_counter()
    for number in range(SINGLES):
        command = Write(command_id=f"s{number}", content=texts[number], type="fact", confidence=0.9)
        await staged.ask(token, command)
    ours = time.perf_counter() - begun
    begun = time.perf_counter()
    for number in range(SINGLES, 2 * SINGLES):
        memory = _memory(texts[number], "user:dave")
        async with staged.world.ledger.writing() as unit:
            await unit.policy.add_tenant(f"bare{number}", staged.clock.now())
        await store.put([_object(memory, vectors[number])])
    bare = time.perf_counter() - begun
    return _figure(
        "weaviate.single", "writes/s through the door over a bare commit and a bare insert in turn",
        bare / ours, 0.5, at_least=True,
    )  # fmt: skip


def _figure(
    name: str, what: str, value: float, bound: float, *, at_least: bool = False
) -> dict[str, Any]:
    holds = value >= bound if at_least else value <= bound
    return {
        "id": name, "what": what, "value": value, "bound": bound, "holds": holds, "unit": "ratio",
    }  # fmt: skip
