"""What a revoke takes on a real deployment with four brokers, and when one of them is frozen."""

import asyncio
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ray

from hindsight_ray import compose
from hindsight_ray.actors.roles import NAMESPACE
from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.client.memory import Memory
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build

_BROKERS = 4
_ROUNDS = 30
_FROZEN_ROUNDS = 15


@dataclass(frozen=True, slots=True)
class Revoking:
    """Seconds; and how many reads begun after a revoke returned showed what was revoked."""

    revoke_p95_s: float
    frozen_p95_s: float
    noop_s: float  # a no-op call to all brokers at once, median
    commit_s: float  # one small commit in such a ledger, median
    reads: int
    stale: int

    @property
    def base_s(self) -> float:
        return self.noop_s + self.commit_s


def measured() -> Revoking:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measured(Path(folder)))


async def _measured(folder: Path) -> Revoking:
    async with compose.connect(
        home=folder / "home", embedding="hashed", brokers=_BROKERS, recorder_hosts=1
    ) as hindsight:
        names = [f"broker-{number}" for number in range(_BROKERS)]
        handles: list[Any] = [ray.get_actor(name, namespace=NAMESPACE) for name in names]
        pids: list[int] = await asyncio.gather(*(handle.ready.remote() for handle in handles))

        async def noop() -> None:
            await asyncio.gather(*(handle.ready.remote() for handle in handles))

        noops = [await _taken(noop) for _ in range(_ROUNDS)]
        commits = await _commits(folder)
        owner, reader = await _people(hindsight)
        counts = [0, 0]
        healthy = await _revokes(owner, reader, _ROUNDS, counts)
        os.kill(pids[0], signal.SIGSTOP)
        try:
            frozen = await _revokes(owner, None, _FROZEN_ROUNDS, counts)
        finally:
            os.kill(pids[0], signal.SIGCONT)
    return Revoking(
        revoke_p95_s=_p95(healthy),
        frozen_p95_s=_p95(frozen),
        noop_s=statistics.median(noops),
        commit_s=statistics.median(commits),
        reads=counts[0],
        stale=counts[1],
    )


async def _people(hindsight: Hindsight) -> tuple[Memory, list[Memory]]:
    """The owner of a scope with one memory, and readers whose tickets go to different brokers."""
    owner = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", agent="owner"))
    await owner.write("The lighthouse key hangs behind the clock", scope="agent:owner")
    tickets = [await hindsight.issue_ticket(tenant="acme", agent="reader") for _ in range(8)]
    return owner, [hindsight.as_caller(ticket) for ticket in tickets]


async def _revokes(
    owner: Memory, readers: list[Memory] | None, rounds: int, counts: list[int]
) -> list[float]:
    """How long each revoke took; after each, all readers look and whatever they see is stale."""
    taken: list[float] = []
    for _ in range(rounds):
        await owner.share("agent:owner", to="agent:reader")
        taken.append(await _taken(lambda: owner.revoke("agent:owner", to="agent:reader")))
        if readers is not None:
            query = build(c.Search, {"query": "lighthouse", "scopes": ("agent:owner",)})
            found = await asyncio.gather(*(reader.ask(query) for reader in readers))
            counts[0] += len(found)
            counts[1] += sum(bool(one.hits) for one in found)
    return taken


async def _commits(folder: Path) -> list[float]:
    ledger = await SqlLedger.open(folder / "beside.sqlite3")
    try:

        async def commit() -> None:
            async with ledger.writing() as unit:
                await unit.policy.revoke_ticket("acme", os.urandom(8).hex(), datetime.now(UTC))

        return [await _taken(commit) for _ in range(_ROUNDS)]
    finally:
        await ledger.close()


async def _taken(job: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await job()
    return time.perf_counter() - started


def _p95(taken: list[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.95)]
