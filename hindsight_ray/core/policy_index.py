"""A policy's rules by tenant and subject: built once, then carried from revision to revision.

Apart from access, which asks it: this one knows how to become the index of the next revision by
the lines that changed, in time that does not grow with the lines that did not. An index never
changes itself, so whoever still decides at an earlier revision goes on seeing exactly that one.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from hindsight_ray.core.policy_text import checked_membership, checked_rule
from hindsight_ray.domain.access import (
    LineChange,
    Membership,
    Policy,
    PolicyChange,
    Revision,
    Rule,
)

ROLE_DEPTH_MAX = 9  # memberships from a principal to a role; Casbin sees no further
ANY_TENANT = "*"
MEMBER = "agent:{member}"  # in a rule on a role: the scopes of the agents that have it

Placed = tuple[int, Rule]  # a rule and its place in the order of the policy
Side = dict[tuple[str, str], tuple[Rule, ...]]  # rules by (action, object)
_Links = tuple[tuple[int, str], ...]  # roles of a member, each with its place


class Bucket:
    """The rules of one subject in one tenant. Sorted by (action, object) when first asked."""

    __slots__ = ("_allows", "_denies", "_hidden", "ends", "labels", "rules", "timed_labels")

    def __init__(
        self, rules: Sequence[Placed] = (), sides: tuple[Side, Side] | None = None
    ) -> None:
        self.rules: list[Placed] = []
        self.ends: list[datetime] = []  # sorted
        self.labels: list[str] = []
        self.timed_labels: list[tuple[str, datetime]] = []
        self._hidden: frozenset[str] | None = None
        for position, rule in rules:
            self.add(position, rule)
        self._allows: Side | None = None if sides is None else sides[0]
        self._denies: Side = {} if sides is None else sides[1]

    def add(self, position: int, rule: Rule) -> None:
        """Append a rule while the bucket is being filled, in the order of the policy."""
        self.rules.append((position, rule))
        if rule.until is not None:
            insort(self.ends, rule.until)
        if rule.object.startswith("label:"):
            label = rule.object.removeprefix("label:")
            if rule.until is None:
                self.labels.append(label)
            else:
                self.timed_labels.append((label, rule.until))

    def changed(self, removed: frozenset[int], added: Sequence[Placed]) -> "Bucket":
        """A bucket without the rules at `removed` and with `added`; this one stays as it is.

        Takes a walk over this one subject's rules, and sorts those again that differ.
        """
        rules = [one for one in self.rules if one[0] not in removed]
        for one in added:
            insort(rules, one, key=_place)
        if self._allows is None:
            return Bucket(rules)
        gone = [rule for at, rule in self.rules if at in removed]
        touched = {_key(rule) for rule in (*gone, *(rule for _, rule in added))}
        return Bucket(rules, _resorted(rules, (self._allows, self._denies), touched))

    def hidden(self, now: datetime) -> frozenset[str]:
        """Labels that the subject may not read at `now`."""
        if self._hidden is None:
            self._hidden = frozenset(self.labels)
        if self.timed_labels:
            return self._hidden | {label for label, until in self.timed_labels if now < until}
        return self._hidden

    def allows(self) -> Side:
        return self._sides()[0]

    def denies(self) -> Side:
        return self._sides()[1]

    def _sides(self) -> tuple[Side, Side]:
        if self._allows is None:
            keys = {_key(rule) for _, rule in self.rules}
            allows, self._denies = _resorted(self.rules, ({}, {}), keys)
            self._allows = allows  # last: another thread takes it for done
        return self._allows, self._denies


def _key(rule: Rule) -> tuple[str, str]:
    return (rule.action, rule.object)


def _resorted(
    rules: Sequence[Placed], before: tuple[Side, Side], touched: set[tuple[str, str]]
) -> tuple[Side, Side]:
    """The allows and denies of before, with what was touched sorted anew from `rules`."""
    fresh: tuple[dict[tuple[str, str], list[Rule]], ...] = ({}, {})
    for _, rule in rules:
        key = _key(rule)
        if key in touched:
            fresh[rule.effect == "deny"].setdefault(key, []).append(rule)
    sides = (dict(before[0]), dict(before[1]))
    for side, found in zip(sides, fresh, strict=True):
        for key in touched:
            side.pop(key, None)
        side.update({key: tuple(ones) for key, ones in found.items()})
    return sides


class PolicyIndex:
    """A policy's rules by tenant and subject. Never changes: `changed` makes the next one.

    Raises `InvalidPolicy` for a rule of unknown form: to skip it could drop a deny.
    """

    __slots__ = ("_buckets", "_objects", "_roles", "empty", "revision")

    def __init__(
        self,
        revision: int,
        buckets: dict[tuple[str, str], Bucket],
        roles: dict[tuple[str, str], _Links],
        objects: dict[tuple[str, str], tuple[Placed, ...]] | None = None,
    ) -> None:
        self.revision = revision
        self.empty = not buckets
        self._buckets = buckets
        self._roles = roles
        self._objects = objects  # made when first asked: who only decides never asks

    @classmethod
    def of(
        cls,
        policy: Policy,
        rules_at: Sequence[int] | None = None,
        memberships_at: Sequence[int] | None = None,
    ) -> "PolicyIndex":
        """The index of a whole policy; `…_at` are the lines' places, 0, 1, 2, … by default."""
        index = cls(policy.revision, {}, _links(policy.memberships, memberships_at))
        return index.over(policy.rules, rules_at)

    def over(self, rules: Sequence[Rule], rules_at: Sequence[int] | None = None) -> "PolicyIndex":
        """The index of these rules under this one's roles."""
        buckets: dict[tuple[str, str], Bucket] = {}
        for position, rule in zip(rules_at or range(len(rules)), rules, strict=True):
            checked_rule(rule)
            key = (rule.tenant, rule.subject)
            bucket = buckets.get(key)
            if bucket is None:
                bucket = buckets[key] = Bucket()
            bucket.add(position, rule)
        return PolicyIndex(self.revision, buckets, self._roles)

    def changed(self, change: PolicyChange) -> "PolicyIndex":
        """The index of `change.revision`, from this one by the lines that came and went."""
        buckets, roles, objects = self._buckets, self._roles, self._objects
        for step in change.steps:
            rules = _rules_by_bucket(step)
            if rules:
                buckets = _rebucketed(buckets, rules)
                objects = None if objects is None else _reobject(objects, rules)
            if any(isinstance(one.line, Membership) for one in step):
                roles = _relinked(roles, step)
        return PolicyIndex(change.revision, buckets, roles, objects)

    def with_rules(self, rules: Iterable[Rule]) -> "PolicyIndex":
        """This index and these rules, after all others."""
        last = 1 + max((b.rules[-1][0] for b in self._buckets.values() if b.rules), default=0)
        step = tuple(
            LineChange(position=last + number, line=rule, added=True)
            for number, rule in enumerate(rules)
        )
        return self.changed(PolicyChange(revision=Revision(self.revision), steps=(step,)))

    def bucket(self, tenant: str, subject: str) -> Bucket | None:
        """The subject's rules in exactly this tenant (or `*`), None if it has none."""
        return self._buckets.get((tenant, subject))

    def near(self, tenant: str, scope: str) -> tuple[Placed, ...]:
        """Every rule that can bear on who does what on the scope, in the policy's order."""
        kind = scope.partition(":")[0]
        patterns = {
            "agent": ("agent:{self}", MEMBER, "agent:*"),
            "user": ("user:{acting}", "user:*"),
        }
        objects = (scope, *patterns.get(kind, ()))
        by_object = self._by_object()
        found = [
            one
            for where in (tenant, ANY_TENANT)
            for target in objects
            for one in by_object.get((where, target), ())
        ]
        return tuple(sorted(found, key=_place))

    def grants_on(self, tenant: str, scope: str) -> tuple[Placed, ...]:
        """What people have shared of this very scope."""
        found = self._by_object().get((tenant, scope), ())
        return tuple(one for one in found if one[1].grantor is not None)

    def given(self, tenant: str) -> Iterator[tuple[str, str]]:
        """Each member and a role that it has been given in the tenant, directly."""
        for (where, member), links in self._roles.items():
            if where in (tenant, ANY_TENANT):
                yield from ((member, role) for _, role in links)

    def named(self, tenant: str) -> frozenset[str]:
        """Every subject and member that a line of the tenant, or of all, names."""
        return frozenset(
            name for where, name in (*self._buckets, *self._roles) if where in (tenant, ANY_TENANT)
        )

    def objects(self, tenant: str) -> frozenset[str]:
        """Every object that a rule of the tenant, or of all, names."""
        return frozenset(
            target for where, target in self._by_object() if where in (tenant, ANY_TENANT)
        )

    def paths(self, tenant: str, principal: str, role: str) -> dict[str, tuple[str, ...]]:
        """Each subject that `principal` counts as in `tenant`, nearest first, with its path."""
        return self._followed(tenant, {principal: (principal,), role: (principal, role)})

    def belongs(self, tenant: str, agent: str, role: str) -> bool:
        """Whether the agent has been given the role, directly or by way of others."""
        return role in self._followed(tenant, {agent: (agent,)})

    def _followed(
        self, tenant: str, paths: dict[str, tuple[str, ...]]
    ) -> dict[str, tuple[str, ...]]:
        level = list(paths)
        for _ in range(ROLE_DEPTH_MAX):
            following: list[str] = []
            for member in level:
                for where in (tenant, ANY_TENANT):
                    for _, next_role in self._roles.get((where, member), ()):
                        if next_role not in paths:
                            paths[next_role] = (*paths[member], next_role)
                            following.append(next_role)
            if not following:
                break
            level = following
        return paths

    def _by_object(self) -> Mapping[tuple[str, str], tuple[Placed, ...]]:
        if self._objects is None:
            found: dict[tuple[str, str], list[Placed]] = {}
            for (tenant, _), bucket in self._buckets.items():
                for one in bucket.rules:
                    found.setdefault((tenant, one[1].object), []).append(one)
            self._objects = {key: tuple(rules) for key, rules in found.items()}
        return self._objects


