"""The strict reader: what Casbin would misread is refused, with its line and fault."""

import pytest

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core.policy_text import (
    checked_subject,
    object_class,
    parse_policy,
)
from hindsight_ray.errors import InvalidPolicy

GOOD = "p, role:agent, *, agent:{self}, read, allow\n"


def _chain(roles: int) -> str:
    links = [f"g, role:r{n}, role:r{n + 1}, *" for n in range(1, roles)]
    return "\n".join([f"p, role:r{roles}, *, global, read, allow", *links]) + "\n"


FAULTS = {
    "a byte order mark": ("\ufeff" + GOOD, 1, "byte order mark"),
    "a mistyped effect": (GOOD + "p, role:a, *, global, read, alow", 2, "'alow'"),
    "an effect in capitals": (GOOD + "p, role:a, *, global, read, Allow", 2, "'Allow'"),
    "an unknown action": (GOOD + "p, role:a, *, global, raed, allow", 2, "'raed'"),
    "a wildcard for the action": (GOOD + "p, role:a, *, global, *, allow", 2, "action '*'"),
    "a short row": (GOOD + "p, role:a, *, global, read", 2, "5 fields instead of 6"),
    "a long row": (GOOD + "p, role:a, *, global, read, allow, x", 2, "7 fields instead of 6"),
    "a short membership": (GOOD + "g, agent:a, role:agent", 2, "3 fields instead of 4"),
    "a long membership": (GOOD + "g, agent:a, role:agent, *, x", 2, "5 fields instead of 4"),
    "a trailing comma": (GOOD + "p, role:a, *, global, read, allow,", 2, "7 fields"),
    "a comma in an id": (GOOD + "p, user:a,b, *, global, read, allow", 2, "7 fields"),
    "a quoted comma in an id": (GOOD + 'p, "user:a,b", *, global, read, allow', 2, "7 fields"),
    "a quoted id": (GOOD + 'p, "user:a", *, global, read, allow', 2, "subject"),
    "a newline in an id": (GOOD + "p, user:a\nb, *, global, read, allow", 2, "2 fields"),
    "a carriage return in an id": (GOOD + "p, user:a\rb, *, global, read, allow", 2, "no id may"),
    "a line separator": (GOOD + "p, user:a\u2028, *, global, read, allow", 2, "LINE SEPARATOR"),
    "a form feed": (GOOD + "p, user:a\f, *, global, read, allow", 2, "U+000C"),
    "a NUL": (GOOD + "p, user:a\0, *, global, read, allow", 2, "U+0000"),
    "a lone surrogate": (GOOD + "p, user:a\ud800, *, global, read, allow", 2, "U+D800"),
    "a no-break space": (GOOD + "p,\u00a0user:a, *, global, read, allow", 2, "NO-BREAK SPACE"),
    "a composed letter": (GOOD + "p, user:jos\u00e9, *, global, read, allow", 2, "ids are ASCII"),
    "a decomposed letter": (GOOD + "p, user:jose\u0301, *, global, read, allow", 2, "not NFC"),
    "a letter that NFC makes ASCII": (
        GOOD + "p, user:\u212aim, *, global, read, allow", 2, "not NFC",
    ),
    "a space in an id": (GOOD + "p, user:a b, *, global, read, allow", 2, "'user:a b'"),
    "a comment behind a row": (GOOD + "p, role:a, *, global, read, allow # why", 2, "allow # why"),
    "an untyped subject": (GOOD + "p, alice, *, global, read, allow", 2, "'alice'"),
    "a subject of unknown kind": (GOOD + "p, team:a, *, global, read, allow", 2, "'team:a'"),
    "a wildcard subject": (GOOD + "p, *, *, global, read, allow", 2, "patterns stand in objects"),
    "a pattern as subject": (GOOD + "p, agent:*, *, global, read, allow", 2, "patterns stand"),
    "a subject without name": (GOOD + "p, user:, *, global, read, allow", 2, "'user:'"),
    "a typed name inside a name": (GOOD + "p, user:role:a, *, global, read, allow", 2, "subject"),
    "an empty field": (GOOD + "p, role:a, , global, read, allow", 2, "empty field 3"),
    "an empty object": (GOOD + "p, role:a, *, , read, allow", 2, "empty field 4"),
    "a tenant pattern": (GOOD + "p, role:a, ac*, global, read, allow", 2, "tenant 'ac*'"),
    "a wildcard object": (GOOD + "p, role:a, *, *, read, allow", 2, "object '*'"),
    "a prefix object": (GOOD + "p, role:a, *, agent:pl*, read, allow", 2, "'agent:pl*'"),
    "a regex object": (GOOD + "p, role:a, *, user:.*, read, allow", 2, "'user:.*'"),
    "a global pattern": (GOOD + "p, role:a, *, global:*, read, allow", 2, "'global:*'"),
    "a wildcard label": (GOOD + "p, role:a, *, label:*, read, deny", 2, "'label:*'"),
    "an object of unknown form": (GOOD + "p, role:a, *, team:x, read, allow", 2, "'team:x'"),
    "self of the wrong kind": (GOOD + "p, role:a, *, user:{self}, read, allow", 2, "user:{self}"),
    "acting of the wrong kind": (GOOD + "p, role:a, *, agent:{acting}, read, deny", 2, "acting"),
    "a label with allow": (GOOD + "p, role:a, *, label:x, read, allow", 2, "can only deny"),
    "a label that denies what nobody asks": (
        GOOD + "p, role:a, *, label:x, write, deny", 2, "denies `read`",
    ),
    "an unknown kind of row": (GOOD + "q, role:a, *, global, read, allow", 2, "'q'"),
    "a second policy type": (GOOD + "p2, role:a, *, global, read, allow", 2, "'p2'"),
    "a repeated row": (GOOD + "# again\n" + GOOD, 3, "repeats line 1"),
    "a repeated membership": (
        GOOD + "g, agent:a, role:agent, *\ng, agent:a, role:agent, *", 3, "repeats line 2",
    ),
    "an agent as a role": (GOOD + "g, user:a, agent:b, *", 2, "a role is `role:<id>`"),
    "a role without rules": (GOOD + "g, user:a, role:curater, *", 2, "which no rule mentions"),
    "a role in itself": (GOOD + "g, role:agent, role:agent, *", 2, "member of itself"),
    "a circle of roles": (
        "p, role:a, *, global, read, allow\ng, role:a, role:b, *\ng, role:b, role:a, x",
        2, "circle",
    ),
    "a user named like a role": (
        "p, role:lead, *, global, read, allow\np, user:lead, *, global, read, allow", 2,
        "like a role",
    ),
    "a member named like a role": (GOOD + "g, user:agent, role:agent, *", 2, "like a role"),
    "an id that is too long": (
        GOOD + f"p, user:{'a' * 129}, *, global, read, allow", 2, "subject",
    ),
    "a chain of ten roles": (_chain(10), 2, "chain of 10 roles"),
    "a long chain from a user": (_chain(9) + "g, role:r0, role:r1, *\n", 10, "chain of 10 roles"),
}  # fmt: skip


