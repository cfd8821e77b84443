"""Who sees what, what a policy would change, which of its rules do nothing or too much."""

import io
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core import policy_diff
from hindsight_ray.core.access import PolicyIndex, compile_access
from hindsight_ray.core.policy_diff import Difference, difference
from hindsight_ray.core.policy_lint import lint
from hindsight_ray.core.policy_overview import holders
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.access import ACTIONS, Policy
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import (
    Seer,
    SeersAnswer,
    Sees,
    SeesAnswer,
    Share,
    WhoSees,
    Why,
    WhyAnswer,
    Write,
)
from hindsight_ray.entry.cli import show_access
from hindsight_ray.errors import AccessDenied
from tests.properties.test_access import SCOPES, _callers, _policies
from tests.worlds import START, Staged, world

DEFAULT = shipped_text("default.csv")


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _seers(home: Staged, scope: str, action: str = "read") -> dict[str, Seer]:
    answer = await home.ask(
        await home.operator(), WhoSees.model_validate({"scope": scope, "action": action})
    )
    assert isinstance(answer, SeersAnswer)
    assert answer.complete
    return {one.who: one for one in answer.seers}


@pytest.mark.covers("policy.who")
async def test_who_sees_a_scope_is_listed_with_the_rule_the_way_and_the_end(home: Staged) -> None:
    before = set(await _seers(home, "user:alice"))
    assert before == {
        "agent:curator", "agent:evaluator", "agent:operator", "agent:reviewer", "user:alice",
        "an agent for user:alice",
    }  # fmt: skip
    until = START + timedelta(hours=1)
    share = {"command_id": "s", "scope": "user:alice", "to": "agent:helper", "until": until}
    await home.ask(await home.ticket(user="alice"), Share.model_validate(share))
    after = await _seers(home, "user:alice")
    assert set(after) == before | {"agent:helper"}
    assert (after["agent:helper"].grantor, after["agent:helper"].until) == ("user:alice", until)
    assert after["agent:curator"].role_path == ("agent:curator", "role:curator")
    home.clock.advance(hours=1)
    assert set(await _seers(home, "user:alice")) == before
    assert "any other agent" in await _seers(home, "global")


@pytest.mark.covers("policy.sees")
async def test_what_a_caller_sees_is_what_it_may_do(home: Staged) -> None:
    await home.ask(
        await home.ticket(agent="planner", user="alice"),
        Write(command_id="w", content="Alice takes the early train"),
    )
    answer = await home.ask(await home.operator(), Sees(agent="planner", user="alice"))  # type: ignore[arg-type]
    assert isinstance(answer, SeesAnswer)
    assert answer.who == "agent:planner for user:alice"
    assert answer.scopes == {
        "agent:planner": ("read", "write", "forget", "share", "review"),
        "user:alice": ("read", "write", "forget", "review"),
        "global": ("read", "review"),
    }
    assert not answer.reads_everything


async def test_neither_is_told_to_who_does_not_audit(home: Staged) -> None:
    for fields in ({"user": "alice"}, {"agent": "curator"}):
        token = await home.ticket(**fields)
        for command in (WhoSees(scope="global"), Sees()):  # type: ignore[arg-type]
            with pytest.raises(AccessDenied):
                await home.ask(token, command)


@settings(max_examples=60, deadline=None)
@given(policy=_policies, caller=_callers, scope=st.sampled_from(SCOPES))
def test_nobody_who_may_is_missing_from_the_list(
    policy: Policy, caller: Caller, scope: str
) -> None:
    index = PolicyIndex.of(policy)
    bare = caller.model_copy(update={"scopes": None, "actions": None})
    if bare.agent is not None and bare.user is not None:
        return
    for action in ACTIONS:
        if not compile_access(index, bare, START).may(action, scope):
            continue
        found, complete = holders(index, bare.tenant, scope, action, START)
        kind = "agent" if bare.agent is not None else "user"
        names = {one.who for one in found}
        assert complete
        assert names & {bare.principal, f"any other {kind}"}


