"""A policy carried on by what changed is the policy as it is: in the ledger, the index, Casbin."""

import uuid
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.adapters.ledger.sql.policy_lines import placed_anew
from hindsight_ray.core.access import PolicyIndex, compile_access
from hindsight_ray.domain.access import ACTIONS, LineChange, Membership, Policy, PolicyChange, Rule
from hindsight_ray.domain.caller import Caller
from tests.properties.test_access import (
    CASBIN,
    LABELS,
    SCOPES,
    _callers,
    _plain_rules,
    _policies,
)
from tests.worlds import START, world

_TARGETS = (*SCOPES, *(f"label:{label}" for label in LABELS))
_edits = st.lists(
    st.one_of(
        st.tuples(st.just("replace"), _policies),
        st.tuples(
            st.just("change"),
            st.tuples(st.lists(st.integers(0, 30), max_size=3), st.lists(_plain_rules, max_size=3)),
        ),
        st.tuples(st.just("revoke"), st.none()),
    ),
    min_size=1,
    max_size=5,
)


def _distinct(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return tuple(dict.fromkeys(rules))


@pytest.mark.covers("G5.carried")
@settings(max_examples=40)
@given(first=_policies, edits=_edits, data=st.data())
async def test_the_carried_index_decides_and_explains_as_the_rebuilt_one_and_as_casbin(
    tmp_path_factory: pytest.TempPathFactory,
    first: Policy,
    edits: list[tuple[str, object]],
    data: st.DataObject,
) -> None:
    path: Path = tmp_path_factory.mktemp("home") / uuid.uuid4().hex
    async with world(path, policy=None) as home:
        ledger = home.world.ledger
        async with ledger.writing() as unit:
            await unit.policy.replace(_distinct(first.rules), first.memberships, START)
            placed = await unit.policy.placed()
        carried = PolicyIndex.of(placed.policy, placed.rules_at, placed.memberships_at)
        old, at_start = carried, placed.policy
        carried.objects("acme")  # what is sorted by object is carried from here on, not made anew
        for kind, edit in edits:
            async with ledger.writing() as unit:
                if kind == "replace":
                    assert isinstance(edit, Policy)
                    await unit.policy.replace(_distinct(edit.rules), edit.memberships, START)
                elif kind == "change":
                    assert isinstance(edit, tuple)
                    there = (await unit.policy.placed()).rules_at
                    gone = {there[n % len(there)] for n in edit[0]} if there else set()
                    await unit.policy.change(gone, dict.fromkeys(edit[1]), START)
                else:
                    await unit.policy.revoke_ticket("acme", uuid.uuid4().hex, START)
            if data.draw(st.booleans()):  # several revisions at once, or each by itself
                carried = await _carried(home, carried)
        carried = await _carried(home, carried)
        async with ledger.reading() as unit:
            policy = await unit.policy.current()
    assert carried.revision == policy.revision
    for caller in data.draw(st.lists(_callers, min_size=1, max_size=3)):
        await _same(carried, policy, caller)
        _alike(old, at_start, caller)  # whoever still decides at an earlier revision


async def _carried(home: object, index: PolicyIndex) -> PolicyIndex:
    async with home.world.ledger.reading() as unit:  # type: ignore[attr-defined]
        change = await unit.policy.changes(index.revision)
        if change is None:
            placed = await unit.policy.placed()
            return PolicyIndex.of(placed.policy, placed.rules_at, placed.memberships_at)
        return index.changed(change)


async def _same(carried: PolicyIndex, policy: Policy, caller: Caller) -> None:
    _alike(carried, policy, caller)
    access = compile_access(carried, caller, START)
    for scope in SCOPES:
        allowed = await CASBIN.enforce(policy, caller, "read", scope, START)
        assert access.may("read", scope) == allowed


def _alike(index: PolicyIndex, policy: Policy, caller: Caller) -> None:
    rebuilt = PolicyIndex.of(policy)
    left, right = compile_access(index, caller, START), compile_access(rebuilt, caller, START)
    assert (left.revision, left.valid_until) == (right.revision, right.valid_until)
    assert (left.denied_labels, left.reads_everything) == (
        right.denied_labels,
        right.reads_everything,
    )
    for action in ACTIONS:
        for target in _TARGETS:
            assert left.decide(action, target) == right.decide(action, target)
            assert left.held(action, target) == right.held(action, target)
    for scope in SCOPES:
        near = [rule for _, rule in index.near("acme", scope)]
        assert near == [rule for _, rule in rebuilt.near("acme", scope)]
    assert index.objects("acme") == rebuilt.objects("acme")


@pytest.mark.covers("G5.carried")
def test_a_rule_that_comes_to_the_place_of_another_subjects_is_there() -> None:
    """A grant given again takes the last place; one that is over may have had it before."""
    mine = "agent:a1"
    old, over, new = (
        Rule(subject=who, tenant="acme", object=mine, action="read", effect="allow", grantor=mine)
        for who in ("agent:a2", "user:u1", "agent:a2")
    )
    index = PolicyIndex.of(Policy(revision=1, rules=(old, over), memberships=()), (1, 2))  # type: ignore[arg-type]
    assert [place for place, _ in index.grants_on("acme", "agent:a1")] == [1, 2]
    step = (
        LineChange(position=1, line=old, added=False),
        LineChange(position=2, line=over, added=False),
        LineChange(position=2, line=new, added=True),
    )
    following = index.changed(PolicyChange(revision=2, steps=(step,)))  # type: ignore[arg-type]
    assert following.grants_on("acme", "agent:a1") == ((2, new),)


@settings(max_examples=150)
@given(
    known=st.lists(st.sampled_from("abcdefgh"), unique=True),
    wanted=st.lists(st.sampled_from("abcdefghij"), max_size=10),
    gap=st.sampled_from((1, 2, 3, 1 << 20)),
)
def test_what_stays_and_what_came_are_the_wanted_lines_in_their_order(
    known: list[str], wanted: list[str], gap: int
) -> None:
    before = [(gap * (1 + n), line) for n, line in enumerate(known)]
    placed = placed_anew(before, wanted, gap)
    if placed is None:
        return
    gone, come = placed
    after = sorted([line for line in before if line not in gone] + come)
    assert [line for _, line in after] == wanted
    assert len({position for position, _ in after}) == len(after)
    assert min((position for position, _ in after), default=1) > 0


def test_an_index_keeps_the_memberships_that_did_not_change() -> None:
    link = Membership(member="agent:a1", role="role:r1", tenant="acme")
    rule = Rule(subject="role:r1", tenant="acme", object="global", action="read", effect="allow")
    index = PolicyIndex.of(Policy(revision=1, rules=(), memberships=(link,)))  # type: ignore[arg-type]
    following = index.with_rules([rule]).changed(PolicyChange(revision=2, steps=()))  # type: ignore[arg-type]
    assert following.belongs("acme", "agent:a1", "role:r1")
    assert not following.belongs("acme", "agent:a2", "role:r1")
    assert following.revision == 2
