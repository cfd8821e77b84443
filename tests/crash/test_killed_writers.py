"""Writers of one home are killed at any moment: what they acknowledged is there, and whole."""

import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from tests.crash.writer import outcome_of, rule_of
from tests.ledgers import BOTH, server_database
from tests.records import event_of, memory_of, name_of, rows, vector_of
from tests.stores import kills
from tests.worlds import TENANT

NAMES = ("one", "two")
Acknowledged = dict[str, int]


def start_writer(folder: Path, name: str, address: str | None = None) -> "subprocess.Popen[str]":
    named = {} if address is None else {"LEDGER_DSN": address}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.writer", str(folder), name],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **named},
    )


def said_before(
    process: "subprocess.Popen[str]", lines: int, kill: Callable[[], None]
) -> tuple[Acknowledged, int]:
    """Kill after so many acknowledgements; the last of each kind, and the last revision."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    kill()
    said += process.stdout.readlines()  # what it had said before it ended
    process.wait()
    process.stdout.close()
    last: Acknowledged = defaultdict(lambda: -1)
    revision = 0
    for line in said:
        if not line.endswith("\n"):
            continue  # half a word is no acknowledgement
        kind, number, *more = line.split()
        last[kind] = int(number)
        revision = max([revision, *map(int, more)])
    return last, revision


@pytest.mark.covers("G3.kill")
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("seed", range(kills()))
async def test_what_was_acknowledged_survives_the_kill_of_two_writers(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str, seed: int
) -> None:
    drawn = random.Random(seed)
    address, where = None, tmp_path / "hindsight.sqlite3"
    if kind == "postgresql":
        where = server_database(request.getfixturevalue("postgres_server"))
        address = where.dsn
    writers = {name: start_writer(tmp_path, name, address) for name in NAMES}
    acknowledged = {
        name: said_before(process, drawn.randrange(1, 60), process.kill)
        for name, process in writers.items()
    }
    await check(await SqlLedger.open(where), acknowledged)


async def check(ledger: SqlLedger, said: Mapping[str, tuple[Acknowledged, int]]) -> None:
    """Hold everything that the writers were told to what the ledger has; then close it."""
    for name, (last, revision) in said.items():
        await _check_events(ledger, name, last["event"])
        await _check_memories(ledger, name, last["memory"])
        async with ledger.reading() as unit:
            outcomes = {one.by: one for one in await unit.outcomes.of_run(TENANT, name_of(name))}
            wanted = [outcome_of(name, number) for number in range(last["outcome"] + 1)]
            assert [outcomes.get(one.by) for one in wanted] == wanted
            policy = await unit.policy.current()
            assert policy.revision >= revision
            assert policy.revision == len(policy.rules)
            for number in range(last["policy"] + 1):
                assert rule_of(name, number) in policy.rules
    await ledger.close()


async def _check_events(ledger: SqlLedger, name: str, last: int) -> None:
    """All that were acknowledged, once each; batches are there whole or not at all."""
    async with ledger.reading() as unit:
        found = await unit.runs.events(TENANT, name_of(name))
        assert list(await unit.runs.gaps(TENANT, name_of(name))) == []
    assert len(found) >= last + 1
    assert len(found) % 10 == 0
    by_number = sorted(found, key=lambda event: event.seq)
    assert by_number == [event_of(name, seq, agent=name) for seq in range(len(found))]


async def _check_memories(ledger: SqlLedger, name: str, last: int) -> None:
    """Record, history, vector, postings and statistics of each agree."""
    mine = rows(scopes=frozenset({f"agent:{name}"}))
    async with ledger.reading() as unit:
        count = await unit.memories.count(mine)
        assert count >= last + 1
        wanted = [memory_of(f"{name} {n}", scope=f"agent:{name}") for n in range(count)]
        current = await unit.memories.current(TENANT, [memory.id for memory in wanted])
        assert [current.get(memory.id) for memory in wanted] == wanted
        matches = await unit.memories.keyword_matches(mine, [name])
        near = await EmbeddedStore().nearest(unit, mine, vector_of(1.0), limit=count + 1)
        assert matches.documents == len(matches.lengths) == len(near) == count
        for memory in wanted[-3:]:
            assert len(await unit.memories.history(TENANT, memory.id)) == 1
