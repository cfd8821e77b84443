"""Procedures that two runs prove: the calls that led to success, in order, without the case."""

from collections.abc import Iterable

import pytest

from hindsight_ray.core.procedures import procedures
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.service import outcome
from tests.trajectories import Story
from tests.unit.test_reviewing import Team, home, memories
from tests.worlds import Staged

__all__ = ["home"]  # the fixture

_WAY = ("look", "drain", "restart")


def _told(
    story: Story, tools: Iterable[str] = _WAY, *, stumbles: bool = False, of: str = ""
) -> None:
    before: list[str] = []
    for tool in tools:
        if stumbles:
            failing = story.call(
                f"{of}{tool} bad", tool, "host=0", error="no host 0", causes=before
            )
            before = [failing]
            stumbles = False
        before = [story.call(f"{of}{tool}", tool, "host=7", causes=before)]
    story.decide(f"{of}done", "it runs again", causes=before)


def _run(
    tools: Iterable[str] = _WAY, *, value: float | None = 1.0, stumbles: bool = False
) -> Trajectory:
    story = Story()
    _told(story, tools, stumbles=stumbles)
    return story.trajectory(value)


@pytest.mark.covers("review.procedures")
def test_two_runs_that_ended_well_by_the_same_calls_prove_a_procedure() -> None:
    (found,) = procedures(_run(), [_run(stumbles=True)])
    assert found.type == "procedure"
    assert found.confidence >= 0.7
    assert [step.partition("(")[0] for step in found.steps] == list(_WAY)
    assert all("host=7" in step for step in found.steps)
    assert "look; drain; restart" in found.content
    assert len(found.events) == 3
    (surer,) = procedures(_run(), [_run(stumbles=True), _run()])
    assert surer.confidence > found.confidence


@pytest.mark.covers("review.procedures")
@pytest.mark.parametrize(
    ("run", "others"),
    [
        (_run(stumbles=True), []),  # one run proves nothing
        (_run(), [_run()]),  # nobody had to find the way
        (_run(value=-1.0, stumbles=True), [_run()]),
        (_run(value=None, stumbles=True), [_run()]),
        (_run(stumbles=True), [_run(value=0.0)]),
        (_run(stumbles=True), [_run(("look", "restart", "drain"))]),
        (_run(("look",), stumbles=True), [_run(("look",))]),
    ],
)
def test_less_than_that_proves_none(run: Trajectory, others: list[Trajectory]) -> None:
    assert procedures(run, others) == ()


@pytest.mark.covers("review.procedures")
def test_what_the_end_does_not_rest_on_and_what_differs_is_no_part_of_it() -> None:
    first, second = Story(), Story()
    for story, host in ((first, "7"), (second, "8")):
        story.call("wrong", "look", f"host={host}", error="not there")
        story.call("aside", "weather", "today")
        look = story.call("look", "look", f"host={host}")
        story.call("restart", "restart", "gently", causes=[look])
    runs = [story.trajectory(1.0) for story in (first, second)]
    (found,) = procedures(runs[0], runs[1:])
    assert found.steps[0] == "look"
    assert found.steps[1].startswith("restart(gently)")
    assert len(found.steps) == 2


@pytest.mark.covers("review.procedures")
async def test_the_second_review_keeps_the_procedure_once_and_for_its_readers_only(
    home: Staged,
) -> None:
    teams: list[Team] = []
    for user in ("alice", "bob", "alice"):
        team = await Team.start(home, "planner", user=user)
        _told(team.story, stumbles=not teams, of=f"{len(teams)} ")
        await team.end()
        said = c.AssertOutcome(run_id=team.run.run_id, value=1.0, evaluator="m")
        await outcome.outcome(home.world, team.members["planner"], said)
        home.clock.advance(seconds=60)
        teams.append(team)
        await team.reviewed()
    (kept,) = [one for one in await memories(home) if one.type == "procedure"]
    assert len(kept.steps) == 3
    assert set(kept.audience) == {"agent:planner", "user:alice"}
    assert (kept.source.run, kept.status) == (teams[2].run.run_id, "active")
    assert [(await team.reviewed()).stored for team in teams] == [(), (), ()]
