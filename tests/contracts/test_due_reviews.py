"""Reviews that nobody asked for: made by the reviewers where there are any, and never forgotten."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from hindsight_ray.actors.reviewer import Reviewer
from hindsight_ray.actors.steward import Steward
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.review import DueReview, Review
from hindsight_ray.service import load_logs
from hindsight_ray.service.world import Opened
from tests.unit.test_reviewing import Team, experiences, memories, stumble
from tests.worlds import Staged, world


class ToReviewer:
    """`Reviews` made by a reviewer in this process; with none, by nobody: it has been stopped."""

    def __init__(self, reviewer: Reviewer | None) -> None:
        self.reviewer = reviewer
        self.handed: list[DueReview] = []

    async def hand(self, due: DueReview) -> None:
        self.handed.append(due)
        if self.reviewer is not None:
            await self.reviewer.review_due(due)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path / "home") as staged:
        yield staged


async def _opened(staged: Staged) -> Opened:
    async def close() -> None:
        """The world belongs to the test."""

    return Opened(staged.world, close)


def _reviewer(staged: Staged) -> Reviewer:
    return Reviewer(lambda: _opened(staged))


def _handing(staged: Staged, reviews: ToReviewer) -> Staged:
    return replace(staged, world=replace(staged.world, reviews=reviews))


async def _long_run(home: Staged) -> Team:
    team = await Team.start(home, "planner")
    for number in range(5):
        team.story.call(f"look {number}", "look", f"shelf={number}", agent="planner")
    stumble(team.story)
    for number in range(5, 9):
        team.story.call(f"look {number}", "look", f"shelf={number}", agent="planner")
    await team.end()
    await home.jobs.finish()
    return team


async def _reviews(home: Staged, team: Team) -> list[Review]:
    async with home.world.ledger.reading() as unit:
        return list(await unit.reviews.of_run("acme", team.run.run_id))


@pytest.mark.covers("review.pool")
async def test_whoever_records_hands_reviews_to_the_reviewers(home: Staged) -> None:
    reviews = ToReviewer(_reviewer(home))
    team = await _long_run(_handing(home, reviews))
    assert reviews.handed[-1] == DueReview(tenant="acme", run_id=team.run.run_id)
    (review,) = await _reviews(home, team)
    assert (review.kind, review.trigger) == ("full", "run end")
    assert len(experiences(await memories(home))) == 1
    assert reviews.reviewer is not None
    state = await reviews.reviewer.state()
    assert (state["answered"], state["failed"], state["running"]) == (2, 0, 0)


@pytest.mark.covers("review.pool")
async def test_a_batch_that_completes_an_anomaly_is_looked_at_by_a_reviewer(home: Staged) -> None:
    reviews = ToReviewer(_reviewer(home))
    team = await Team.start(_handing(home, reviews), "planner")
    for number in range(2):
        team.story.call(
            f"try {number}", "rollback", f"release={number}", error="pinned", agent="planner"
        )
    await team.send()
    await home.jobs.finish()
    (due,) = reviews.handed
    assert len(due.batch) == len(team.story.events)
    (review,) = await _reviews(home, team)
    assert (review.kind, review.trigger) == ("partial", "two tool failures")


@pytest.mark.covers("review.resumed")
async def test_a_review_whose_reviewer_was_stopped_is_found_again_by_the_steward(
    home: Staged,
) -> None:
    team = await _long_run(_handing(home, ToReviewer(None)))
    assert await _reviews(home, team) == []
    reviews = ToReviewer(_reviewer(home))
    steward = Steward(lambda: _opened(_handing(home, reviews)), 60.0, 10, start=None)
    await steward.turn()
    assert reviews.handed == []  # it may be in somebody's hands at this moment
    home.clock.advance(minutes=6)
    await steward.turn()
    assert [one.run_id for one in reviews.handed] == [team.run.run_id]
    (review,) = await _reviews(home, team)
    assert review.kind == "full"
    home.clock.advance(minutes=6)
    await Steward(lambda: _opened(_handing(home, reviews)), 60.0, 10, start=None).turn()
    assert len(reviews.handed) == 1


@pytest.mark.covers("review.resumed")
async def test_an_imported_run_is_reviewed_when_somebody_asks_and_not_before(home: Staged) -> None:
    messages = [{"role": "user", "content": f"Go on, part {n}"} for n in range(12)]
    text = json.dumps(messages)
    fields = {"format": "openai-messages", "text": text, "scope": "global"}
    operator = await home.caller(agent="operator")
    await load_logs.load_logs(home.world, operator, c.ImportRuns.model_validate(fields))
    home.clock.advance(minutes=6)
    reviews = ToReviewer(_reviewer(home))
    await Steward(lambda: _opened(_handing(home, reviews)), 60.0, 10, start=None).turn()
    assert reviews.handed == []


@pytest.mark.covers("review.resumed")
async def test_a_steward_remembers_whom_it_has_handed_over_no_longer_than_it_may_ask_again(
    home: Staged,
) -> None:
    team = await _long_run(_handing(home, ToReviewer(None)))
    reviews = ToReviewer(None)  # whoever takes them is stopped too
    steward = Steward(lambda: _opened(_handing(home, reviews)), 60.0, 10, start=None)
    for _ in range(3):
        home.clock.advance(hours=7)
        await steward.turn()
        assert steward.handed == (team.run.run_id,)
    assert len(reviews.handed) == 1
    home.clock.advance(hours=10)
    await steward.turn()
    assert steward.handed == ()
    assert len(reviews.handed) == 1


async def test_a_review_of_a_run_that_is_not_there_is_no_fault(home: Staged) -> None:
    reviewer = _reviewer(home)
    await reviewer.review_due(
        DueReview(tenant="acme", run_id="0" * 8 + "-0000-4000-8000-" + "0" * 12)
    )
    assert (await reviewer.state())["failed"] == 0
