"""Real logs: imported, reviewed and attributed whole; doing it again adds nothing."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.run import Run, Trajectory
from hindsight_ray.service import attribute, load_logs, review, runs, search
from tests.worlds import Staged, world

pytestmark = pytest.mark.asyncio


@dataclass(frozen=True)
class Log:
    """A file of public logs, and how many runs it holds."""

    name: str
    format: str
    path: str
    runs: int


LOGS = [
    Log("tau", "openai-messages", "tau_airline/runs_tasks_0_24.json", 100),
    Log("generated", "who-and-when", "who_and_when/algorithm_generated.json", 71),
    Log("crafted", "who-and-when", "who_and_when/hand_crafted.json", 28),
]


@pytest.fixture(params=LOGS, ids=[log.name for log in LOGS])
def log(request: pytest.FixtureRequest) -> Log:
    return request.param


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Staged]:
    async with world(tmp_path / "home") as staged:
        yield staged


async def load(home: Staged, folder: Path, log: Log) -> c.ImportReport:
    if not (folder / log.path).is_file():
        pytest.skip(f"{folder / log.path} is not there")
    text = (folder / log.path).read_text(encoding="utf-8")
    command = c.ImportRuns.model_validate({"format": log.format, "text": text, "scope": "global"})
    return await load_logs.load_logs(home.world, await home.caller(agent="operator"), command)


async def every_run(home: Staged) -> list[Run]:
    async with home.world.ledger.reading() as unit:
        return list(await unit.runs.newest("acme", limit=500))


async def everything_learned(home: Staged) -> list[Memory]:
    async with home.world.ledger.reading() as unit:
        rows = RowFilter(
            tenant="acme",
            now=home.clock.now(),
            keys=None,
            statuses=frozenset({"active", "pending", "quarantined", "outdated"}),
        )
        return list(await unit.memories.recent(rows, limit=10_000))


async def trajectory(home: Staged, caller: Caller, run: Run) -> Trajectory:
    return await runs.read(home.world, caller, c.ReadRun(run_id=run.run_id))


@pytest.mark.covers("G3.import", "G6.experience", "G7.sum")
@pytest.mark.timeout(120)
async def test_every_public_run_is_imported_reviewed_and_attributed(
    home: Staged, data_folder: Path, log: Log
) -> None:
    report = await load(home, data_folder, log)
    assert (report.runs, report.refused) == (log.runs, ())
    anyone = await home.caller(agent="clerk", user="zoe")
    found = await every_run(home)
    assert len(found) == log.runs
    events: dict[str, set[str]] = {}
    for run in found:
        told = await trajectory(home, anyone, run)
        events[run.run_id] = {event.event_id for event in told.events}
        assert told.gaps == ()
        assert told.dangling == ()
        asked = c.Attribute(run_id=run.run_id)
        given = await attribute.attribute(home.world, anyone, asked)
        assert (given.abstained is None) == (given.outcome != 0)  # nothing to share
        assert given.coverage is not None
        assert given.coverage.in_slice > len(told.events) / 2
        assert sum(credit.value for credit in given.credits) == given.outcome
        await review.review(home.world, anyone, c.ReviewRun(run_id=run.run_id))
    assert sum(map(len, events.values())) == report.events
    learned = await everything_learned(home)
    for memory in learned:
        assert memory.source.run is not None
        assert memory.source.events
        assert set(memory.source.events) <= events[memory.source.run]
        if memory.type == "procedure":
            assert len(memory.steps) > 1
        else:
            assert memory.type == "episode" or "you should" in memory.content
    kinds = Counter(memory.type for memory in learned)
    assert kinds["episode"] == log.runs

    again = await load(home, data_folder, log)
    assert (again.runs, again.events, again.repeated) == (0, 0, log.runs)
    for run in found[:10]:
        second = await review.review(home.world, anyone, c.ReviewRun(run_id=run.run_id))
        assert second.stored == ()
    assert await everything_learned(home) == learned


@pytest.mark.timeout(60)
async def test_what_the_airline_runs_teach_is_found_by_a_later_agent(
    home: Staged, data_folder: Path
) -> None:
    await load(home, data_folder, LOGS[0])
    anyone = await home.caller(agent="clerk", user="zoe")
    for run in await every_run(home):
        await review.review(home.world, anyone, c.ReviewRun(run_id=run.run_id))
    query = c.Search(
        query="update_reservation_flights certificate cannot be used to update reservation",
        types=("experience",),
        task_type="dialogue",
        tools=("update_reservation_flights",),
    )
    hits = (await search.search(home.world, anyone, query)).hits
    assert hits
    assert "certificate cannot be used" in hits[0].memory.content


@pytest.mark.timeout(60)
async def test_culprit_labels_of_the_public_logs_point_at_real_steps(
    home: Staged, data_folder: Path
) -> None:
    log = LOGS[2]
    await load(home, data_folder, log)
    items = json.loads((data_folder / log.path).read_text(encoding="utf-8"))
    labels = sorted(item["mistake_reason"][:50] for item in items)
    kept: list[str] = []
    for run in await every_run(home):
        async with home.world.ledger.reading() as unit:
            events = {event.event_id for event in await unit.runs.events("acme", run.run_id)}
            (remark,) = await unit.runs.annotations("acme", run.run_id)
        assert remark.event in events
        kept.append(remark.text[:50])
    assert sorted(kept) == labels
