"""Thousands of tenants in one Weaviate, few of them hot: is all there, and what does it cost.

A home of ten tenants on a server of its own, and one of `TENANTS` on another; the same statements
are in each tenant. Searches go through the door. What is compared is the median in a tenant that
was used just before, and in one that was let go, with the median among the ten: in turn, round
after round, so that what else the machine does falls on all; the least of each is told. Then one
tenant whose readable statements are in one scope, beside one whose are in a hundred.
"""

import asyncio
import pathlib
import statistics
import time
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from benchmarks._on_weaviate import measured
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.access import Rule
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Search
from hindsight_ray.domain.ids import AgentName
from hindsight_ray.domain.memory import Memory, Source
from hindsight_ray.service import commit, settle
from hindsight_ray.service.commit import Author
from tests import stores, worlds
from tests.servers import weaviate
from tests.worlds import Staged

TENANTS = 5_000
HOT = 200
EACH = 5  # memories of a tenant
TOGETHER = 20  # tenants that are filled, or looked through, at the same time
SEARCHES = 60
ROUNDS = 10
SCOPES = 100
ROWS = 1_000  # readable ones, in one scope or in a hundred
_EMBEDDER = HashedEmbedder()
_BY = Author("agent:operator", "Import", "", 1, worlds.START)


def figures(data: pathlib.Path) -> list[dict[str, Any]]:  # noqa: ARG001 - recorded logs are not needed
    return measured(_measured)


async def _measured(folder: pathlib.Path, running: weaviate.Weaviate) -> list[dict[str, Any]]:
    apart = weaviate.start(folder / "weaviate-few")
    try:
        async with _home(folder / "few", apart) as few, _home(folder / "many", running) as many:
            of_few = await _filled(few, "few", 10)
            of_many = await _filled(many, "many", TENANTS)
            lost = await _lost(many, of_many)
            descriptors = _descriptors(running)
            ten, hot, cold = await _compared(few, of_few, many, of_many)
            scopes = await _scopes(few)
    finally:
        apart.process.stop()
    seen = f"{TENANTS:,} tenants, at most {HOT} hot, {descriptors} file descriptors"
    return [
        _figure("lost", f"objects lost of {TENANTS * EACH:,} ({seen})", lost, 0, "objects"),
        _figure("hot", f"p50 in a hot tenant ({hot:.1f} ms) over that with ten", hot / ten, 1.2),
        _figure("cold", f"p50 in a cold tenant; with ten {ten:.1f} ms", cold, ten + 10, "ms"),
        _figure("scopes", f"{SCOPES} readable scopes over one, {ROWS:,} rows each", scopes, 1.5),
    ]


