"""What a revoke takes on a real deployment with four brokers, and when one of them is frozen."""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ray

from hindsight_ray import compose
from hindsight_ray.actors.roles import NAMESPACE
from hindsight_ray.adapters.home import LEDGER_FILE
from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.client.memory import Memory
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from tests.freezing import freeze

_BROKERS = 4
_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Phase:
    """Seconds of every revoke, and of what it is held against, measured in turns with it."""

    revokes: list[float] = field(default_factory=list[float])
    noops: list[float] = field(default_factory=list[float])  # to every broker that runs, at once
    commits: list[float] = field(default_factory=list[float])  # one small one, in such a ledger

    def p95(self) -> tuple[float, float]:
        """Of a revoke, and of a no-op call and a commit together."""
        together = [noop + commit for noop, commit in zip(self.noops, self.commits, strict=True)]
        return _p95(self.revokes), _p95(together)


@dataclass(frozen=True, slots=True)
class Revoking:
    """All brokers up, one of them frozen; reads begun after a revoke returned, and stale ones."""

    healthy: Phase
    frozen: Phase
    reads: int
    stale: int


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
        ledger = await SqlLedger.open(folder / "beside.sqlite3")
        try:
            owner, readers = await _people(hindsight)
            counts = [0, 0]
            healthy = await _phase(ledger, handles, owner, readers, counts)
            freeze(pids[0], folder / "home" / LEDGER_FILE)
            try:
                frozen = await _phase(ledger, handles[1:], owner, [], counts)
            finally:
                os.kill(pids[0], signal.SIGCONT)
        finally:
            await ledger.close()
    return Revoking(healthy, frozen, reads=counts[0], stale=counts[1])


async def _people(hindsight: Hindsight) -> tuple[Memory, list[Memory]]:
    """The owner of a scope with one memory, and readers whose tickets go to different brokers."""
    owner = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", agent="owner"))
    await owner.write("The lighthouse key hangs behind the clock", scope="agent:owner")
    tickets = [await hindsight.issue_ticket(tenant="acme", agent="reader") for _ in range(8)]
    return owner, [hindsight.as_caller(ticket) for ticket in tickets]


async def _phase(
    ledger: SqlLedger,
    handles: Sequence[Any],
    owner: Memory,
    readers: Sequence[Memory],
    counts: list[int],
) -> Phase:
    """After each revoke all readers look: whatever they see of the scope is stale."""
    query = build(c.Search, {"query": "lighthouse", "scopes": ("agent:owner",)})
    phase = Phase()

    async def noop() -> None:
        await asyncio.gather(*(handle.ready.remote() for handle in handles))

    async def commit() -> None:
        async with ledger.writing() as unit:
            await unit.policy.revoke_ticket("acme", os.urandom(8).hex(), datetime.now(UTC))

    for _ in range(_ROUNDS):
        phase.noops.append(await _taken(noop))
        phase.commits.append(await _taken(commit))
        await owner.share("agent:owner", to="agent:reader")
        phase.revokes.append(await _taken(lambda: owner.revoke("agent:owner", to="agent:reader")))
        found = await asyncio.gather(*(reader.ask(query) for reader in readers))
        counts[0] += len(found)
        counts[1] += sum(bool(one.hits) for one in found)
    return phase


async def _taken(job: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await job()
    return time.perf_counter() - started


def _p95(taken: Sequence[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.95)]
