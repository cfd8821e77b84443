"""Casbin as the authority: one thread, no text in between, and whatever goes wrong is a denial."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from hindsight_ray.adapters.policy.casbin import CasbinPolicies
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core.policy_probes import PROBES_MAX, probes
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.access import Membership, Policy, Revision, Rule
from hindsight_ray.domain.caller import Caller
from hindsight_ray.errors import InvalidPolicy
from tests.worlds import START

MODEL = shipped_text("model.conf")
DEFAULT = parse_policy(shipped_text("default.csv"), revision=1)


def _caller(**fields: object) -> Caller:
    return Caller.model_validate(
        {
            "tenant": "acme",
            "ticket_id": "t",
            "expires_at": START + timedelta(hours=1),
            **fields,
        }
    )


def _rule(subject: str, target: str, **fields: object) -> Rule:
    return Rule.model_validate(
        {
            "subject": subject,
            "tenant": "acme",
            "object": target,
            "action": "read",
            "effect": "allow",
            **fields,
        }
    )


def _policy(*rules: Rule, memberships: tuple[Membership, ...] = ()) -> Policy:
    return Policy(revision=Revision(1), rules=rules, memberships=memberships)


@pytest.mark.covers("G5.empty")
async def test_casbin_denies_everything_under_an_empty_policy() -> None:
    casbin = CasbinPolicies(MODEL)
    for target in ("global", "agent:operator", "label:x"):
        assert not await casbin.enforce(_policy(), _caller(agent="operator"), "read", target, START)


async def test_an_error_inside_casbin_is_a_denial() -> None:
    casbin = CasbinPolicies(MODEL)
    bad = _policy(_rule("role:agent", "global"), _rule("nobody in particular", "global"))
    assert not await casbin.enforce(bad, _caller(agent="a"), "read", "global", START)


async def test_an_unknown_action_or_object_is_a_denial() -> None:
    casbin = CasbinPolicies(MODEL)
    operator = _caller(agent="operator")
    action: Any = "destroy"
    assert not await casbin.enforce(DEFAULT, operator, action, "global", START)
    for target in ("agent:*", "user:*", "", "agent:", "label:*", "global\n"):
        assert not await casbin.enforce(DEFAULT, operator, "read", target, START)


async def test_a_caller_without_agent_or_user_matches_no_rule_by_that_absence() -> None:
    casbin = CasbinPolicies(MODEL)
    policy = _policy(
        _rule("role:agent", "agent:{self}"),
        _rule("role:agent", "user:{acting}"),
        _rule("role:agent", "user:vip"),
    )
    assert not await casbin.enforce(policy, _caller(user="vip"), "read", "user:vip", START)
    assert await casbin.enforce(policy, _caller(agent="a"), "read", "user:vip", START)
    assert not await casbin.enforce(policy, _caller(agent="a"), "read", "user:other", START)


async def test_a_grant_is_left_out_from_its_end_on() -> None:
    casbin = CasbinPolicies(MODEL)
    end = START + timedelta(hours=1)
    policy = _policy(_rule("agent:a", "user:u", until=end))
    answers = [
        await casbin.enforce(policy, _caller(agent="a"), "read", "user:u", now)
        for now in (START, end - timedelta(microseconds=1), end, START, end + timedelta(days=1))
    ]
    assert answers == [True, True, False, True, False]


async def test_another_policy_of_the_same_revision_is_not_taken_for_it() -> None:
    casbin = CasbinPolicies(MODEL)
    caller = _caller(agent="a")
    assert await casbin.enforce(
        _policy(_rule("agent:a", "user:u")), caller, "read", "user:u", START
    )
    other = _policy(_rule("agent:a", "user:v"))
    assert not await casbin.enforce(other, caller, "read", "user:u", START)


async def test_many_at_once_are_answered_one_by_one_and_right() -> None:
    casbin = CasbinPolicies(MODEL)
    policies = [_policy(_rule("agent:a", f"user:u{n}")) for n in range(4)]
    asked = [(policy, n) for policy in policies for n in range(4)] * 4
    answers = await asyncio.gather(
        *(
            casbin.enforce(policy, _caller(agent="a"), "read", f"user:u{n}", START)
            for policy, n in asked
        )
    )
    assert answers == [policies.index(policy) == n for policy, n in asked]


@pytest.mark.parametrize(
    "name", ["a.b", "a-b", "a@b", "A", "a_b", "0", "p.sub", "r.agent", "g", "x" * 128]
)
async def test_every_name_that_is_allowed_stays_itself_in_casbin(name: str) -> None:
    casbin = CasbinPolicies(MODEL)
    policy = _policy(_rule(f"agent:{name}", f"user:{name}"))
    assert await casbin.enforce(policy, _caller(agent=name), "read", f"user:{name}", START)
    other = name.swapcase() if name.swapcase() != name else name + "1"
    if len(other) <= 128:
        assert not await casbin.enforce(policy, _caller(agent=other), "read", f"user:{name}", START)
    assert not await casbin.enforce(policy, _caller(user=name), "read", f"user:{name}", START)


async def test_a_user_and_a_role_of_one_name_stay_apart() -> None:
    casbin = CasbinPolicies(MODEL)
    policy = _policy(
        _rule("role:lead", "user:u"),
        memberships=(Membership(member="agent:x", role="role:lead", tenant="acme"),),
    )
    assert await casbin.enforce(policy, _caller(agent="x"), "read", "user:u", START)
    for caller in (_caller(user="lead"), _caller(agent="lead"), _caller(user="x")):
        assert not await casbin.enforce(policy, caller, "read", "user:u", START)


async def test_the_shipped_profile_is_read_as_it_was_written() -> None:
    await CasbinPolicies(MODEL).check(DEFAULT, START)


async def test_a_policy_with_a_rule_of_unknown_form_fails_the_check() -> None:
    casbin = CasbinPolicies(MODEL)
    with pytest.raises(InvalidPolicy):
        await casbin.check(_policy(_rule("nobody", "global")), START)


def test_probes_are_few_and_spread_over_the_rules() -> None:
    asked = list(probes(DEFAULT, START))
    assert 0 < len(asked) <= PROBES_MAX
    assert {action for _, action, _ in asked} > {"read", "administer"}
    assert any(caller.agent == "operator" for caller, _, _ in asked)
    large = _policy(*(_rule(f"agent:a{n}", "global") for n in range(30_000)))
    assert len(list(probes(large, START))) == 1
