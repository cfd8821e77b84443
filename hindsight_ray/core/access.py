"""May this caller do that? A policy compiled once per revision, then answered by lookups.

Stands apart from Casbin because Casbin reads every rule for every question: the same matcher, over
an index by tenant and subject, answers at any size of policy in microseconds. Casbin stays the
authority: a property test holds the two equal. `policies/model.conf` states the matcher:

- A rule counts for a caller whose agent, acting user, or a role of either is its subject, in its
  tenant or `*`. Every agent has `role:agent`, every user `role:user`.
- Any allow and no deny. What the acting user is denied counts always; what the acting user is
  allowed counts for the actions that acting carries, the rest only for the ticket's own principal.
- A ticket narrows: to scopes, to actions. One that names scopes and no actions leaves out what is
  asked of the whole tenant, `administer` and `audit` on `global`: it has to name those.
- Objects are compared for equality: with the scope itself, with its class (`agent:*`, `user:*`),
  with the caller's own (`agent:{self}`, `user:{acting}`). `agent:{member}` in a rule on a role
  stands for every agent that has been given that role: a group whose members see each other.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from hindsight_ray.core.policy_index import ANY_TENANT, MEMBER, Bucket, PolicyIndex, Side
from hindsight_ray.core.policy_text import object_class
from hindsight_ray.domain.access import ACTIONS, Action, Decision, Effect, Revision, Rule
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.scope import agent_scope, user_scope

ACTING_CARRIES: frozenset[str] = frozenset({"read", "write", "forget", "review"})
_ACTIONS = frozenset(ACTIONS)
_OF_THE_TENANT = frozenset({"administer", "audit"})  # on `global`: of everything in it
_ANSWERS_KEPT = 16_384


@dataclass(frozen=True, slots=True)
class Held:
    """That a principal holds an action itself, and until when (None: without end)."""

    until: datetime | None


@dataclass(frozen=True, slots=True)
class _Source:
    """One subject's rules that count for the caller, how they are reached, and for whom."""

    bucket: Bucket
    path: tuple[str, ...]
    own: bool  # reached from the ticket's own principal, not from the user it acts for