@pytest.mark.covers("G5.loader")
@pytest.mark.parametrize("name", FAULTS)
def test_a_policy_with_a_fault_is_refused_with_its_line(name: str) -> None:
    text, line, fault = FAULTS[name]
    with pytest.raises(InvalidPolicy) as refusal:
        parse_policy(text)
    assert fault in refusal.value.message
    assert refusal.value.details["line"] == line


@pytest.mark.covers("G5.loader")
@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment\n", "g, agent:a, role:b, *\n", " \t\r\n"]
)
def test_a_policy_without_rules_is_refused(text: str) -> None:
    with pytest.raises(InvalidPolicy):
        parse_policy(text)


def test_a_chain_of_nine_roles_is_followed() -> None:
    assert len(parse_policy(_chain(9) + "g, user:u, role:r1, *\n").memberships) == 9


def test_a_thousand_roles_in_a_chain_are_refused_without_exhausting_the_stack() -> None:
    with pytest.raises(InvalidPolicy, match="chain of 10 roles"):
        parse_policy(_chain(1500))


def test_comments_empty_lines_and_spaces_mean_nothing() -> None:
    text = "# title\r\n\r\n  p,role:agent ,\t*,agent:{self},read,allow  \r\n"
    (rule,) = parse_policy(text).rules
    assert str(rule) == "p, role:agent, *, agent:{self}, read, allow"


def test_allow_and_deny_on_the_same_thing_are_legal_since_deny_wins() -> None:
    text = GOOD + "p, role:agent, *, agent:{self}, read, deny\n"
    assert [rule.effect for rule in parse_policy(text).rules] == ["allow", "deny"]


def test_a_text_round_trips_through_its_rows() -> None:
    policy = parse_policy(shipped_text("default.csv"))
    rows = "\n".join(map(str, (*policy.rules, *policy.memberships)))
    assert parse_policy(rows) == policy


@pytest.mark.parametrize("text", ["", "alice", "user:", "user:a b", "agent:*", "label:x", "global"])
def test_a_subject_is_a_typed_id(text: str) -> None:
    with pytest.raises(InvalidPolicy):
        checked_subject(text)


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("global", "global"),
        ("user:a", "user"),
        ("agent:a", "agent"),
        ("label:a", "label"),
        ("", None),
        ("Global", None),
        ("global ", None),
        ("agent:", None),
        ("agent:*", None),
        ("agent:{self}", None),
        ("role:a", None),
        ("user:a\n", None),
        ("user:a:b", None),
    ],
)
def test_only_scopes_and_labels_have_a_class(target: str, kind: str | None) -> None:
    assert object_class(target) == kind
