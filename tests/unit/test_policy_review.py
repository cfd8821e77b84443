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
from hindsight_ray.core.policy_callers import STRANGER, caller_of, scopes, tenants
from hindsight_ray.core.policy_diff import Difference, difference
from hindsight_ray.core.policy_lint import lint
from hindsight_ray.core.policy_overview import holders
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain import commands as c
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
from hindsight_ray.errors import AccessDenied, NotFound
from tests.asking import ask, wrote
from tests.properties.test_access import AGENTS, SCOPES, TENANTS, USERS, _callers, _policies
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


def _is(who: str, caller: Caller) -> bool:
    """Whether the caller is of the kind that is spoken of so."""
    first, _, acting = who.partition(" for ")
    kind = "agent" if "agent" in first.partition(":")[0] else "user"
    if kind == "user":
        return caller.agent is None and first in ("any other user", f"user:{caller.user}")
    if caller.agent is None or first not in (
        "any other agent", "an agent", f"agent:{caller.agent}"
    ):  # fmt: skip
        return False
    if not acting:
        return True
    return caller.user is not None and acting in ("any other user", f"user:{caller.user}")


def _speaks(who: str, but_not: tuple[str, ...], caller: Caller) -> bool:
    return _is(who, caller) and not any(_is(one, caller) for one in but_not)


EVERYBODY = [
    caller_of(tenant, agent=agent, user=user)
    for tenant in (*TENANTS, "elsewhere")
    for agent in (*AGENTS, "unnamed", None)
    for user in (*USERS, "unnamed", None)
    if agent is not None or user is not None
]
EVERYTHING = (*SCOPES, "agent:unnamed", "user:unnamed", "agent:nobody", "user:nobody")


@settings(max_examples=60)
@given(policy=_policies, tenant=st.sampled_from(TENANTS), scope=st.sampled_from(SCOPES))
def test_the_list_of_who_may_is_true_of_every_caller(
    policy: Policy, tenant: str, scope: str
) -> None:
    index = PolicyIndex.of(policy)
    everybody = [(one, compile_access(index, one, START)) for one in EVERYBODY]
    for action in ACTIONS:
        found, complete = holders(index, tenant, scope, action, START)
        assert complete
        for caller, access in everybody:
            if caller.tenant == tenant:
                said = any(_speaks(one.who, one.but_not, caller) for one in found)
                assert said == access.may(action, scope), (caller, action, found)


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


DENIED = (
    "p, agent:planner, acme, user:alice, read, deny\n",
    "p, agent:planner, acme, user:*, read, deny\n",
    "p, role:ours, acme, user:alice, read, deny\ng, agent:planner, role:ours, acme\n",
)


@pytest.mark.covers("policy.diff")
@pytest.mark.parametrize("rows", DENIED)
def test_what_an_agent_loses_while_it_acts_for_a_user_is_a_difference(rows: str) -> None:
    lost = _lines(_difference(DEFAULT, DEFAULT + rows))
    kind = "any other" if "*" in rows else "alice"
    acting = "any other user" if "*" in rows else "user:alice"
    target = "user:{acting}" if "*" in rows else f"user:{kind}"
    assert lost == {("acme", f"agent:planner for {acting}", "read", target, False)}
    gained = {(*one[:4], True) for one in lost}
    assert _lines(_difference(DEFAULT + rows, DEFAULT)) == gained


@pytest.mark.covers("policy.diff")
def test_a_rule_for_everybody_s_scope_is_a_difference_for_those_of_others() -> None:
    rows = "p, role:user, acme, user:*, read, allow\n"
    assert _lines(_difference(DEFAULT, DEFAULT + rows)) == {
        ("acme", "any other user", "read", "user:any other", True),
        ("acme", "an agent for any other user", "read", "user:any other", True),
    }


@pytest.mark.covers("policy.diff")
def test_who_does_not_gain_what_all_others_do_is_named_with_it() -> None:
    rows = "p, role:agent, *, global, write, allow\np, user:bob, *, global, write, deny\n"
    found = _difference(DEFAULT, DEFAULT + rows).changes
    assert {(one.who, one.gained) for one in found if one.tenant == "any other tenant"} == {
        ("any other agent", True),
        ("agent:operator for user:bob", False),
        ("agent:reviewer for user:bob", False),
    }
    line = next(one for one in found if one.who == "any other agent")
    assert line.but_not == ("agent:operator", "agent:reviewer", "an agent for user:bob")


@pytest.mark.covers("policy.who")
def test_who_is_denied_what_all_others_see_is_named_with_them() -> None:
    for rows in DENIED:
        index = PolicyIndex.of(parse_policy(DEFAULT + rows))
        found, _ = holders(index, "acme", "user:alice", "read", START)
        (line,) = (one for one in found if one.who == "an agent for user:alice")
        assert line.but_not == ("agent:planner for user:alice",)


