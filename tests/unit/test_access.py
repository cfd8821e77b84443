"""What a caller may do: the compiled access, rule by rule."""

from datetime import datetime, timedelta

import pytest

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core.access import AccessSet, PolicyIndex, compile_access
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.access import ACTIONS, Membership, Policy, Revision, Rule
from hindsight_ray.domain.caller import Caller
from hindsight_ray.errors import InvalidPolicy
from tests.worlds import START

DEFAULT = shipped_text("default.csv")


def _caller(agent: str | None = None, user: str | None = None, **fields: object) -> Caller:
    return Caller.model_validate(
        {
            "tenant": "acme",
            "agent": agent,
            "user": user,
            "ticket_id": "t",
            "expires_at": START + timedelta(hours=1),
            **fields,
        }
    )


def _access(text: str, caller: Caller, now: datetime = START) -> AccessSet:
    return compile_access(PolicyIndex.of(parse_policy(text, revision=7)), caller, now)


def _rule(subject: str, target: str, action: str = "read", **fields: object) -> Rule:
    return Rule.model_validate(
        {
            "subject": subject,
            "tenant": "acme",
            "object": target,
            "action": action,
            "effect": "allow",
            **fields,
        }
    )


def _of(*rules: Rule, caller: Caller, now: datetime = START) -> AccessSet:
    policy = Policy(revision=Revision(1), rules=rules)
    return compile_access(PolicyIndex.of(policy), caller, now)


@pytest.mark.covers("G5.empty")
def test_an_empty_policy_allows_nothing() -> None:
    for caller in (_caller("operator"), _caller(user="alice"), _caller("planner", "alice")):
        access = _of(caller=caller)
        for action in ACTIONS:
            for target in ("global", "agent:operator", "user:alice", "label:x"):
                assert not access.may(action, target)
        assert not access.may_read_all(["global"])
        assert not access.reads_everything


@pytest.mark.covers("G6.decision")
def test_a_decision_names_its_rule_path_reason_and_revision() -> None:
    text = DEFAULT + "p, role:lead, acme, global, promote, allow\ng, agent:pia, role:lead, acme\n"
    decision = _access(text, _caller("pia", "alice")).decide("promote", "global")
    assert decision.allowed
    assert decision.reason == "allowed"
    assert decision.rule == "p, role:lead, acme, global, promote, allow"
    assert decision.role_path == ("agent:pia", "role:lead")
    assert decision.revision == 7


@pytest.mark.covers("G6.decision")
def test_a_denial_names_the_rule_that_denies() -> None:
    text = DEFAULT + "p, user:alice, acme, user:{acting}, write, deny\n"
    decision = _access(text, _caller("planner", "alice")).decide("write", "user:alice")
    assert (decision.effect, decision.reason) == ("deny", "denied by rule")
    assert decision.rule == "p, user:alice, acme, user:{acting}, write, deny"
    assert decision.role_path == ("user:alice",)


def test_a_denial_without_a_rule_says_so() -> None:
    decision = _access(DEFAULT, _caller("planner")).decide("read", "user:alice")
    assert (decision.reason, decision.rule, decision.role_path) == ("no rule", None, ())


@pytest.mark.parametrize("target", ["", "agent:*", "user:{acting}", "label:", "everything", "a b"])
def test_what_no_record_can_be_is_invalid_even_for_the_operator(target: str) -> None:
    access = _access(DEFAULT, _caller("operator"))
    assert not access.may("read", target)
    assert access.decide("read", target).reason == "invalid"


def test_an_unknown_action_is_invalid() -> None:
    access = _access(DEFAULT, _caller("operator"))
    assert not access.may("destroy", "global")
    assert not access.may("*", "global")


def test_an_empty_audience_is_read_by_nobody() -> None:
    assert not _access(DEFAULT, _caller("operator")).may_read_all([])


def test_an_audience_needs_read_on_every_scope() -> None:
    access = _access(DEFAULT, _caller("planner", "alice"))
    assert access.may_read_all(["agent:planner", "user:alice", "global"])
    assert not access.may_read_all(["agent:planner", "user:alice", "user:bob"])


