"""Somebody else's environment: MPE's `simple_spread`, recorded, restored, replayed, credited."""

from pathlib import Path

import pytest

import hindsight_ray as hr

pytest.importorskip("mpe2", reason="`mpe2` is not installed; it is a development extra")

from examples.cooperative.rounds import Episode
from examples.cooperative.spread import SPREAD
from examples.cooperative.story import ADVICE, MISLED, played, slippery, story


@pytest.mark.covers("environment.zoo")
async def test_replays_name_the_misled_choice_and_the_memory_that_misled_it(
    tmp_path: Path,
) -> None:
    lines: list[str] = []
    figures = await story(tmp_path / "home", lines.append, embedding="hashed")
    assert figures["faults"] == []
    assert figures["outcome"] < 1.0
    agents = figures["agents"]
    assert min(agents, key=agents.__getitem__) == MISLED
    assert agents[MISLED] < -0.5
    assert all(value == 0.0 for agent, value in agents.items() if agent != MISLED)
    assert figures["memories"] == {ADVICE: "harmful"}
    assert any("shapley of memories" in line for line in lines)


@pytest.mark.covers("environment.zoo")
async def test_on_slippery_ground_a_replay_with_the_run_s_seed_is_the_run(tmp_path: Path) -> None:
    async with hr.open(tmp_path / "home", embedding="hashed") as hindsight:
        one = await played(hindsight, seed=4, game=slippery(0.3))
        trajectory = await hindsight.operator("zoo").trajectory(one.run_id)
    assert not one.environment.deterministic
    assert hr.check_environment(one.environment, trajectory) == ()
    other = slippery(0.3)
    foreign = type(one.environment)(other, 5, one.environment.events)
    assert hr.check_environment(foreign, trajectory) != ()


def test_equal_seeds_and_choices_lead_to_equal_states() -> None:
    digests: list[list[str]] = []
    for seed in (7, 7, 8):
        episode = Episode(SPREAD, seed)
        seen = [episode.digest]
        for agent in episode.agents:
            episode.decide(agent, f"go to landmark {agent[-1]}")
            seen.append(episode.digest)
        digests.append(seen)
    assert digests[0] == digests[1]
    assert digests[0][0] != digests[2][0]
    assert len(set(digests[0])) == len(digests[0])


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(hr.InvalidInput, match="policy"):
        SPREAD.baseline("agent_0", "greedy")
