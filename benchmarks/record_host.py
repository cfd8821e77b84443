"""What does durable recording on Ray cost, in time beside the bare database and in memory?

Events are ordinary ones (no failures, no repeats, so no review starts by itself). The peer is
`executemany` of the same rows into the same schema by the bare driver, with the same pragmas, the
same batch size and a commit for each batch. Memory is the proportional set size (PSS) of processes.
"""

import asyncio
import pathlib
import re
import sqlite3
import statistics
import tempfile
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_ray import compose
from hindsight_ray.actors import cluster
from hindsight_ray.adapters.ledger.sql.ledger import SqlLedger
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain.commands import RecordEvents
from hindsight_ray.domain.event import Event, ToolCall

AGENTS = 8
BATCH = 200
BATCHES = 10
ROUNDS = 5
RECORDERS = 1_000
EVENTS_EACH = 20
SHARE_MIN = 0.3
MEMORY_MB_MAX = 300.0
_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def figures(data: pathlib.Path) -> list[dict[str, Any]]:
    """Durable events a second through recorder hosts, and what 1,000 recorders take."""
    del data  # events are made here
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measured(pathlib.Path(folder)))


async def _measured(folder: pathlib.Path) -> list[dict[str, Any]]:
    tie = cluster.attach(None)
    try:
        async with compose.connect(home=folder / "home", embedding="hashed", brokers=1) as client:
            await compose.status(home=folder / "home")
            share, ours, bare = await _throughput(client, folder)
            start_mb = await _hosts_mb(folder / "home")
            recorders_s = await _recorders(client)
            hosts_mb = await _hosts_mb(folder / "home")
        await compose.down(home=folder / "home")
    finally:
        tie.leave()
    return [
        {
            "id": "record_host.share",
            "what": f"durable events/s through 2 hosts over bare executemany"
            f" ({ours:,.0f} over {bare:,.0f}; batches of {BATCH}, a commit each)",
            "value": share,
            "bound": SHARE_MIN,
            "holds": share >= SHARE_MIN,
            "unit": "ratio, at least",
        },
        {
            "id": "record_host.memory",
            "what": f"PSS of 2 hosts with {RECORDERS:,} recorders ({start_mb:.0f} before them;"
            f" {RECORDERS * EVENTS_EACH:,} events in {recorders_s:.1f} s)",
            "value": hosts_mb,
            "bound": MEMORY_MB_MAX,
            "holds": hosts_mb <= MEMORY_MB_MAX,
            "unit": "MB above an idle Ray",
        },
    ]


async def _throughput(client: Hindsight, folder: pathlib.Path) -> tuple[float, float, float]:
    """Median of the rounds' ratios, and of both rates."""
    ours: list[float] = []
    bare: list[float] = []
    for number in range(ROUNDS):
        senders = [await _sender(client, f"agent-{i}", number) for i in range(AGENTS)]
        started = time.perf_counter()
        await asyncio.gather(*(_send(memory, batches) for memory, batches in senders))
        ours.append(AGENTS * BATCHES * BATCH / (time.perf_counter() - started))
        rows = [list(map(row_of, batch.events)) for _, batches in senders for batch in batches]
        bare.append(await _bare_rate(folder / f"bare-{number}.sqlite3", rows))
    ratios = [one / other for one, other in zip(ours, bare, strict=True)]
    return statistics.median(ratios), statistics.median(ours), statistics.median(bare)


async def _sender(client: Hindsight, agent: str, number: int) -> tuple[Any, list[RecordEvents]]:
    memory = client.as_caller(await client.issue_ticket(tenant="bench", agent=agent, user="u"))
    run = await memory.run(goal=f"Round {number} of {agent}")
    events = [event_of(run.id, agent, seq) for seq in range(BATCH * BATCHES)]
    return memory, [
        RecordEvents(run_id=run.id, events=tuple(events[i : i + BATCH]))
        for i in range(0, len(events), BATCH)
    ]


async def _send(memory: Any, batches: Sequence[RecordEvents]) -> None:
    for batch in batches:
        ack = await memory.ask(batch)
        assert ack.stored == len(batch.events)


def event_of(run_id: str, agent: str, seq: int) -> Event:
    return Event.model_validate(
        {
            "event_id": str(uuid.uuid4()),
            "run_id": run_id,
            "agent": agent,
            "incarnation": "0" * 32,
            "seq": seq,
            "timestamp": _START + timedelta(seconds=seq),
            "kind": "tool",
            "summary": f"metrics.read of service {seq} answered: error rate 0.1 %, latency 40 ms",
            "tool": ToolCall(name=f"metrics.read-{seq}", arguments_digest=uuid.uuid4().hex * 2),
            "causes": (str(uuid.uuid4()),),
        }
    )


def row_of(event: Event) -> tuple[Any, ...]:
    at = round(event.timestamp.timestamp() * 1_000_000)
    record = event.model_dump_json()
    return (1, event.agent, event.incarnation, event.seq, "bench", event.event_id, at, record)


async def _bare_rate(file: pathlib.Path, batches: Sequence[Sequence[tuple[Any, ...]]]) -> float:
    """Events a second by the driver alone, into the ledger's own tables."""
    await (await SqlLedger.open(file)).close()
    with sqlite3.connect(file, isolation_level=None) as database:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-16384"):
            database.execute(f"PRAGMA {pragma}")
        names = "run, agent, incarnation, seq, tenant, event_id, at, record"
        sql = f"INSERT INTO events ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants
        started = time.perf_counter()
        for batch in batches:
            database.execute("BEGIN IMMEDIATE")
            database.executemany(sql, batch)
            database.execute("COMMIT")
        rate = sum(map(len, batches)) / (time.perf_counter() - started)
    database.close()
    return rate


async def _recorders(client: Hindsight) -> float:
    """Open 1,000 agents' recorders and have each record; seconds until all is durable."""
    runs: list[Any] = []
    for i in range(RECORDERS):
        ticket = await client.issue_ticket(tenant="bench", agent=f"recorder-{i}", user="u")
        runs.append(await client.as_caller(ticket).run(goal=f"Record as {i}"))
    started = time.perf_counter()
    for run in runs:
        for step in range(EVENTS_EACH):
            run.decide(f"step {step}")
    await asyncio.gather(*(run.flush() for run in runs))
    return time.perf_counter() - started


async def _hosts_mb(home: pathlib.Path) -> float:
    """PSS of the recorder hosts: an idle Ray has neither process."""
    found = await compose.status(home=home)
    assert found is not None
    pids = [pid for name, pid in found.pids if name.startswith("recorder_host")]
    assert all(pids)
    return sum(map(pss_mb, pids))


def pss_mb(pid: int) -> float:
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024
