"""A collaborative experience names the decisions that it rests on, with their credit."""

from pathlib import Path

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.credit import Credit, Target
from hindsight_ray.service import attribute, credit, explain, outcome
from tests.trajectories import event_id
from tests.unit.test_reviewing import Team, experiences, memories
from tests.worlds import world

pytestmark = pytest.mark.asyncio


@pytest.mark.covers("G6.decisions")
async def test_an_experience_names_the_decisions_it_rests_on_and_their_credit(
    tmp_path: Path,
) -> None:
    async with world(tmp_path / "home") as home:
        team = await Team.start(home, "planner", "executor")
        team.story.decide("choose", "Deploy to prod", agent="executor")
        team.story.call("bad", "deploy", "stage=prod", error="frozen", agent="executor",
                        causes=["choose"])  # fmt: skip
        team.story.say("tell", "use stage canary", to="executor", causes=["bad"])
        team.story.decide("again", "Deploy to canary", agent="executor", causes=["tell"])
        team.story.call("good", "deploy", "stage=canary", agent="executor", causes=["again"])
        team.story.decide("aside", "Write the minutes", causes=["tell"])
        await team.end()
        planner = team.members["planner"]
        run_id = team.run.run_id
        await outcome.outcome(home.world, planner, c.AssertOutcome(run_id=run_id, value=1.0))
        await team.reviewed()
        (lesson,) = experiences(await memories(home))
        asked = c.Explain.model_validate({"memory_id": lesson.id})

        told = await explain.explain(home.world, planner, asked)
        named = {one.target.id for one in told.credits}
        assert event_id("again") in named
        assert event_id("aside") not in named
        assert {one.evidence for one in told.credits} == {"structural"}

        structure = await attribute.attribute(home.world, planner, c.Attribute(run_id=run_id))
        replayed = Credit(
            target=Target(kind="event", id=event_id("again"), label="executor: Deploy to canary"),
            value=0.75, low=0.5, high=1.0, method="shapley", evidence="replayed",
        )  # fmt: skip
        found = structure.model_copy(update={"method": "shapley", "credits": (replayed,)})
        await credit.submit(home.world, planner, c.SubmitCredits(run_id=run_id, attribution=found))
        told = await explain.explain(home.world, planner, asked)
        assert told.credits == (replayed,)
