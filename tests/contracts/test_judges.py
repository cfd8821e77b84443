"""A model as judge of a failed run: real LiteLLM over HTTP, to answers that each test writes."""

import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import AccessDenied, NotFound
from hindsight_ray.service import attribute, outcome, write
from tests.servers.scripted_model import ScriptedModel, scripted_model
from tests.trajectories import event_id
from tests.unit.test_reviewing import Team
from tests.worlds import Staged, world

_SECRET = "The pager of the night shift is 5512"


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as server:
        yield server


async def _no_pause(_seconds: float) -> None:
    """Nobody waits in a test."""


@pytest.fixture
async def home(tmp_path: Path, model: ScriptedModel) -> AsyncGenerator[Staged]:
    model.script("{}")
    fields = {"lock_wait_s": 5.0, "chat_strong": "openai/gpt-4o", "chat_api_base": model.address}
    settings = Settings.model_validate(fields)
    chat = LiteLLMChat(settings, pause=_no_pause)
    async with world(tmp_path / "home", settings=settings, chat=chat) as staged:
        yield staged


async def _failed(home: Staged, *, used: tuple[MemoryRef, ...] = ()) -> Team:
    team = await Team.start(home, "planner", "executor")
    team.story.decide("plan", "Restart everything", used=used)
    team.story.decide("do", "Restart checkout", agent="executor", causes=["plan"])
    team.story.decide("done", "Tell that it is done", causes=["do"])
    await team.end()
    planner = team.members["planner"]
    asserted = c.AssertOutcome(run_id=team.run.run_id, value=-1.0)
    await outcome.outcome(home.world, planner, asserted)
    return team


def _asked(team: Team, **fields: Any) -> c.Attribute:
    return c.Attribute.model_validate({"run_id": team.run.run_id, "method": "judge", **fields})


@pytest.mark.covers("judge.opinion")
async def test_a_judge_s_opinion_is_credit_of_the_class_opinion(
    home: Staged, model: ScriptedModel
) -> None:
    team = await _failed(home)
    model.script(json.dumps({"events": ["e2"], "reason": "it need not restart"}))
    found = await attribute.attribute(home.world, team.members["planner"], _asked(team))
    assert [one.target.id for one in found.credits] == [event_id("do")]
    assert found.credits[0].evidence == "opinion"
    assert found.method == "judge, all at once"


@pytest.mark.covers("judge.strategies")
async def test_step_by_step_asks_about_each_decision_until_one_is_decisive(
    home: Staged, model: ScriptedModel
) -> None:
    team = await _failed(home)
    model.script('{"decisive": false}', '{"decisive": true}', '{"decisive": false}')
    asked = _asked(team, strategy="step by step")
    found = await attribute.attribute(home.world, team.members["planner"], asked)
    assert [one.target.id for one in found.credits] == [event_id("do")]
    assert len(model.asked) == 2
    assert "done" not in model.prompts[0]


async def test_an_answer_that_cannot_be_read_is_an_abstention_with_its_name(
    home: Staged, model: ScriptedModel
) -> None:
    team = await _failed(home)
    model.script("I would rather talk about the weather")
    found = await attribute.attribute(home.world, team.members["planner"], _asked(team))
    assert found.abstained is not None
    assert "(unparsable)" in found.abstained.reason
    assert len(model.asked) == 2


@pytest.mark.covers("judge.access")
async def test_a_model_is_shown_only_what_whoever_asks_may_read(
    home: Staged, model: ScriptedModel
) -> None:
    owner = await home.caller(agent="planner", user="alice")
    command = c.Write(command_id="w", content=_SECRET, scope="agent:planner")
    (memory,) = (await write.write(home.world, owner, command)).ids
    team = await _failed(home, used=(MemoryRef(id=memory, revision=1),))
    model.script(json.dumps({"events": ["e1"]}))
    other = await home.caller(agent="other", user="alice")
    await attribute.attribute(home.world, other, _asked(team))
    assert _SECRET not in "".join(model.prompts)
    assert str(memory) not in "".join(model.prompts)
    await attribute.attribute(home.world, team.members["planner"], _asked(team))
    assert _SECRET in "".join(model.prompts)


@pytest.mark.covers("judge.access")
async def test_whoever_may_not_review_the_run_asks_no_model_about_it(
    home: Staged, model: ScriptedModel
) -> None:
    team = await _failed(home)
    model.script(json.dumps({"events": ["e1"]}))
    bob = await home.caller(agent="planner", user="bob")
    with pytest.raises((NotFound, AccessDenied)):
        await attribute.attribute(home.world, bob, _asked(team))
    assert not model.asked


async def test_without_a_model_the_judge_abstains(tmp_path: Path) -> None:
    async with world(tmp_path / "home") as home:
        team = await _failed(home)
        found = await attribute.attribute(home.world, team.members["planner"], _asked(team))
    assert found.abstained is not None
    assert found.abstained.reason == "no model is set that could be asked"
