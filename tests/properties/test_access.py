"""Casbin, the compiled access, the row filter and the explanation give one answer."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.adapters.policy.casbin import CasbinPolicies
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core.access import AccessSet, PolicyIndex, compile_access
from hindsight_ray.core.audience import audience_key, readable_keys
from hindsight_ray.domain.access import ACTIONS, Membership, Policy, Revision, Rule
from hindsight_ray.domain.caller import Caller
from tests.worlds import START

AGENTS = ("a1", "a2", "r1")  # an agent, a user and a role may have one name
USERS = ("u1", "u2", "r1")
ROLES = ("role:agent", "role:user", "role:r1", "role:r2", "role:r3")
TENANTS = ("acme", "globex")
LABELS = ("x", "y")
SCOPES = ("global", *(f"agent:{a}" for a in AGENTS), *(f"user:{u}" for u in USERS))
PATTERNS = ("agent:*", "user:*", "agent:{self}", "user:{acting}")
PRINCIPALS = (*(f"agent:{a}" for a in AGENTS), *(f"user:{u}" for u in USERS))
ODD_TARGETS = ("agent:*", "user:{acting}", "", "label:", "agent:", "user:", "label:*")
CASBIN = CasbinPolicies(shipped_text("model.conf"))

_times = st.one_of(
    st.none(), st.none(), st.integers(-2, 2).map(lambda hours: START + timedelta(hours=hours))
)
_plain_rules = st.builds(
    Rule,
    subject=st.sampled_from((*PRINCIPALS, *ROLES, *ROLES)),
    tenant=st.sampled_from((*TENANTS, "*")),
    object=st.sampled_from((*SCOPES, *PATTERNS)),
    action=st.sampled_from(("read", "read", *ACTIONS)),
    effect=st.sampled_from(("allow", "allow", "allow", "deny")),
    until=_times,
)
_group_rules = st.builds(
    Rule,
    subject=st.sampled_from(("role:r1", "role:r2", "role:r3")),
    tenant=st.sampled_from((*TENANTS, "*")),
    object=st.just("agent:{member}"),
    action=st.sampled_from(("read", "read", "write", "share")),
    effect=st.sampled_from(("allow", "allow", "deny")),
    until=_times,
)
_label_rules = st.builds(
    Rule,
    subject=st.sampled_from((*PRINCIPALS, *ROLES)),
    tenant=st.sampled_from((*TENANTS, "*")),
    object=st.sampled_from([f"label:{label}" for label in LABELS]),
    action=st.just("read"),
    effect=st.just("deny"),
    until=_times,
)
_memberships = st.builds(
    Membership,
    member=st.sampled_from((*PRINCIPALS, *ROLES)),
    role=st.sampled_from(ROLES),
    tenant=st.sampled_from((*TENANTS, "*")),
)
_policies = st.builds(
    lambda rules, groups, labels, links: Policy(
        revision=Revision(3), rules=(*rules, *groups, *labels), memberships=tuple(links)
    ),
    st.lists(_plain_rules, max_size=14),
    st.lists(_group_rules, max_size=2),
    st.lists(_label_rules, max_size=2),
    st.lists(_memberships, max_size=6, unique=True),
)
_callers = st.builds(
    lambda who, tenant, scopes, actions: Caller.model_validate(
        {
            "tenant": tenant,
            "agent": who[0],
            "user": who[1],
            "ticket_id": "t",
            "expires_at": START + timedelta(days=1),
            "scopes": scopes,
            "actions": actions,
        }
    ),
    st.tuples(st.sampled_from((None, *AGENTS)), st.sampled_from((None, *USERS))).filter(any),
    st.sampled_from(TENANTS),
    st.one_of(st.none(), st.none(), st.frozensets(st.sampled_from(SCOPES), max_size=4)),
    st.one_of(st.none(), st.none(), st.frozensets(st.sampled_from(ACTIONS), max_size=5)),
)
_catalogues = st.lists(
    st.lists(st.sampled_from(SCOPES), min_size=1, max_size=3, unique=True).map(tuple), max_size=8
).map(lambda audiences: {audience_key(one): one for one in audiences})


def _compiled(policy: Policy, caller: Caller) -> AccessSet:
    return compile_access(PolicyIndex.of(policy), caller, START)


@pytest.mark.covers("G5.agree", "G6.decision")
@settings(max_examples=120)
@given(policy=_policies, caller=_callers, catalogue=_catalogues, data=st.data())
async def test_enforce_compiled_filter_and_explain_agree(
    policy: Policy, caller: Caller, catalogue: dict[str, tuple[str, ...]], data: st.DataObject
) -> None:
    access = _compiled(policy, caller)

    async def enforced(action: str, target: str) -> bool:
        return await CASBIN.enforce(policy, caller, action, target, START)  # type: ignore[arg-type]

    reads = {scope: await enforced("read", scope) for scope in SCOPES}
    for scope, allowed in reads.items():
        assert access.may("read", scope) == allowed, scope
        assert access.decide("read", scope).allowed == allowed, scope
    for action in ACTIONS:
        target = data.draw(st.sampled_from((*SCOPES, "label:x", *ODD_TARGETS)))
        allowed = await enforced(action, target)
        assert access.may(action, target) == allowed, (action, target)
        assert access.decide(action, target).allowed == allowed, (action, target)

    keys = readable_keys(catalogue, access)
    assert keys == {
        key for key, audience in catalogue.items() if all(reads[scope] for scope in audience)
    }
    if access.reads_everything:
        assert keys == frozenset(catalogue)
    if caller.actions is None and policy.rules:
        for label in LABELS:
            assert (label not in access.denied_labels) == await enforced("read", f"label:{label}")


@pytest.mark.covers("G6.decision")
@settings(max_examples=150)
@given(policy=_policies, caller=_callers)
def test_a_decision_rests_on_a_rule_of_the_policy_by_a_path_of_its_memberships(
    policy: Policy, caller: Caller
) -> None:
    access = _compiled(policy, caller)
    rules = {str(rule) for rule in policy.rules}
    links = {(one.member, one.role) for one in policy.memberships}
    implicit = {(f"agent:{caller.agent}", "role:agent"), (f"user:{caller.user}", "role:user")}
    for action in ACTIONS:
        for scope in SCOPES:
            one = access.decide(action, scope)
            assert (one.rule is None) == (one.reason == "no rule")
            if one.rule is None:
                continue
            assert one.rule in rules
            assert one.rule.split(", ")[1] == one.role_path[-1]
            assert one.role_path[0] in (f"agent:{caller.agent}", f"user:{caller.user}")
            assert set(zip(one.role_path, one.role_path[1:], strict=False)) <= links | implicit


@settings(max_examples=150)
@given(policy=_policies, caller=_callers, added=_plain_rules)
def test_granting_never_hides_and_denying_never_reveals(
    policy: Policy, caller: Caller, added: Rule
) -> None:
    before = _compiled(policy, caller)
    after = _compiled(policy.model_copy(update={"rules": (*policy.rules, added)}), caller)
    for action in ACTIONS:
        for scope in SCOPES:
            was, now = before.may(action, scope), after.may(action, scope)
            assert now >= was if added.effect == "allow" else now <= was


@settings(max_examples=100)
@given(policy=_policies, caller=_callers, hours=st.integers(-3, 3))
def test_an_access_stays_right_until_it_says(policy: Policy, caller: Caller, hours: int) -> None:
    index = PolicyIndex.of(policy)
    access = compile_access(index, caller, START)
    later = START + timedelta(hours=hours)
    if later < START or (access.valid_until is not None and later >= access.valid_until):
        return
    fresh = compile_access(index, caller, later)
    assert fresh.denied_labels == access.denied_labels
    for action in ACTIONS:
        for scope in SCOPES:
            assert fresh.may(action, scope) == access.may(action, scope)


@settings(max_examples=100)
@given(policy=_policies, caller=_callers)
def test_a_ticket_only_narrows(policy: Policy, caller: Caller) -> None:
    narrow = _compiled(policy, caller)
    wide = _compiled(policy, caller.model_copy(update={"scopes": None, "actions": None}))
    for action in ACTIONS:
        for scope in SCOPES:
            assert narrow.may(action, scope) <= wide.may(action, scope)
            if narrow.held(action, scope) is not None:
                assert wide.held(action, scope) == narrow.held(action, scope)


@settings(max_examples=100)
@given(policy=_policies, caller=_callers)
def test_what_is_held_oneself_is_what_is_held_without_the_acting_user(
    policy: Policy, caller: Caller
) -> None:
    if caller.agent is None:
        return
    alone = _compiled(policy, caller.model_copy(update={"user": None}))
    acting = _compiled(policy, caller)
    for action in ACTIONS:
        for scope in SCOPES:
            if acting.held(action, scope) is not None:
                assert alone.may(action, scope)