@pytest.mark.covers("G1.labels")
def test_a_denied_label_hides_a_record_whatever_its_audience() -> None:
    text = DEFAULT + "p, role:agent, acme, label:secret, read, deny\n"
    access = _access(text, _caller("planner", "alice"))
    assert access.denied_labels == {"secret"}
    assert access.may_read_all(["global"], ["draft"])
    assert not access.may_read_all(["global"], ["draft", "secret"])
    assert not access.may("read", "label:secret")


@pytest.mark.covers("G1.labels")
def test_labels_denied_to_the_acting_user_are_denied_to_the_agent() -> None:
    text = DEFAULT + (
        "p, user:alice, acme, label:pay, read, deny\np, agent:planner, *, label:x, read, deny\n"
    )
    assert _access(text, _caller("planner", "alice")).denied_labels == {"pay", "x"}
    assert _access(text, _caller("planner")).denied_labels == {"x"}


@pytest.mark.covers("G1.tenants")
def test_a_rule_of_one_tenant_is_nothing_in_another() -> None:
    rule = _rule("agent:planner", "user:bob")
    assert _of(rule, caller=_caller("planner")).may("read", "user:bob")
    assert not _of(rule, caller=_caller("planner", tenant="globex")).may("read", "user:bob")


@pytest.mark.parametrize("action", ["promote", "share", "audit", "administer", "evaluate"])
def test_acting_does_not_carry_what_counts_for_the_own_principal(action: str) -> None:
    rule = _rule("user:alice", "global", action)
    assert _of(rule, caller=_caller(user="alice")).may(action, "global")
    assert not _of(rule, caller=_caller("planner", "alice")).may(action, "global")


@pytest.mark.parametrize("action", ["read", "write", "forget", "review"])
def test_acting_carries_read_write_forget_and_review(action: str) -> None:
    rule = _rule("user:alice", "agent:other", action)
    assert _of(rule, caller=_caller("planner", "alice")).may(action, "agent:other")


def test_a_deny_on_the_acting_user_counts_for_every_action() -> None:
    rules = (
        _rule("agent:a", "global", "promote"),
        _rule("user:u", "global", "promote", effect="deny"),
    )
    assert _of(*rules, caller=_caller("a")).may("promote", "global")
    assert not _of(*rules, caller=_caller("a", "u")).may("promote", "global")


@pytest.mark.covers("G2.until")
def test_a_grant_with_an_end_is_gone_at_that_moment() -> None:
    end = START + timedelta(hours=1)
    rule = _rule("agent:helper", "user:alice", until=end)
    before = _of(rule, caller=_caller("helper"), now=end - timedelta(microseconds=1))
    assert before.may("read", "user:alice")
    assert before.valid_until == end
    after = _of(rule, caller=_caller("helper"), now=end)
    assert not after.may("read", "user:alice")
    assert after.valid_until is None


def test_an_access_is_good_until_the_next_end_that_concerns_it() -> None:
    rules = tuple(
        _rule(subject, "user:alice", until=START + timedelta(hours=hours))
        for subject, hours in (("agent:a", 3), ("role:agent", 2), ("agent:b", 1), ("agent:a", -1))
    )
    assert _of(*rules, caller=_caller("a")).valid_until == START + timedelta(hours=2)


def test_a_longer_grant_outlives_a_shorter_one() -> None:
    rules = (
        _rule("agent:a", "user:u", until=START + timedelta(hours=1)),
        _rule("agent:a", "user:u", until=START + timedelta(hours=2)),
    )
    later = START + timedelta(minutes=90)
    assert _of(*rules, caller=_caller("a"), now=later).may("read", "user:u")


def test_only_who_reads_every_class_without_exception_reads_everything() -> None:
    assert _access(DEFAULT, _caller("operator")).reads_everything
    assert _access(DEFAULT, _caller("curator")).reads_everything
    assert not _access(DEFAULT, _caller("planner", "alice")).reads_everything
    narrowed = _caller("operator", scopes=frozenset({"global"}))
    assert not _access(DEFAULT, narrowed).reads_everything
    writer = _caller("operator", actions=frozenset({"write"}))
    assert not _access(DEFAULT, writer).reads_everything
    but_one = DEFAULT + "p, agent:operator, acme, user:vip, read, deny\n"
    assert not _access(but_one, _caller("operator")).reads_everything
    labelled = DEFAULT + "p, agent:operator, acme, label:x, read, deny\n"
    assert _access(labelled, _caller("operator")).reads_everything


