"""The shipped scenarios hold, by the compiled access and by Casbin alike."""

from pathlib import Path

import pytest

from hindsight_ray.adapters.policy.casbin import CasbinPolicies
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.adapters.policy.scenarios import profile_beside, read_scenario, scenario_files
from hindsight_ray.core.policy_scenarios import Scenario, policy_of, scenario_of, verdicts
from hindsight_ray.domain.access import Policy
from hindsight_ray.errors import InvalidInput
from tests.worlds import START

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


def test_there_is_a_scenario_for_agents_users_roles_and_own_rules() -> None:
    assert [path.stem for path in FILES] == ["agents", "own_rules", "roles", "users"]


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
