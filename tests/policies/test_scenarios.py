"""The shipped scenarios hold, by the compiled access and by Casbin alike."""

from pathlib import Path

import pytest

from hindsight_ray import compose
from hindsight_ray.adapters.policy.casbin import CasbinPolicies
from hindsight_ray.adapters.policy.profiles import policies_folder, shipped_text
from hindsight_ray.adapters.policy.scenarios import profile_beside, read_scenario, scenario_files
from hindsight_ray.core.policy_scenarios import Scenario, policy_of, scenario_of, verdicts
from hindsight_ray.domain.access import Policy
from hindsight_ray.domain.commands import LoadPolicy
from hindsight_ray.domain.receipt import PolicyLoaded
from hindsight_ray.errors import InvalidInput, InvalidSettings
from tests.worlds import START, world

FILES = scenario_files()


def _loaded(path: Path) -> tuple[Scenario, Policy]:
    scenario = read_scenario(path)
    return scenario, policy_of(scenario, profile_beside(path, scenario))


@pytest.mark.covers("G5.profile")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_assertion_of_a_scenario_holds(path: Path) -> None:
    scenario, policy = _loaded(path)
    failed = [one for one in verdicts(scenario, policy, START) if not one.holds]
    assert not failed


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_casbin_decides_every_assertion_alike(path: Path) -> None:
    scenario, policy = _loaded(path)
    casbin = CasbinPolicies(shipped_text("model.conf"))
    for one in verdicts(scenario, policy, START):
        asked = one.question
        allowed = await casbin.enforce(policy, asked.caller, asked.action, asked.object, START)
        assert allowed == one.decision.allowed, asked


def test_there_are_scenarios_for_every_profile_and_for_own_rules() -> None:
    names = {path.stem for path in FILES}
    assert names >= {"agents", "own_rules", "roles", "users", "strict", "team", "research"}
    profiles = {path.stem for path in policies_folder().glob("*.csv")}
    assert {_loaded(path)[0].profile.removesuffix(".csv") for path in FILES} == profiles


@pytest.mark.covers("G5.profile")
@pytest.mark.parametrize("name", ["default", "strict", "team", "research"])
async def test_a_home_begins_with_the_profile_that_is_asked_for(tmp_path: Path, name: str) -> None:
    async with compose.open(tmp_path, embedding="hashed", policy=name) as hindsight:
        decided = await hindsight.operator("acme").why("read", "agent:other", agent="planner")
        assert decided.allowed == (name == "research")
        decided = await hindsight.operator("acme").why("read", "global", agent="planner")
        assert decided.allowed == (name != "strict")
    async with compose.open(tmp_path, policy=name):
        pass  # the same words again mean the same home
    other = "team" if name == "strict" else "strict"
    with pytest.raises(InvalidSettings, match="policy load"):
        async with compose.open(tmp_path, policy=other):
            pass


@pytest.mark.parametrize("name", ["default", "strict", "team", "research"])
async def test_every_profile_can_be_loaded_in_place_of_another(tmp_path: Path, name: str) -> None:
    async with world(tmp_path) as home:
        loaded = await home.ask(await home.operator(), LoadPolicy(text=shipped_text(f"{name}.csv")))
        assert isinstance(loaded, PolicyLoaded)


def test_a_scenario_that_the_policy_does_not_meet_is_noticed() -> None:
    scenario = scenario_of(
        {
            "about": "wishful",
            "assertions": [
                {
                    "because": "hope",
                    "caller": {"agent": "planner"},
                    "allow": {"global": ["administer"]},
                    "deny": {"agent:planner": ["read"]},
                }
            ],
        }
    )
    policy = policy_of(scenario, shipped_text("default.csv"))
    assert [one.holds for one in verdicts(scenario, policy, START)] == [False, False]


def test_a_scenario_whose_denial_has_another_reason_is_noticed() -> None:
    scenario = scenario_of(
        {
            "about": "another reason",
            "assertions": [
                {
                    "because": "x",
                    "caller": {"agent": "planner"},
                    "deny": {"user:bob": ["read"]},
                    "reason": "denied by rule",
                }
            ],
        }
    )
    policy = policy_of(scenario, shipped_text("default.csv"))
    assert [one.holds for one in verdicts(scenario, policy, START)] == [False]


@pytest.mark.parametrize("text", ["[]", "about: x", "about: x\nassertions: []\n", "a: ["])
def test_a_scenario_file_with_a_fault_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput):
        read_scenario(path)