def _place(one: Placed) -> int:
    return one[0]


def _links(
    memberships: Sequence[Membership], memberships_at: Sequence[int] | None
) -> dict[tuple[str, str], _Links]:
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for position, one in zip(memberships_at or range(len(memberships)), memberships, strict=True):
        checked_membership(one)
        found.setdefault((one.tenant, one.member), []).append((position, one.role))
    return {key: tuple(links) for key, links in found.items()}


_Changed = dict[tuple[str, str], list[tuple[LineChange, Rule]]]  # rules by tenant and subject


def _rules_by_bucket(step: Sequence[LineChange]) -> _Changed:
    found: _Changed = {}
    for one in step:
        if isinstance(one.line, Rule):
            rule = checked_rule(one.line)
            found.setdefault((rule.tenant, rule.subject), []).append((one, rule))
    return found


def _rebucketed(
    before: Mapping[tuple[str, str], Bucket], rules: _Changed
) -> dict[tuple[str, str], Bucket]:
    buckets = dict(before)
    for key, ones in rules.items():
        gone = frozenset(one.position for one, _ in ones if not one.added)
        added = [(one.position, rule) for one, rule in ones if one.added]
        bucket = buckets.get(key, _NOTHING).changed(gone, added)
        if bucket.rules:
            buckets[key] = bucket
        else:
            buckets.pop(key, None)
    return buckets