def test_a_ticket_narrows_by_scope_and_action() -> None:
    caller = _caller(
        "planner", "alice", scopes=frozenset({"user:alice"}), actions=frozenset({"read"})
    )
    access = _access(DEFAULT, caller)
    assert access.may("read", "user:alice")
    assert access.decide("write", "user:alice").reason == "narrowed by ticket"
    assert access.decide("read", "agent:planner").reason == "narrowed by ticket"
    assert not access.may_read_all(["user:alice", "agent:planner"])


@pytest.mark.covers("G5.narrowed")
@pytest.mark.parametrize("action", ["administer", "audit"])
def test_a_ticket_that_names_scopes_holds_of_the_whole_tenant_what_it_names(action: str) -> None:
    narrowed = _access(DEFAULT, _caller("operator", scopes=frozenset({"global", "user:alice"})))
    assert narrowed.decide(action, "global").reason == "narrowed by ticket"  # type: ignore[arg-type]
    assert narrowed.held(action, "global") is None
    assert narrowed.may("read", "global")
    assert narrowed.may("audit", "user:alice")  # of that scope alone
    named = _caller("operator", scopes=frozenset({"global"}), actions=frozenset({action}))
    assert _access(DEFAULT, named).may(action, "global")
    elsewhere = _caller("operator", scopes=frozenset({"user:alice"}), actions=frozenset({action}))
    assert not _access(DEFAULT, elsewhere).may(action, "global")


def test_what_is_held_by_acting_is_not_held_oneself() -> None:
    access = _access(DEFAULT, _caller("planner", "alice"))
    assert access.held("read", "agent:planner") is not None
    assert access.may("forget", "user:alice")
    assert access.held("forget", "user:alice") is None
    assert access.held("read", "user:alice") is None  # `user:{acting}`: while the ticket names her


def test_what_is_held_lasts_as_long_as_its_longest_grant() -> None:
    ends = [START + timedelta(hours=hours) for hours in (1, 3, 2)]
    rules = [_rule("agent:a", "user:u", until=end) for end in ends]
    held = _of(*rules, caller=_caller("a")).held("read", "user:u")
    assert held is not None
    assert held.until == ends[1]
    forever = _of(*rules, _rule("role:agent", "user:*"), caller=_caller("a")).held("read", "user:u")
    assert forever is not None
    assert forever.until is None


def test_a_chain_is_followed_no_further_than_casbin_follows_it() -> None:
    links = [Membership(member="agent:a", role="role:r1", tenant="*")]
    links += [
        Membership(member=f"role:r{n}", role=f"role:r{n + 1}", tenant="acme") for n in range(1, 12)
    ]
    rules = tuple(_rule(f"role:r{n}", f"user:u{n}") for n in range(1, 13))
    policy = Policy(revision=Revision(1), rules=rules, memberships=tuple(links))
    access = compile_access(PolicyIndex.of(policy), _caller("a"), START)
    assert [n for n in range(1, 13) if access.may("read", f"user:u{n}")] == list(range(1, 10))


@pytest.mark.parametrize(
    "rule",
    [
        _rule("alice", "global"),
        _rule("agent:*", "global"),
        _rule("role:a", "team:x"),
        _rule("role:a", "label:x"),
        _rule("role:a", "global", tenant=""),
        _rule("user:a,b", "global", effect="deny"),
    ],
    ids=str,
)
def test_a_rule_of_unknown_form_stops_the_whole_policy(rule: Rule) -> None:
    with pytest.raises(InvalidPolicy):
        PolicyIndex.of(Policy(revision=Revision(1), rules=(_rule("role:agent", "global"), rule)))


def test_many_questions_do_not_grow_an_access_without_bound() -> None:
    access = _access(DEFAULT, _caller("curator"))
    for number in range(20_000):
        assert access.may("read", f"user:u{number}")
    assert len(access._answers) <= 16_384
