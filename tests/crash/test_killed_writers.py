"""Writers of one home are killed at any moment: what they acknowledged is there, and whole."""

import random
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from tests.crash.writer import outcome_of, rule_of
from tests.records import event_of, memory_of, name_of, rows, vector_of
from tests.worlds import TENANT

_NAMES = ("one", "two")
_Acknowledged = dict[str, int]


def _start(folder: Path, name: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.writer", str(folder), name],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def _kill_after(process: "subprocess.Popen[str]", lines: int) -> tuple[_Acknowledged, int]:
    """Kill it after so many acknowledgements; the last of each kind, and the last revision."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    said += process.stdout.readlines()  # what it had said before it died
    process.wait()
    process.stdout.close()
    last: _Acknowledged = defaultdict(lambda: -1)
    revision = 0
    for line in said:
        if not line.endswith("\n"):
            continue  # half a word is no acknowledgement
        kind, number, *more = line.split()
        last[kind] = int(number)
        revision = max([revision, *map(int, more)])
    return last, revision


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_acknowledged_survives_the_kill_of_two_writers(
    tmp_path: Path, seed: int
) -> None:
    drawn = random.Random(seed)
    writers = {name: _start(tmp_path, name) for name in _NAMES}
    acknowledged = {
        name: _kill_after(process, drawn.randrange(1, 60)) for name, process in writers.items()
    }
    ledger = await SqlLedger.open(tmp_path / "hindsight.sqlite3")
    for name, (last, revision) in acknowledged.items():
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
        assert await unit.runs.gaps(TENANT, name_of(name)) == []
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