@dataclass(slots=True)
class AccessSet:
    """What one caller may do at one revision and moment. Good until `valid_until`."""

    revision: int
    valid_until: datetime | None
    denied_labels: frozenset[str]
    _caller: Caller
    _now: datetime
    _agent: str | None
    _user: str | None
    _sources: tuple[_Source, ...]
    _index: PolicyIndex
    _answers: dict[tuple[str, str], bool] = field(default_factory=dict)
    _everything: bool | None = None
    keys: tuple[object, frozenset[str]] | None = None  # of a catalogue, as `readable_keys` found

    @property
    def reads_everything(self) -> bool:
        """Whether no scope of the tenant can be one that this caller may not read."""
        if self._everything is None:
            self._everything = self._reads_everything()
        return self._everything

    def may(self, action: str, scope: str) -> bool:
        """Whether the caller may do `action` on `scope`. What is malformed is denied."""
        key = (action, scope)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._verdict(action, scope)[0] == "allow"
            if len(self._answers) >= _ANSWERS_KEPT:
                self._answers.clear()
            self._answers[key] = answer
        return answer

    def may_read_all(self, audience: Iterable[str], labels: Iterable[str] = ()) -> bool:
        """Whether every scope of a non-empty audience is readable and no label is denied."""
        some = False
        for scope in audience:
            if not self.may("read", scope):
                return False
            some = True
        return some and self.denied_labels.isdisjoint(labels)

    def by_grant(self, scope: str) -> bool:
        """Whether the caller reads this scope only because it was shared, or as one of a group."""
        if not self.may("read", scope):
            return False
        return not any(
            rule.grantor is None and (rule.until is None or self._now < rule.until)
            for source in self._sources
            for pattern in self._patterns(scope)
            if pattern != "agent:{member}"
            for rule in source.bucket.allows().get(("read", pattern), ())
        )

    def decide(self, action: Action, object: str) -> Decision:  # noqa: A002 - the policy's word
        """The decision with its rule, role path and reason. Agrees with `may`."""
        effect, reason, rule, path = self._verdict(action, object)
        return Decision.model_construct(
            effect=effect,
            action=action,
            object=object,
            revision=Revision(self.revision),
            reason=reason,
            rule=None if rule is None else str(rule),
            role_path=path,
        )

    def held(self, action: str, scope: str) -> Held | None:
        """Whether the ticket's own principal holds `action`, without what acting carries.

        Returns how long the longest of its allows lasts, or None. A share gives no more than this,
        so an agent's `user:{acting}` is left out: it has that only while its ticket names the user.
        """
        if not self.may(action, scope):
            return None
        ends: list[datetime] = []
        acting = self._agent is not None
        for pattern in self._patterns(scope):
            for source in self._sources:
                if not source.own or (acting and pattern == "user:{acting}"):
                    continue
                for rule in source.bucket.allows().get((action, pattern), ()):
                    if pattern == MEMBER and not self._in_group(scope, rule):
                        continue
                    if rule.until is None:
                        return Held(until=None)
                    if self._now < rule.until:
                        ends.append(rule.until)
        return Held(until=max(ends)) if ends else None

    def _verdict(
        self, action: str, target: str
    ) -> tuple[Effect, str, Rule | None, tuple[str, ...]]:
        patterns = self._patterns(target)
        if not patterns or action not in _ACTIONS:
            return "deny", "invalid", None, ()
        for source in self._sources:
            rule = self._live(source.bucket.denies(), action, patterns)
            if rule is not None:
                return "deny", "denied by rule", rule, source.path
        if patterns[0].startswith("label:"):
            return self._label_verdict(action)
        acting_counts = action in ACTING_CARRIES
        for source in self._sources:
            if not (source.own or acting_counts):
                continue
            rule = self._live(source.bucket.allows(), action, patterns)
            if rule is not None:
                if self._narrowed(action, target):
                    return "deny", "narrowed by ticket", rule, source.path
                return "allow", "allowed", rule, source.path
        return "deny", "no rule", None, ()

    def _label_verdict(self, action: str) -> tuple[Effect, str, Rule | None, tuple[str, ...]]:
        """A label that nothing denies stands in nobody's way; it can only ever hide."""
        if action != "read" or self._index.empty:
            return "deny", "no rule", None, ()
        if self._caller.actions is not None and action not in self._caller.actions:
            return "deny", "narrowed by ticket", None, ()
        return "allow", "allowed", None, ()

    def _narrowed(self, action: str, scope: str) -> bool:
        caller = self._caller
        if caller.actions is not None and action not in caller.actions:
            return True
        if caller.scopes is None:
            return False
        # What is of the whole tenant is asked of `global`: naming that scope does not mean it.
        whole = scope == "global" and action in _OF_THE_TENANT
        return scope not in caller.scopes or (whole and caller.actions is None)

    def _patterns(self, target: str) -> tuple[str, ...]:
        """The objects of rules that equal this target for this caller; none if it is malformed."""
        kind = object_class(target)
        if kind is None:
            return ()
        if kind in ("global", "label"):
            return (target,)
        if kind == "agent":
            own = ("agent:{self}",) if target == self._agent else ()
            return (target, *own, MEMBER, "agent:*")
        own = ("user:{acting}",) if target == self._user else ()
        return (target, *own, "user:*")

    def _live(self, side: Side, action: str, patterns: tuple[str, ...]) -> Rule | None:
        for pattern in patterns:
            for rule in side.get((action, pattern), ()):
                if rule.until is not None and self._now >= rule.until:
                    continue
                if pattern != MEMBER or self._in_group(patterns[0], rule):
                    return rule
        return None

    def _in_group(self, scope: str, rule: Rule) -> bool:
        """Whether the scope's agent has been given the role that the rule is about."""
        return self._index.belongs(self._caller.tenant, scope, rule.subject)

    def _reads_everything(self) -> bool:
        caller = self._caller
        if caller.scopes is not None or (
            caller.actions is not None and "read" not in caller.actions
        ):
            return False
        for source in self._sources:
            for action, target in source.bucket.denies():
                if action == "read" and not target.startswith("label:"):
                    return False
        return all(
            any(self._live(source.bucket.allows(), "read", (every,)) for source in self._sources)
            for every in ("global", "agent:*", "user:*")
        )


def compile_access(index: PolicyIndex, caller: Caller, now: datetime) -> AccessSet:
    """What `caller` may do at `now` under the policy of `index`.

    Takes time in the caller's roles, not in the policy's size. Roles come from the policy, never
    from the ticket, which only narrows.
    """
    agent = None if caller.agent is None else agent_scope(caller.agent)
    user = None if caller.user is None else user_scope(caller.user)
    sources: list[_Source] = []
    if agent is not None:
        _add_sources(sources, index, caller.tenant, (agent, "role:agent"), own=True)
    if user is not None:
        _add_sources(sources, index, caller.tenant, (user, "role:user"), own=agent is None)
    ends: list[datetime] = []
    labels: frozenset[str] = frozenset()
    for source in sources:
        bucket = source.bucket
        if bucket.ends:
            place = bisect_right(bucket.ends, now)
            ends.extend(bucket.ends[place : place + 1])
        if bucket.labels or bucket.timed_labels:
            labels |= bucket.hidden(now)
    return AccessSet(
        revision=index.revision,
        valid_until=min(ends, default=None),
        denied_labels=labels,
        _caller=caller,
        _now=now,
        _agent=agent,
        _user=user,
        _sources=tuple(sources),
        _index=index,
    )


def _add_sources(
    sources: list[_Source], index: PolicyIndex, tenant: str, who: tuple[str, str], *, own: bool
) -> None:
    for subject, path in index.paths(tenant, *who).items():
        for where in (tenant, ANY_TENANT):
            bucket = index.bucket(where, subject)
            if bucket is not None:
                sources.append(_Source(bucket, path, own))
