"""Do thousands of recorders over one PostgreSQL stay quick and small, and is a broker soon back?

Each recorder is an agent with its own ticket, run and buffer; a part of them is busy at once. The
peer is the bare driver in this process: such rows in batches of the same size, each `executemany`
with a commit of its own, into the same table of the same server. Memory is the proportional set
size of the deployment's processes and of this one: an idle Ray has none of them.
"""

import asyncio
import os
import pathlib
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Any

import psycopg

from benchmarks.record_host import event_of, pss_mb, row_of
from hindsight_ray import compose
from hindsight_ray.actors import cluster
from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.postgres import Server
from hindsight_ray.client.hindsight import Hindsight
from tests.ledgers import new_database
from tests.servers import postgres
from tests.servers.process import ServerMissing

RECORDERS = int(os.environ.get("HINDSIGHT_RECORDERS", "10000"))
BUSY = max(1, RECORDERS // 10)
EVENTS_EACH = 100
BATCH = 100
ROUNDS = 3
KILLS = 3
AT_ONCE = 16
SHARE_MIN = 0.3
MEMORY_MB_MAX = 1_500.0
READY_S_MAX = 10.0
_RUN = "018f0000-0000-7000-8000-000000000000"


def figures(data: pathlib.Path) -> list[dict[str, Any]]:
    """Durable events a second, memory, and how soon a killed broker answers again."""
    del data  # events are made here
    try:
        with postgres.own_folder() as folder, tempfile.TemporaryDirectory() as home:
            server = postgres.start(folder)
            try:
                os.environ["HINDSIGHT_POSTGRES_DSN"] = new_database(server)
                bare = new_database(server)
                return asyncio.run(_measured(pathlib.Path(home) / "home", bare))
            finally:
                os.environ.pop("HINDSIGHT_POSTGRES_DSN", None)
                server.process.stop()
    except ServerMissing as missing:
        raise SystemExit(str(missing)) from None


async def _measured(home: pathlib.Path, bare_dsn: str) -> list[dict[str, Any]]:
    tie = cluster.attach(None)
    choices = {"ledger": "postgresql", "embedding": "hashed", "brokers": 2, "recorder_hosts": 2}
    try:
        async with compose.connect(home=home, **choices) as client:
            await compose.status(home=home)
            began = time.perf_counter()
            runs = await _opened(client)
            opened_s = time.perf_counter() - began
            ours, bare = [], []
            for number in range(ROUNDS):
                busy = runs[number * BUSY % RECORDERS :][:BUSY]
                ours.append(await _rate(busy))
                bare.append(_bare_rate(bare_dsn, number))
            memory_mb = await _memory_mb(home)
            ready_s = [await _ready_again_s(home) for _ in range(KILLS)]
            for run in runs:
                await run.abandon()
        await compose.down(home=home)
    finally:
        tie.leave()
    share = statistics.median(one / other for one, other in zip(ours, bare, strict=True))
    ours_rate, bare_rate = statistics.median(ours), statistics.median(bare)
    return [
        {
            "id": "cluster_recorders.share",
            "what": f"durable events/s of {BUSY:,} busy of {RECORDERS:,} recorders over bare"
            f" batched inserts into the same table ({ours_rate:,.0f} over {bare_rate:,.0f};"
            f" opening all took {opened_s:.0f} s)",
            "value": share,
            "bound": SHARE_MIN,
            "holds": share >= SHARE_MIN,
            "unit": "ratio, at least",
        },
        {
            "id": "cluster_recorders.memory",
            "what": f"PSS of every actor and of the client with {RECORDERS:,} recorders",
            "value": memory_mb,
            "bound": MEMORY_MB_MAX,
            "holds": memory_mb <= MEMORY_MB_MAX,
            "unit": "MB above an idle Ray",
        },
        {
            "id": "cluster_recorders.ready",
            "what": f"from `kill -9` of a broker until it answers, the longest of {KILLS}",
            "value": max(ready_s),
            "bound": READY_S_MAX,
            "holds": max(ready_s) <= READY_S_MAX,
            "unit": "s",
        },
    ]


async def _opened(client: Hindsight) -> list[Any]:
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> Any:
        async with room:
            ticket = await client.issue_ticket(tenant="bench", agent=f"agent-{number}", user="u")
            run = client.as_caller(ticket).run(goal=f"Record as {number}")
            return await run

    return list(await asyncio.gather(*(one(number) for number in range(RECORDERS))))


async def _rate(runs: Sequence[Any]) -> float:
    """Events a second from the first that is recorded until all of them are durable."""
    started = time.perf_counter()
    for step in range(EVENTS_EACH):
        for run in runs:
            run.decide(f"metrics.read of service {step} answered: error rate 0.1 %, latency 40 ms")
    await asyncio.gather(*(run.flush() for run in runs))
    return len(runs) * EVENTS_EACH / (time.perf_counter() - started)


def _bare_rate(dsn: str, number: int) -> float:
    """The driver alone, into the ledger's own table of another database."""

    async def make() -> None:
        await (await SqlLedger.open(Server(dsn, "bare"))).close()

    _in_thread(make)
    batches = [
        [
            (BUSY * number + agent, *row_of(event_of(_RUN, f"agent-{agent}", seq))[1:])
            for seq in range(BATCH)
        ]
        for agent in range(min(BUSY, 200))
    ]
    names = "run, agent, incarnation, seq, tenant, event_id, at, record"
    sql = f"INSERT INTO events ({names}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"  # noqa: S608
    with psycopg.connect(dsn) as database:
        started = time.perf_counter()
        for batch in batches:
            with database.cursor() as cursor:
                cursor.executemany(sql, batch)
            database.commit()
        return sum(map(len, batches)) / (time.perf_counter() - started)


def _in_thread(make: Any) -> None:
    thread = threading.Thread(target=lambda: asyncio.run(make()))
    thread.start()
    thread.join()


async def _memory_mb(home: pathlib.Path) -> float:
    found = await compose.status(home=home)
    assert found is not None
    assert all(pid for _, pid in found.pids)
    return sum(pss_mb(pid) for _, pid in found.pids) + pss_mb(os.getpid())


async def _ready_again_s(home: pathlib.Path) -> float:
    """Seconds from the kill of a broker until that very broker answers, in a new process."""
    found = await compose.status(home=home)
    assert found is not None
    killed = dict(found.pids)["broker-0"]
    started = time.perf_counter()
    os.kill(killed, signal.SIGKILL)
    while True:
        found = await compose.status(home=home)
        assert found is not None
        if dict(found.pids)["broker-0"] not in (0, killed):
            return time.perf_counter() - started
