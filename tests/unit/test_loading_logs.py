"""Importing over a real home: once, whole or not at all, by the operator alone."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.adapters.reports.w3c_prov import prov_json
from hindsight_ray.core.report.shapes import Words
from hindsight_ray.core.report.timeline import timeline
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.run import Run
from hindsight_ray.errors import AccessDenied, InvalidImport, NotFound
from hindsight_ray.service import attribute, explain, load_logs, record, review, runs, search
from tests.trajectories import Story
from tests.unit.test_logs import MESSAGES, log
from tests.worlds import Staged, world

pytestmark = pytest.mark.asyncio


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Staged]:
    async with world(tmp_path / "home") as staged:
        yield staged


async def load(home: Staged, document: object, **fields: Any) -> c.ImportReport:
    operator = await home.caller(agent="operator")
    text = document if isinstance(document, str) else json.dumps(document)
    given = {"format": "openai-messages", "text": text, "scope": "global", **fields}
    command = c.ImportRuns.model_validate(given)
    return await load_logs.load_logs(home.world, operator, command)


async def every_run(home: Staged) -> list[Run]:
    async with home.world.ledger.reading() as unit:
        return list(await unit.runs.newest("acme", limit=100))


async def learned(home: Staged, status: str) -> list[str]:
    async with home.world.ledger.reading() as unit:
        rows = RowFilter(
            tenant="acme",
            now=home.clock.now(),
            keys=None,
            types=frozenset({"experience"}),
            statuses=frozenset({status}),  # type: ignore[arg-type]
        )
        return [memory.content for memory in await unit.memories.recent(rows, limit=100)]


RUN = {"task_id": 1, "trial": 0, "reward": 1.0, "traj": MESSAGES}


@pytest.mark.covers("G3.import", "import.formats")
async def test_importing_again_adds_nothing_even_later_and_from_a_longer_file(
    home: Staged,
) -> None:
    assert await load(home, [RUN]) == c.ImportReport(runs=1, events=7, untimed=1)
    before = await every_run(home)
    home.clock.advance(days=3)
    assert await load(home, [RUN]) == c.ImportReport(runs=0, events=0, repeated=1)
    assert await every_run(home) == before
    longer = await load(home, [RUN, {**RUN, "trial": 1}])
    assert (longer.runs, longer.events, longer.repeated) == (1, 7, 1)


@pytest.mark.covers("G4.refused")
async def test_bad_items_are_named_by_position_and_the_rest_is_kept(home: Staged) -> None:
    report = await load(home, [{"traj": []}, RUN, 7])
    assert report.runs == 1
    assert [(one.position, "`" in one.reason) for one in report.refused] == [(0, True), (2, True)]


async def test_a_broken_file_leaves_nothing_behind(home: Staged) -> None:
    whole = json.dumps([RUN, {**RUN, "trial": 1}])
    with pytest.raises(InvalidImport):
        await load(home, whole[:-20])
    assert await every_run(home) == []


async def test_only_the_operator_imports(home: Staged) -> None:
    curator = await home.caller(agent="curator", user="alice")
    command = c.ImportRuns(format="openai-messages", text=json.dumps([RUN]), scope="user:alice")
    with pytest.raises(AccessDenied):
        await load_logs.load_logs(home.world, curator, command)
    assert await every_run(home) == []


async def test_the_reward_is_an_outcome_of_somebody_who_took_no_part(home: Staged) -> None:
    await load(home, [RUN])
    (run,) = await every_run(home)
    async with home.world.ledger.reading() as unit:
        (outcome,) = await unit.outcomes.of_run("acme", run.run_id)
    assert (outcome.value, outcome.success, outcome.evaluator, outcome.by) == (
        1.0,
        True,
        "log",
        "agent:operator",
    )
    assert (outcome.participant, outcome.evaluates) == (False, True)


async def reviewed(home: Staged, caller: Caller | None = None) -> list[Any]:
    asker = caller or await home.caller(agent="operator")
    return [
        await review.review(home.world, asker, c.ReviewRun(run_id=run.run_id))
        for run in await every_run(home)
    ]


async def test_what_a_trusted_log_teaches_is_found_by_every_reader_of_the_scope(
    home: Staged,
) -> None:
    await load(home, [RUN])
    (report,) = await reviewed(home)
    assert report.stored
    anyone = await home.caller(agent="clerk", user="zoe")
    found = await search.search(
        home.world, anyone, c.Search(query="book a seat that is taken", types=("experience",))
    )
    (hit,) = found.hits
    assert hit.memory.content == (
        'When book fails ("seat 1 is taken"), you should do: book {"seat":2} → {"booked": 2}'
    )
    assert (hit.memory.scope, hit.memory.audience) == ("global", ("global",))
    assert hit.memory.source.reviewed_by == "agent:operator"
    assert hit.memory.source.trusted


@pytest.mark.covers("import.untrusted")
async def test_what_an_untrusted_log_teaches_is_quarantined(home: Staged) -> None:
    await load(home, [RUN], trusted=False)
    await reviewed(home)
    assert await learned(home, "active") == []
    assert len(await learned(home, "quarantined")) == 1
    anyone = await home.caller(agent="clerk", user="zoe")
    query = c.Search(query="book a seat that is taken")
    assert (await search.search(home.world, anyone, query)).hits == ()


async def test_names_in_a_log_are_labels_and_give_nobody_a_part_in_the_run(home: Staged) -> None:
    document = [{"role": "user", "content": "go"},
                {"role": "assistant", "name": "planner", "content": "hm"}]  # fmt: skip
    await load(home, document, scope="agent:planner")
    (run,) = await every_run(home)
    assert run.participants[-1].agent == "planner"
    planner = await home.caller(agent="planner", user="alice")
    story = Story()
    story.decide("mine")
    event = story.events[0].model_copy(update={"run_id": run.run_id})
    command = c.RecordEvents(run_id=run.run_id, events=(event,))
    with pytest.raises((NotFound, AccessDenied)):
        await record.record(home.world, planner, command)


async def test_everything_an_imported_team_teaches_goes_to_the_runs_scope(home: Staged) -> None:
    document = [
        {"role": "user", "content": "go"},
        {**MESSAGES[2], "name": "planner"},
        MESSAGES[3],
        {**MESSAGES[4], "name": "planner"},
        MESSAGES[5],
    ]
    await load(home, document, scope="user:alice")
    await reviewed(home)
    async with home.world.ledger.reading() as unit:
        rows = RowFilter(tenant="acme", now=home.clock.now(), keys=None)
        kept = await unit.memories.recent(rows, limit=10)
    assert {memory.scope for memory in kept} == {"user:alice"}
    assert {memory.audience for memory in kept} == {("user:alice",)}
    assert {memory.source.agent for memory in kept} == {"reviewer"}


async def test_annotations_change_no_credit(home: Staged) -> None:
    plain = {name: value for name, value in log().items() if not name.startswith("mistake")}
    labelled = log()
    await load(home, [plain, labelled], format="who-and-when")
    operator = await home.caller(agent="operator")
    shares = []
    for run in await every_run(home):
        asked = c.Attribute(run_id=run.run_id)
        attribution = await attribute.attribute(home.world, operator, asked)
        shares.append([(one.target.label, one.value) for one in attribution.credits])
        assert attribution.outcome == -1.0
    assert shares[0] == shares[1]
    assert sum(value for _, value in shares[0]) == -1.0


async def test_an_imported_run_reads_like_any_other(home: Staged) -> None:
    await load(home, [RUN])
    (run,) = await every_run(home)
    anyone = await home.caller(agent="clerk", user="zoe")
    trajectory = await runs.read(home.world, anyone, c.ReadRun(run_id=run.run_id))
    assert [event.kind for event in trajectory.events][:3] == ["state", "user", "decision"]
    assert trajectory.gaps == ()
    assert trajectory.dangling == ()


@pytest.mark.covers("import.formats")
async def test_of_a_log_without_times_no_picture_and_no_episode_says_when(home: Staged) -> None:
    at = "2026-02-01T09:00:00+00:00"
    said = [{**message, "timestamp": at} for message in MESSAGES]
    report = await load(home, [{"traj": MESSAGES}, {"traj": said}])
    assert (report.runs, report.untimed) == (2, 1)
    operator = await home.caller(agent="operator")
    for run in await every_run(home):
        name = run.run_id
        await review.review(home.world, operator, c.ReviewRun(run_id=name))
        trajectory = await runs.read(home.world, operator, c.ReadRun(run_id=name))
        credit = await attribute.attribute(home.world, operator, c.Attribute(run_id=name))
        words = [one.text for one in timeline(trajectory, credit).shapes if isinstance(one, Words)]
        assert ("step 1" in words, "+0 s" in words) == (not run.timed, run.timed)
        assert ("prov:startTime" in prov_json(trajectory, credit)) == run.timed
        async with home.world.ledger.reading() as unit:
            rows = RowFilter(
                tenant="acme", now=home.clock.now(), keys=None, types=frozenset({"episode"})
            )
            kept = [one for one in await unit.memories.recent(rows, limit=9)
                    if one.source.run == name]  # fmt: skip
        (episode,) = kept
        began = "2026-02-01: " if run.timed else "imported 2026-03-02: "
        assert episode.content.startswith(began)
        told = await explain.explain(home.world, operator, c.Explain(memory_id=episode.id))
        assert told.timed == run.timed