@pytest.mark.covers("policy.diff")
@settings(max_examples=40)
@given(old=_policies, rest=_policies, data=st.data())
def test_a_difference_is_what_every_caller_would_gain_and_lose(
    old: Policy, rest: Policy, data: st.DataObject
) -> None:
    """Whoever asks for whomever, of any scope: a line is true of all whom it stands for."""
    kept = data.draw(st.integers(0, len(old.rules)))
    links = old.memberships if data.draw(st.booleans()) else rest.memberships
    new = old.model_copy(
        update={"rules": (*old.rules[:kept], *rest.rules[:3]), "memberships": links}
    )
    indexes = [PolicyIndex.of(one) for one in (old, new)]
    found = difference(old, new, START)
    assert found.complete
    named = {*tenants(old), *tenants(new)}
    actions = {rule.action for rule in (*old.rules, *new.rules)}
    for caller in EVERYBODY:
        place = caller.tenant if caller.tenant in named else "any other tenant"
        lines = [
            one for one in found.changes
            if one.tenant == place and _speaks(one.who, one.but_not, caller)
        ]  # fmt: skip
        told = {
            scope for index in indexes
            for scope in scopes(index, caller.tenant if caller.tenant in named else STRANGER)
        }  # fmt: skip
        before, after = (compile_access(index, caller, START) for index in indexes)
        for scope in EVERYTHING:
            target = scope if scope in told else _unnamed(scope, caller)
            for action in actions:
                said = {one.gained for one in lines if (one.action, one.object) == (action, target)}
                pair = before.may(action, scope), after.may(action, scope)
                changed = set[bool]() if pair[0] == pair[1] else {pair[1]}
                assert said == changed, (caller, action, scope)


def _unnamed(scope: str, caller: Caller) -> str:
    """How a scope is spoken of that no line names."""
    if scope == f"agent:{caller.agent}":
        return "agent:{self}"
    if scope == f"user:{caller.user}":
        return "user:{acting}"
    return f"{scope.partition(':')[0]}:any other"


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
        ("g, role:agent, role:curator, *", "over-broad", "every agent may `read` the scope"),
        ("g, role:user, role:operator, acme", "over-broad", "every user"),
    ],
)
def test_a_rule_that_does_nothing_or_too_much_is_found(row: str, finding: str, why: str) -> None:
    found = [one for one in lint(parse_policy(f"{DEFAULT}{row}\n")) if one.line == row]
    assert (finding, True) in [(one.finding, why in one.why) for one in found]


@pytest.mark.covers("policy.lint")
def test_a_role_that_is_given_in_another_tenant_alone_is_unreachable_by_way_of_others() -> None:
    rows = (
        "g, agent:planner, role:crew, acme\n"
        "g, role:crew, role:helpers, globex\n"
        "p, role:crew, acme, global, write, allow\n"
        "p, role:helpers, globex, global, write, allow\n"
    )
    found = {one.line: one.finding for one in lint(parse_policy(DEFAULT + rows))}
    assert found == {
        "g, role:crew, role:helpers, globex": "unreachable",
        "p, role:helpers, globex, global, write, allow": "unreachable",
    }


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


@settings(max_examples=60)
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


@pytest.mark.covers("policy.who")
async def test_whoever_shares_their_own_scope_is_told_who_sees_it_and_nobody_else_is(
    home: Staged,
) -> None:
    alice, bob = await home.ticket(user="alice"), await home.ticket(user="bob")
    actions = ("read", "share")
    await ask(home, alice, c.Share, scope="user:alice", to="user:bob", actions=actions)
    await ask(home, bob, c.Share, scope="user:alice", to="agent:friend")
    told = await ask(home, alice, c.WhoSees, scope="user:alice")
    given = {one.who: one.grantor for one in told.seers if one.grantor is not None}
    assert given == {
        "user:bob": "user:alice",
        "an agent for user:bob": "user:alice",
        "agent:friend": "user:bob",
    }
    planner = await home.ticket(agent="planner", user="alice")
    narrow = await home.ticket(user="alice", actions=frozenset({"read"}))
    for token in (bob, planner, narrow):
        with pytest.raises(AccessDenied):
            await ask(home, token, c.WhoSees, scope="user:alice")


@pytest.mark.covers("policy.why", "G5.agree")
async def test_why_says_of_a_memory_what_asking_for_it_does_however_it_stands(
    home: Staged,
) -> None:
    alice = await home.ticket(user="alice")
    planner = await home.ticket(agent="planner", user="alice")
    doubted = await wrote(home, planner, "The tool says it is in Genoa", source="tool")
    await ask(home, alice, c.Share, scope="user:alice", to="user:bob")
    soon = home.clock.now() + timedelta(hours=1)
    names = {
        "doubted": doubted,
        "outside": await wrote(home, planner, "The tool says it is in Lyon", source="tool"),
        "waits": await wrote(home, alice, "The depot is perhaps in Bern", confidence=0.3),
        "active": await wrote(home, alice, "The depot opens at nine"),
        "away": await wrote(home, alice, "The old depot was in Rome"),
        "over": await wrote(home, alice, "The tram runs until ten", expires_at=soon),
    }
    await ask(home, alice, c.Archive, memory_id=names["away"])
    home.clock.advance(hours=1)
    operator, seen = await home.operator(), dict[tuple[str, str], bool]()
    for user in ("alice", "bob", "carol"):
        token = await home.ticket(user=user)
        for what, name in names.items():
            try:
                seen[user, what] = bool(await ask(home, token, c.Get, memory_id=name))
            except NotFound:
                seen[user, what] = False
            told = await ask(home, operator, c.Why, user=user, action="read", object=name)
            assert told.allowed == seen[user, what], (user, what, told)
    assert [what for (user, what), there in seen.items() if there and user == "bob"] == ["active"]
