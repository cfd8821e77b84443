"""What would change if this policy took the place of that one: who gains what, who loses what.

Only callers and objects that a changed line can concern are asked about, and each is decided under
both policies by the compiled access; so what is listed is what would happen, not what was edited.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_ray.core.access import AccessSet, PolicyIndex, compile_access
from hindsight_ray.core.policy_callers import (
    STRANGER,
    callers,
    principals,
    scopes,
    spoken,
    tenants,
)
from hindsight_ray.domain.access import ACTIONS, Action, Decision, Membership, Policy, Rule
from hindsight_ray.domain.caller import Caller

CHANGES_MAX = 10_000  # more are not listed
QUESTIONS_MAX = 2_000_000  # decided under both policies; some seconds


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that one kind of caller gains or loses, with the decisions before and after."""

    tenant: str
    who: str
    action: Action
    object: str
    before: Decision
    after: Decision

    @property
    def gained(self) -> bool:
        return self.after.allowed


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that would change. `complete` is False where there was too much to list."""

    changes: tuple[Change, ...]
    complete: bool
    rules_added: int
    rules_removed: int
    memberships_added: int
    memberships_removed: int


def difference(old: Policy, new: Policy, now: datetime) -> Difference:
    """Who gains and loses what when `new` replaces `old`, decided at `now`."""
    came, went = set(new.rules) - set(old.rules), set(old.rules) - set(new.rules)
    joined = set(new.memberships) - set(old.memberships)
    left = set(old.memberships) - set(new.memberships)
    indexes = (PolicyIndex.of(old), PolicyIndex.of(new))
    changes: list[Change] = []
    questions = 0
    named = _Touched.of(came | went, joined | left)
    for tenant in sorted({*tenants(old), *tenants(new)}):
        for one in _changes(indexes, tenant, named, now):
            questions += 1
            if len(changes) >= CHANGES_MAX or questions > QUESTIONS_MAX:
                break
            if one is not None:
                changes.append(one)
    complete = len(changes) < CHANGES_MAX and questions <= QUESTIONS_MAX
    return Difference(tuple(changes), complete, len(came), len(went), len(joined), len(left))


@dataclass(frozen=True, slots=True)
class _Touched:
    """What the changed lines speak of."""

    subjects: frozenset[str]
    rules: tuple[tuple[Action, str], ...]  # of which action and object they are, in order
    tenants: frozenset[str]
    roles: bool  # whether memberships changed, and with them what any rule may mean for a member

    @classmethod
    def of(cls, rules: Iterable[Rule], memberships: Iterable[Membership]) -> "_Touched":
        rules, memberships = list(rules), list(memberships)
        return cls(
            frozenset({*(r.subject for r in rules), *(m.member for m in memberships)}),
            tuple(sorted({(rule.action, rule.object) for rule in rules})),
            frozenset({*(r.tenant for r in rules), *(m.tenant for m in memberships)}),
            bool(memberships),
        )


def _changes(
    indexes: tuple[PolicyIndex, PolicyIndex], tenant: str, touched: _Touched, now: datetime
) -> Iterator[Change | None]:
    """What each question comes to: a change, or None where both policies answer alike."""
    if not touched.tenants & {tenant, "*"}:
        return
    everybody = dict.fromkeys(one for index in indexes for one in principals(index, tenant))
    everything = list(dict.fromkeys(one for index in indexes for one in scopes(index, tenant)))
    for caller in callers(tenant, everybody):
        if not _concerned(indexes, caller, touched):
            continue
        before, after = (compile_access(index, caller, now) for index in indexes)
        for action, target in _questions(everything, touched, caller):
            yield _one(caller, action, target, before, after)


def _one(
    caller: Caller, action: Action, target: str, before: AccessSet, after: AccessSet
) -> Change | None:
    if before.may(action, target) == after.may(action, target):
        return None
    return Change(
        "any other tenant" if caller.tenant == STRANGER else caller.tenant,
        spoken(caller),
        action,
        target.replace(STRANGER, "any other"),
        before.decide(action, target),
        after.decide(action, target),
    )


def _concerned(indexes: tuple[PolicyIndex, PolicyIndex], caller: Caller, touched: _Touched) -> bool:
    """Whether a changed line names somebody that this caller counts as, before or after."""
    for index in indexes:
        for kind, name in (("agent", caller.agent), ("user", caller.user)):
            if name is None:
                continue
            paths = index.paths(caller.tenant, f"{kind}:{name}", f"role:{kind}")
            if not touched.subjects.isdisjoint(paths):
                return True
            if touched.roles and any(_has_group(index, caller.tenant, one) for one in paths):
                return True
    return False


def _has_group(index: PolicyIndex, tenant: str, subject: str) -> bool:
    """Whether a rule of the subject speaks of its role's members, who may have changed."""
    buckets = (index.bucket(where, subject) for where in (tenant, "*"))
    return any(
        rule.object == "agent:{member}" for bucket in buckets if bucket for _, rule in bucket.rules
    )


def _questions(
    everything: Sequence[str], touched: _Touched, caller: Caller
) -> Iterator[tuple[Action, str]]:
    """What a changed line can be about for this caller; everything, where roles changed."""
    if touched.roles:
        for target in everything:
            for action in ("read",) if target.startswith("label:") else ACTIONS:
                yield action, target
        return
    seen: set[tuple[Action, str]] = set()
    for action, pattern in touched.rules:
        for target in _meant(everything, pattern, caller):
            if (action, target) not in seen:
                seen.add((action, target))
                yield action, target


def _meant(everything: Sequence[str], pattern: str, caller: Caller) -> Iterable[str]:
    """The objects that a rule's object stands for, as far as any line tells them apart."""
    if pattern == "agent:{self}":
        return () if caller.agent is None else (f"agent:{caller.agent}",)
    if pattern == "user:{acting}":
        return () if caller.user is None else (f"user:{caller.user}",)
    if pattern.endswith(("*", "}")):
        kind = pattern.partition(":")[0]
        return (one for one in everything if one.startswith(f"{kind}:"))
    return (pattern,)
