"""Grants stand as long as their grantor may give them."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core.grants import exchanged, replaced, standing, taken_back
from hindsight_ray.core.policy_index import PolicyIndex
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.access import Policy, Revision, Rule
from tests.worlds import START

PROFILE = parse_policy(shipped_text("default.csv"))
SCOPE = "user:alice"


def _grant(
    grantor: str, to: str, action: str, until: datetime | None = None, scope: str = SCOPE
) -> Rule:
    return Rule.model_validate(
        {
            "subject": to,
            "tenant": "acme",
            "object": scope,
            "action": action,
            "effect": "allow",
            "until": until,
            "grantor": grantor,
        }
    )


def _policy(*grants: Rule) -> Policy:
    return Policy(
        revision=Revision(1), rules=(*PROFILE.rules, *grants), memberships=PROFILE.memberships
    )


def _ended(policy: Policy, *grants: Rule) -> set[Rule]:
    ended = _taken_back(policy, grants)
    assert ended <= set(policy.rules)
    return ended


def _taken_back(policy: Policy, grants: Iterable[Rule]) -> set[Rule]:
    going = {policy.rules.index(rule): rule for rule in grants}
    ended = taken_back(PolicyIndex.of(policy), going, "acme", SCOPE, START)
    assert all(policy.rules[place] == rule for place, rule in ended.items())
    return set(ended.values())


def _standing(rules: Iterable[Rule]) -> frozenset[Rule]:
    base = Policy(
        revision=Revision(1),
        rules=tuple(rule for rule in rules if rule.grantor is None),
        memberships=PROFILE.memberships,
    )
    return standing(PolicyIndex.of(base), [rule for rule in rules if rule.grantor], START)


def test_taking_back_a_right_takes_back_what_was_given_in_its_name() -> None:
    share = _grant("user:alice", "agent:b", "share")
    read = _grant("user:alice", "agent:b", "read")
    onward = _grant("agent:b", "agent:c", "read")
    beside = _grant("user:alice", "agent:d", "read")
    policy = _policy(share, read, onward, beside)
    assert _ended(policy, share) == {share, onward}
    assert _ended(policy, read) == {read, onward}
    assert _ended(policy, beside) == {beside}


def test_two_people_cannot_keep_each_others_grants_alive() -> None:
    root = [_grant("user:alice", "agent:b", action) for action in ("share", "read")]
    there = [_grant("agent:b", "agent:c", action) for action in ("share", "read")]
    back = [_grant("agent:c", "agent:b", action) for action in ("share", "read")]
    policy = _policy(*root, *there, *back)
    assert _ended(policy, *root) == {*root, *there, *back}


def test_a_grant_with_two_sources_outlives_one_of_them() -> None:
    alice = [_grant("user:alice", "agent:b", action) for action in ("share", "read")]
    boss = [_grant("agent:operator", "agent:b", action) for action in ("share", "read")]
    onward = _grant("agent:b", "agent:c", "read")
    policy = _policy(*alice, *boss, onward)
    assert _ended(policy, *alice) == set(alice)
    assert _ended(policy, *alice, *boss) == {*alice, *boss, onward}


def test_a_grant_that_would_outlast_what_is_left_goes() -> None:
    soon = START + timedelta(hours=1)
    late = START + timedelta(hours=2)
    long = [_grant("user:alice", "agent:b", action) for action in ("share", "read")]
    short = [_grant("agent:operator", "agent:b", action, soon) for action in ("share", "read")]
    within = _grant("agent:b", "agent:c", "read", soon)
    beyond = _grant("agent:b", "agent:d", "read", late)
    assert _ended(_policy(*long, *short, within, beyond), *long) == {*long, beyond}


def test_grants_on_other_scopes_and_tenants_are_left_alone() -> None:
    share = _grant("user:alice", "agent:b", "share")
    other = _grant("user:nobody-now", "agent:c", "read", scope="user:carol")
    assert _ended(_policy(share, other), share) == {share}


def test_a_newer_word_of_the_same_grantor_replaces_the_older() -> None:
    old = _grant("user:alice", "agent:b", "read")
    new = _grant("user:alice", "agent:b", "read", START + timedelta(hours=1))
    other = _grant("agent:operator", "agent:b", "read")
    assert replaced([(5, old), (9, other)], (new,)) == {5: old}


def test_a_rule_of_the_file_is_never_replaced_by_a_grant() -> None:
    rule = _grant("user:alice", "agent:b", "read").model_copy(update={"grantor": None})
    grant = _grant("user:alice", "agent:b", "read")
    index = PolicyIndex.of(_policy(rule))
    assert replaced(index.grants_on("acme", SCOPE), (grant,)) == {}


_principals = st.sampled_from(("user:alice", "agent:b", "agent:c", "agent:d", "agent:operator"))
_random_grants = st.builds(
    _grant,
    grantor=_principals,
    to=_principals,
    action=st.sampled_from(("share", "read")),
    until=st.one_of(st.none(), st.integers(1, 3).map(lambda hours: START + timedelta(hours=hours))),
)


@settings(max_examples=60)
@given(st.lists(_random_grants, max_size=8, unique=True), st.data())
def test_after_taking_back_only_standing_grants_are_left(
    grants: list[Rule], data: st.DataObject
) -> None:
    policy = _policy(*grants)
    good = _standing(policy.rules)
    start = _policy(*[grant for grant in grants if grant in good])
    named = data.draw(st.lists(st.sampled_from(sorted(good, key=repr)), max_size=2)) if good else []
    ended = _taken_back(start, named)
    assert set(named) <= ended
    kept = [rule for rule in start.rules if rule not in ended]
    assert {rule for rule in kept if rule.grantor is not None} == _standing(kept)


def test_what_comes_in_place_of_a_grant_does_not_come_if_it_rested_on_that() -> None:
    """bob reads by carol, who gives it by the `share` that bob gives her."""
    soon = START + timedelta(hours=1)
    lent = [_grant("user:alice", "agent:bob", "share"), _grant("user:alice", "agent:carol", "read")]
    old = _grant("agent:bob", "agent:carol", "share")
    back = _grant("agent:carol", "agent:bob", "read")
    bobs = [_grant("agent:bob", "agent:dave", "read")]
    shared = _grant("user:alice", "agent:bob", "read", soon)
    policy = _policy(*lent, shared, old, back, *bobs)
    going = {policy.rules.index(old): old}
    coming = (_grant("agent:bob", "agent:carol", "share", soon), *bobs)
    gone, come = exchanged(PolicyIndex.of(policy), going, "acme", SCOPE, START, coming=coming)
    assert set(gone.values()) == {old, back, *bobs}
    assert come == coming[:1]