_NOTHING = Bucket()


def _relinked(
    before: Mapping[tuple[str, str], _Links], step: Sequence[LineChange]
) -> dict[tuple[str, str], _Links]:
    roles = dict(before)
    for one in step:
        if not isinstance(one.line, Membership):
            continue
        membership = checked_membership(one.line)
        key = (membership.tenant, membership.member)
        links = [link for link in roles.get(key, ()) if link[0] != one.position]
        if one.added:
            links.append((one.position, membership.role))
        if links:
            roles[key] = tuple(sorted(links))
        else:
            roles.pop(key, None)
    return roles


def _reobject(
    before: Mapping[tuple[str, str], tuple[Placed, ...]], rules: _Changed
) -> dict[tuple[str, str], tuple[Placed, ...]]:
    """A rule may come to the place that another, of whichever subject, has left."""
    gone: dict[tuple[str, str], set[int]] = {}
    come: dict[tuple[str, str], list[Placed]] = {}
    for (tenant, _), ones in rules.items():
        for one, rule in ones:
            key = (tenant, rule.object)
            if one.added:
                come.setdefault(key, []).append((one.position, rule))
            else:
                gone.setdefault(key, set()).add(one.position)
    objects = dict(before)
    for key in gone.keys() | come.keys():
        left = [held for held in objects.get(key, ()) if held[0] not in gone.get(key, ())]
        kept = (*left, *come.get(key, ()))
        if kept:
            objects[key] = kept
        else:
            objects.pop(key, None)
    return objects
