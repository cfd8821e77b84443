"""Which rules of a policy do nothing, or more than somebody may have meant?

`unreachable`: nobody can ever come under it. `shadowed`: another rule already decides all that it
would. `over-broad`: it gives to everybody, or in every tenant, what is meant for few.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hindsight_ray.core.policy_index import ANY_TENANT, MEMBER
from hindsight_ray.core.policy_text import IMPLICIT_ROLES
from hindsight_ray.domain.access import Membership, Policy, Rule

Finding = Literal["unreachable", "shadowed", "over-broad"]
_FOR_FEW = frozenset({"administer", "audit", "promote", "evaluate"})
_CARRIED = frozenset({"read", "write", "forget", "review"})


@dataclass(frozen=True, slots=True)
class Lint:
    """A finding: the line it is about, what it is, and why, naming the other line if any."""

    line: str
    finding: Finding
    why: str


def lint(policy: Policy) -> tuple[Lint, ...]:
    """Every finding, in the order of the policy's lines."""
    given = _given(policy.memberships, {role: {ANY_TENANT} for role in IMPLICIT_ROLES})
    return (*_rules(policy, given), *_memberships(policy, given))


_Given = dict[str, set[str]]  # roles, and the tenants in which somebody has them in the end
_Index = dict[tuple[str, str, str, str], list[Rule]]  # by subject, action, effect, object


def _rules(policy: Policy, given: _Given) -> Iterator[Lint]:
    index: _Index = {}
    for rule in policy.rules:
        index.setdefault((rule.subject, rule.action, rule.effect, rule.object), []).append(rule)
    for rule in policy.rules:
        text = str(rule)
        reason = _unreachable(rule, given)
        if reason is not None:
            yield Lint(text, "unreachable", reason)
            continue
        other = _shadow(rule, index)
        if other is not None:
            yield Lint(text, "shadowed", f"`{other}` decides all that it would")
        reason = _over_broad(rule, rule.subject)
        if reason is not None:
            yield Lint(text, "over-broad", reason)


def _given(memberships: Sequence[Membership], start: _Given) -> _Given:
    """Which roles somebody has in the end, and in which tenants, from `start` on and by way of
    others; principals are there in every tenant."""
    given = {role: set(where) for role, where in start.items()}
    moved = True
    while moved:
        moved = False
        for one in memberships:
            more = _held_in(one, given) - given.get(one.role, set())
            if more:
                given.setdefault(one.role, set()).update(more)
                moved = True
    return given


def _held_in(one: Membership, given: _Given) -> set[str]:
    """The tenants in which this membership gives anything to anybody."""
    holders = given.get(one.member, set()) if one.member.startswith("role:") else {ANY_TENANT}
    if ANY_TENANT in holders:
        return {one.tenant}
    return {where for where in holders if one.tenant in (ANY_TENANT, where)}


def _unreachable(rule: Rule, given: _Given) -> str | None:
    if rule.subject.startswith("role:"):
        where = given.get(rule.subject)
        if not where:
            return f"nobody has been given `{rule.subject}`"
        if rule.tenant != ANY_TENANT and not where & {ANY_TENANT, rule.tenant}:
            return f"nobody has been given `{rule.subject}` in `{rule.tenant}`"
    lost = rule.effect == "allow" and rule.action not in _CARRIED
    if rule.object == "agent:{self}" and rule.subject == "role:user" and lost:
        return "a user is no agent, and acting carries no more than read, write, forget and review"
    return None


def _shadow(rule: Rule, index: _Index) -> Rule | None:
    """A rule that covers this one for all whom it concerns: of its effect, or a deny over it."""
    kind, _, _ = rule.subject.partition(":")
    subjects = [rule.subject, *([f"role:{kind}"] if kind != "role" else [])]
    for effect in dict.fromkeys(("deny", rule.effect)):
        for subject in subjects:
            for target in _covering(rule):
                for other in index.get((subject, rule.action, effect, target), ()):
                    if other is not rule and _covers(other, rule):
                        return other
    return None


def _covering(rule: Rule) -> Iterator[str]:
    """The objects that take in the rule's own."""
    yield rule.object
    kind, _, _ = rule.object.partition(":")
    if kind in ("agent", "user") and rule.object != f"{kind}:*":
        yield f"{kind}:*"
    if rule.object == rule.subject:
        yield {"agent": "agent:{self}", "user": "user:{acting}"}[kind]


def _covers(wide: Rule, narrow: Rule) -> bool:
    if wide.tenant not in (ANY_TENANT, narrow.tenant):
        return False
    return wide.until is None or (narrow.until is not None and narrow.until <= wide.until)


def _over_broad(rule: Rule, subject: str) -> str | None:
    """What is too much of a rule for whoever has this role, or is this principal."""
    if rule.effect == "deny":
        return None
    if subject in IMPLICIT_ROLES:
        kind = subject.removeprefix("role:")
        if rule.action in _FOR_FEW:
            return f"every {kind} holds `{rule.action}`"
        if rule.object in ("agent:*", "user:*"):
            return f"every {kind} may `{rule.action}` the scope of every {rule.object[:-2]}"
        if rule.object == MEMBER:
            return f"every {kind} may `{rule.action}` the scope of whoever was given the role"
        if rule.object == "global" and rule.action in ("write", "forget", "share"):
            return f"every {kind} may `{rule.action}` what all read"
    if rule.tenant == ANY_TENANT and not subject.startswith("role:"):
        return f"`{subject}` may `{rule.action}` there in every tenant that has one so named"
    return None


def _memberships(policy: Policy, given: _Given) -> Iterator[Lint]:
    everywhere = {(m.member, m.role) for m in policy.memberships if m.tenant == ANY_TENANT}
    by_subject: dict[str, list[Rule]] = {}
    for rule in policy.rules:
        by_subject.setdefault(rule.subject, []).append(rule)
    between = [one for one in policy.memberships if one.member.startswith("role:")]
    everybodys = {kind: _given(between, {kind: {ANY_TENANT}}) for kind in IMPLICIT_ROLES}
    for one in policy.memberships:
        text = str(one)
        if not _held_in(one, given):
            where = f" in `{one.tenant}`" if given.get(one.member) else ""
            yield Lint(text, "unreachable", f"nobody has been given `{one.member}`{where}")
        for kind, theirs in everybodys.items():
            if one.member not in theirs or not _held_in(one, theirs):
                continue
            for rule in by_subject.get(one.role, ()):
                reason = _over_broad(rule, kind)
                if reason is not None:
                    yield Lint(text, "over-broad", f"by `{rule}` {reason}")
                    break
        if one.tenant != ANY_TENANT and (one.member, one.role) in everywhere:
            yield Lint(text, "shadowed", f"`{one.member}` has it in every tenant")
        if one.role == f"role:{one.member.partition(':')[0]}":
            yield Lint(text, "shadowed", f"`{one.role}` is everybody's of its kind already")