async def _compared(
    few: Staged, of_few: Sequence[str], many: Staged, of_many: Sequence[str]
) -> tuple[float, float, float]:
    """Medians with ten tenants, in a hot one of many and in a cold one; the least of the rounds."""
    used, idle = of_many[-len(of_few) :], of_many[: -2 * HOT]
    apart = len(idle) // SEARCHES  # so that each round finds others
    ten: list[float] = []
    hot: list[float] = []
    cold: list[float] = []
    for number in range(ROUNDS):
        ten.append(await _median(few, of_few, SEARCHES // ROUNDS, warm=True))
        hot.append(await _median(many, used, SEARCHES // ROUNDS, warm=True))
        cold.append(await _median(many, idle[number::apart][:SEARCHES], 1))
    return min(ten), min(hot), min(cold)


def _home(path: pathlib.Path, running: weaviate.Weaviate) -> Any:
    store = stores.weaviate_store(running, _EMBEDDER.space, hot_places=HOT, hot_in_all=HOT)
    return worlds.world(path, store=store, embedder=_EMBEDDER)


async def _filled(staged: Staged, kind: str, count: int) -> list[str]:
    """Tenants of this kind, each with statements of its own that everybody in it reads."""
    names = [f"{kind}{number}" for number in range(count)]
    for start in range(0, count, TOGETHER):
        begun = time.perf_counter()
        some = names[start : start + TOGETHER]
        await asyncio.gather(*(_fill(staged, name, "global", EACH) for name in some))
        staged.clock.advance(seconds=time.perf_counter() - begun)  # what was told is closed
    await staged.jobs.finish()
    await _settled(staged)
    return names


async def _settled(staged: Staged) -> None:
    staged.clock.advance(seconds=2 * settle.GRACE_S)
    await settle.finish(staged.world)


async def _fill(staged: Staged, tenant: str, scope: str, count: int) -> None:
    async with staged.world.ledger.writing() as unit:
        await unit.policy.add_tenant(tenant, worlds.START)
    texts = [f"In {tenant} {scope} gate number {number} is open" for number in range(count)]
    vectors = await _EMBEDDER.embed(texts, "passage")
    async with settle.changing(staged.world, tenant) as unit:
        for text, vector in zip(texts, vectors, strict=True):
            await commit.put(unit, _memory(tenant, scope, text), vector, _BY, "imported")


def _memory(tenant: str, scope: str, text: str) -> Memory:
    return Memory.model_validate(
        {
            "id": str(uuid4()), "revision": 1, "tenant": tenant, "scope": scope,
            "audience": (scope,), "content": text, "type": "fact", "created_at": worlds.START,
            "updated_at": worlds.START, "source": _source(scope),
            "embedding_model": _EMBEDDER.space.model,
        }
    )  # fmt: skip


def _source(scope: str) -> Source:
    """Every scope has an author of its own: of one author's text a reader is shown but little."""
    agent = AgentName(scope.partition(":")[2] or "importer")
    return Source(kind="agent", weight=1.0, agent=agent)


async def _median(
    staged: Staged, tenants: Sequence[str], times: int, *, warm: bool = False
) -> float:
    """Milliseconds of a search through the door, over the tenants in turn."""
    tokens = [await staged.ticket(agent="planner", user="alice", tenant=name) for name in tenants]
    if warm:
        for token in tokens:
            await staged.ask(token, Search(query="which gate is open"))
    taken: list[float] = []
    for number in range(times):
        for token in tokens:
            begun = time.perf_counter()
            found = await staged.ask(token, Search(query=f"is gate number {number} open"))
            taken.append((time.perf_counter() - begun) * 1_000)
            assert isinstance(found, Found)
            assert not found.degraded
    await staged.jobs.finish()
    return statistics.median(taken)


async def _lost(staged: Staged, tenants: Sequence[str]) -> int:
    """Objects that the ledger counts and the server does not hold."""
    store = staged.world.store
    assert isinstance(store, WeaviateStore)

    async def held(tenant: str) -> int:
        async with staged.world.ledger.reading() as unit:
            place = await unit.intents.place(tenant) or ""
        return len(await store.held(place))

    lost = 0
    for start in range(0, len(tenants), TOGETHER):
        some = tenants[start : start + TOGETHER]
        lost += EACH * len(some) - sum(await asyncio.gather(*map(held, some)))
    return lost


async def _scopes(staged: Staged) -> float:
    """A search over as many readable rows in a hundred scopes as in one: the one over the other."""
    await _fill(staged, "whole", "user:alice", ROWS)
    for number in range(SCOPES):
        await _fill(staged, "parted", f"agent:a{number}", ROWS // SCOPES)
    await _settled(staged)
    async with staged.world.ledger.writing() as unit:
        current = await unit.policy.current()
        rules = [
            Rule(
                subject="agent:planner", tenant="parted", object=f"agent:a{number}", action="read",
                effect="allow",
            )
            for number in range(SCOPES)
        ]  # fmt: skip
        await unit.policy.replace([*current.rules, *rules], current.memberships, worlds.START)
    one: list[float] = []
    hundred: list[float] = []
    for _ in range(4):  # in turn, so that what else the machine does falls on both
        one.append(await _median(staged, ["whole"], SEARCHES, warm=True))
        hundred.append(await _median(staged, ["parted"], SEARCHES, warm=True))
    return min(hundred) / min(one)


def _descriptors(running: weaviate.Weaviate) -> int:
    return len(list(pathlib.Path(f"/proc/{running.process.pid}/fd").iterdir()))


def _figure(
    name: str, what: str, value: float, bound: float, unit: str = "ratio"
) -> dict[str, Any]:
    return {
        "id": f"weaviate.tenants.{name}", "what": what, "value": value, "bound": bound,
        "holds": value <= bound, "unit": unit,
    }  # fmt: skip