def _difference(old: str, new: str) -> Difference:
    return difference(parse_policy(old), parse_policy(new), START)


def _lines(found: Difference) -> set[tuple[str, str, str, str, bool]]:
    return {(c.tenant, c.who, c.action, c.object, c.gained) for c in found.changes}


@pytest.mark.covers("policy.diff")
def test_a_difference_lists_who_gains_and_who_loses() -> None:
    rows = "p, role:support, acme, user:bob, read, allow\ng, user:sam, role:support, acme\n"
    gained = _difference(DEFAULT, DEFAULT + rows)
    assert _lines(gained) == {
        ("acme", "user:sam", "read", "user:bob", True),
        ("acme", "an agent for user:sam", "read", "user:bob", True),
    }
    assert (gained.rules_added, gained.memberships_added, gained.complete) == (1, 1, True)
    assert {
        (*one[:4], not one[4]) for one in _lines(_difference(DEFAULT + rows, DEFAULT))
    } == _lines(gained)


@pytest.mark.covers("policy.diff")
def test_a_rule_for_everybody_is_asked_of_nothing_that_it_is_not_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand callers and as many scopes: one question each, not a thousand of nine actions."""
    many = "".join(f"p, agent:a{n}, acme, user:u{n}, read, allow\n" for n in range(1_000))
    idle = "p, role:agent, acme, agent:{self}, administer, deny\n"  # nobody had it
    monkeypatch.setattr(policy_diff, "QUESTIONS_MAX", 5_000)
    found = _difference(many, many + idle)
    assert (found.changes, found.complete) == ((), True)
    monkeypatch.setattr(policy_diff, "QUESTIONS_MAX", 500)
    cut = _difference(many, many + idle)
    assert (cut.changes, cut.complete) == ((), False)
    said = io.StringIO()
    Console(file=said, width=200).print(show_access.difference(cut))
    assert "not all was looked at" in said.getvalue()
    assert "nobody" not in said.getvalue()


@pytest.mark.covers("policy.diff")
def test_an_edit_that_changes_nothing_is_no_difference() -> None:
    more = DEFAULT + "p, agent:planner, *, agent:planner, read, allow\n"
    found = _difference(DEFAULT, more)
    assert (found.changes, found.rules_added) == ((), 1)
    assert _difference(DEFAULT, DEFAULT).changes == ()


@pytest.mark.covers("policy.diff")
def test_a_rule_for_everybody_is_a_difference_for_whoever_nobody_names() -> None:
    strict = _difference(DEFAULT, shipped_text("strict.csv"))
    assert ("any other tenant", "any other agent", "read", "global", False) in _lines(strict)
    assert ("any other tenant", "agent:curator", "read", "user:any other", False) in _lines(strict)


@settings(max_examples=60, deadline=None)
@given(old=_policies, new=_policies, caller=_callers)
def test_a_difference_names_every_named_caller_that_is_decided_otherwise(
    old: Policy, new: Policy, caller: Caller
) -> None:
    bare = caller.model_copy(update={"scopes": None, "actions": None})
    if bare.agent is not None and bare.user is not None:
        return
    found = difference(old, new, START)
    said = {(c.tenant, c.who, c.action, c.object) for c in found.changes}
    names = {bare.principal, f"any other {'user' if bare.agent is None else 'agent'}"}
    before, after = (compile_access(PolicyIndex.of(one), bare, START) for one in (old, new))
    for action in ACTIONS:
        for scope in SCOPES:
            if before.may(action, scope) == after.may(action, scope):
                continue
            kind = scope.partition(":")[0]
            assert any(
                (tenant, who, action, target) in said
                for tenant in (bare.tenant, "any other tenant")
                for who in names
                for target in (scope, f"{kind}:any other")
            )


@pytest.mark.covers("policy.lint")
@pytest.mark.parametrize(
    ("row", "finding", "why"),
    [
        ("p, role:ghost, *, global, write, allow", "unreachable", "role:ghost"),
        ("g, role:ghost, role:curator, *", "unreachable", "role:ghost"),
        ("p, role:agent, acme, global, read, allow", "shadowed", "role:agent, *"),
        ("p, agent:planner, acme, agent:planner, read, allow", "shadowed", "agent:{self}"),
        ("p, role:curator, acme, user:alice, read, allow", "shadowed", "user:*"),
        ("g, agent:curator, role:curator, acme", "shadowed", "every tenant"),
        ("g, agent:planner, role:agent, acme", "shadowed", "everybody"),
        ("p, role:agent, acme, user:*, read, allow", "over-broad", "every user"),
        ("p, role:user, acme, global, administer, allow", "over-broad", "administer"),
        ("p, agent:planner, *, user:alice, read, allow", "over-broad", "every tenant"),
        ("p, role:user, *, agent:{self}, share, allow", "unreachable", "no agent"),
    ],
)
def test_a_rule_that_does_nothing_or_too_much_is_found(row: str, finding: str, why: str) -> None:
    found = [one for one in lint(parse_policy(f"{DEFAULT}{row}\n")) if one.line == row]
    assert (finding, True) in [(one.finding, why in one.why) for one in found]


@pytest.mark.covers("policy.lint")
def test_an_allow_under_a_deny_is_shadowed_by_it() -> None:
    rows = (
        "p, agent:planner, acme, user:*, read, deny\n"
        "p, agent:planner, acme, user:bob, read, allow\n"
    )
    found = lint(parse_policy(DEFAULT + rows))
    assert [(one.finding, "deny" in one.why) for one in found] == [("shadowed", True)]


def test_the_shipped_profiles_have_no_idle_rules() -> None:
    for name in ("default", "strict", "team", "research"):
        found = lint(parse_policy(shipped_text(f"{name}.csv")))
        kinds = {one.finding for one in found}
        assert kinds == {"team": {"unreachable"}, "research": {"over-broad"}}.get(name, set())


@settings(max_examples=60, deadline=None)
@given(policy=_policies, caller=_callers)
def test_taking_out_a_shadowed_or_unreachable_rule_changes_nothing(
    policy: Policy, caller: Caller
) -> None:
    texts = [str(rule) for rule in policy.rules]
    idle = {one.line for one in lint(policy) if one.finding != "over-broad"}
    for place, text in enumerate(texts):
        if text not in idle or texts.count(text) > 1:
            continue
        kept = policy.rules[:place] + policy.rules[place + 1 :]
        without = policy.model_copy(update={"rules": kept})
        before, after = (
            compile_access(PolicyIndex.of(one), caller, START) for one in (policy, without)
        )
        for action in ACTIONS:
            for scope in SCOPES:
                assert before.may(action, scope) == after.may(action, scope), text


@pytest.mark.covers("policy.why")
async def test_why_about_a_memory_tells_its_audience_for_allow_and_deny(home: Staged) -> None:
    receipt = await home.ask(
        await home.ticket(agent="planner", user="alice"),
        Write.model_validate(
            {"command_id": "w", "content": "The vault opens at nine", "scope": "agent:planner"}
        ),
    )
    name = receipt.ids[0]  # type: ignore[attr-defined]
    operator = await home.operator()
    for user, allowed in (("alice", True), ("bob", False)):
        answer = await home.ask(
            operator, Why(agent="planner", user=user, action="read", object=name)
        )
        assert isinstance(answer, WhyAnswer)
        assert answer.allowed == allowed
        assert answer.audience == ("agent:planner", "user:alice")
        assert {one.object for one in answer.decisions} == set(answer.audience)
        assert answer.revision == 1
        for one in answer.decisions:
            assert (one.rule is None) == (one.reason == "no rule")
            assert bool(one.role_path) == one.allowed
