"""What would change if this policy took the place of that one: who gains what, who loses what.

Only callers and objects that a changed line can concern are asked about, and each is decided under
both policies by the compiled access; so what is listed is what would happen, not what was edited.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile

from hindsight_ray.core.access import AccessSet, PolicyIndex, compile_access
from hindsight_ray.core.policy_apart import Apart, Who, lines
from hindsight_ray.core.policy_callers import STRANGER, caller_of, scopes, spoken, tenants
from hindsight_ray.domain.access import ACTIONS, Action, Decision, Membership, Policy, Rule
from hindsight_ray.domain.caller import Caller

CHANGES_MAX = 10_000  # more are not listed
QUESTIONS_MAX = 2_000_000  # decided under both policies; some seconds
_KNOWN_MAX = 50_000  # callers whose access is kept for the next question
_ANOTHERS = ("agent:another", "user:another")  # of neither the named nor the stranger that asks
_OWN = {f"agent:{STRANGER}": "agent:{self}", f"user:{STRANGER}": "user:{acting}"}
_SPOKEN = {**_OWN, **{one: one.replace("another", "any other") for one in _ANOTHERS}}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that one kind of caller gains or loses, with the decisions before and after.

    It does whomever it acts for, those in `but_not` aside. `user:any other` is every scope that
    neither policy names and that is not the caller's own, which is `user:{acting}`.
    """

    tenant: str
    who: str
    action: Action
    object: str
    before: Decision
    after: Decision
    but_not: tuple[str, ...] = ()

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
    grants_ended: int = 0


def difference(old: Policy, new: Policy, now: datetime) -> Difference:
    """Who gains and loses what when `new` replaces `old`, decided at `now`.

    Either may hold what people share, as far as it stands under that policy.
    """
    came, went = set(new.rules) - set(old.rules), set(old.rules) - set(new.rules)
    joined = set(new.memberships) - set(old.memberships)
    left = set(old.memberships) - set(new.memberships)
    indexes = (PolicyIndex.of(old), PolicyIndex.of(new))
    changes: list[Change] = []
    asked = _Asked(QUESTIONS_MAX)
    touched = _Touched.of(came | went, joined | left)
    for tenant in sorted({*tenants(old), *tenants(new)}):
        if touched.tenants & {tenant, "*"}:
            for one in _changes(_Tenant(indexes, tenant, touched, now, asked)):
                changes.append(one)
                if len(changes) >= CHANGES_MAX:
                    break
    complete = len(changes) < CHANGES_MAX and asked.left >= 0
    ended = sum(rule.grantor is not None for rule in went)
    return Difference(
        tuple(changes), complete, len(came), len(went) - ended, len(joined), len(left), ended
    )


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


@dataclass(slots=True)
class _Asked:
    """How many questions may still be asked."""

    left: int


@dataclass(slots=True)
class _Tenant:
    """Both policies as they decide in one tenant."""

    indexes: tuple[PolicyIndex, PolicyIndex]
    tenant: str
    touched: _Touched
    now: datetime
    asked: _Asked
    _known: dict[Who, tuple[AccessSet, AccessSet] | None] = field(default_factory=dict)

    def access(self, who: Who) -> tuple[AccessSet, AccessSet] | None:
        """What the caller may do before and after; None if no changed line concerns it."""
        if who not in self._known:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            caller = caller_of(self.tenant, agent=who[0], user=who[1])
            before, after = (compile_access(index, caller, self.now) for index in self.indexes)
            concerned = _concerned(self.indexes, caller, self.touched)
            self._known[who] = (before, after) if concerned else None
        return self._known[who]


def _changes(tenant: _Tenant) -> Iterator[Change]:
    indexes, name = tenant.indexes, tenant.tenant
    apart = Apart(indexes, name)
    everything = dict.fromkeys(one for index in indexes for one in scopes(index, name))
    for action, target in _questions([*everything, *_ANOTHERS], tenant.touched):

        def gained(who: Who, action: Action = action, target: str = target) -> bool | None:
            both = tenant.access(who)
            if both is None or (target in _OWN and target not in _own(who)):
                return None
            tenant.asked.left -= 1
            before, after = (one.may(action, target) for one in both)
            return None if before == after else after

        owner = "" if target in _ANOTHERS else target
        callers = apart.callers(apart.rules(action, target), owner)
        known = takewhile(lambda _: tenant.asked.left >= 0, callers)
        for line in lines(known, gained):
            both = tenant.access(line.who)
            assert both is not None  # noqa: S101 - something changes for it
            before, after = (one.decide(action, target) for one in both)
            place = "any other tenant" if name == STRANGER else name
            said = _SPOKEN.get(target, target)
            yield Change(place, spoken(*line.who), action, said, before, after, line.but_not)
        if tenant.asked.left < 0:
            return


def _own(who: Who) -> tuple[str, str]:
    """The scopes that are the caller's own."""
    return f"agent:{who[0]}", f"user:{who[1]}"


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


def _questions(everything: Sequence[str], touched: _Touched) -> Iterator[tuple[Action, str]]:
    """What a changed line can be about; everything, where roles changed."""
    if touched.roles:
        for target in everything:
            for action in ("read",) if target.startswith("label:") else ACTIONS:
                yield action, target
        return
    seen: set[tuple[Action, str]] = set()
    for action, pattern in touched.rules:
        for target in _meant(everything, pattern):
            if (action, target) not in seen:
                seen.add((action, target))
                yield action, target


def _meant(everything: Sequence[str], pattern: str) -> Iterable[str]:
    """The objects that a rule's object stands for, as far as any line tells them apart."""
    if pattern.endswith(("*", "}")):
        kind = pattern.partition(":")[0]
        return (one for one in everything if one.startswith(f"{kind}:"))
    return (pattern,)
