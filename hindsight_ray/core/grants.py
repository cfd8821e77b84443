"""Which grants stand? What people shared is a rule with its grantor, and holds as long as that
grantor may give it.

So that nobody passes on more than they hold, and taking a right back takes back what was given in
its name. Support is the least that follows from rules without grantor: two people cannot keep each
other's grants alive.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from hindsight_ray.core.access import AccessSet, PolicyIndex, compile_access
from hindsight_ray.domain.access import Membership, Policy, Revision, Rule
from hindsight_ray.domain.caller import Caller

_NEVER = datetime.max.replace(tzinfo=UTC)  # the ticket is not what is asked about here


def may_give(access: AccessSet, action: str, scope: str, until: datetime | None) -> bool:
    """Whether the ticket's own principal may let others do `action` on `scope` until then.

    It must hold `share` and the action itself, neither by acting, and both for as long.
    """
    for needed in ("share", action):
        held = access.held(needed, scope)
        if held is None:
            return False
        if held.until is not None and (until is None or until > held.until):
            return False
    return True


def with_grants(rules: Sequence[Rule], added: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules and the added grants. A grantor's newer word on a thing replaces the older."""
    replaced = {_same(rule) for rule in added}
    kept = [rule for rule in rules if rule.grantor is None or _same(rule) not in replaced]
    return (*kept, *added)


def taken_back(
    policy: Policy, grants: Iterable[Rule], tenant: str, scope: str, now: datetime
) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """What stays and what goes when these grants on a scope go, with all that rested on them."""
    going = set(grants)
    left = [rule for rule in policy.rules if rule.grantor is None or rule not in going]
    on_scope = [rule for rule in left if _grant_on(rule, tenant, scope)]
    if on_scope:
        near = [rule for rule in left if _concerns(rule, tenant, scope)]
        going |= set(on_scope) - standing(near, policy.memberships, now)
    kept: list[Rule] = []
    ended: list[Rule] = []
    for rule in policy.rules:
        (ended if rule.grantor is not None and rule in going else kept).append(rule)
    return tuple(kept), tuple(ended)


def standing(
    rules: Sequence[Rule], memberships: Sequence[Membership], now: datetime
) -> frozenset[Rule]:
    """Those of the grants among `rules` that somebody with the right to give them still gives."""
    base = [rule for rule in rules if rule.grantor is None]
    waiting = [rule for rule in rules if rule.grantor is not None]
    good: list[Rule] = []
    while waiting:
        index = PolicyIndex.of(
            Policy.model_construct(
                revision=Revision(0), rules=(*base, *good), memberships=tuple(memberships)
            )
        )
        sets: dict[tuple[str, str | None], AccessSet] = {}
        found = [rule for rule in waiting if _given(rule, index, sets, now)]
        if not found:
            break
        good.extend(found)
        waiting = [rule for rule in waiting if rule not in set(found)]
    return frozenset(good)


def _given(
    rule: Rule, index: PolicyIndex, sets: dict[tuple[str, str | None], AccessSet], now: datetime
) -> bool:
    who = (rule.tenant, rule.grantor)
    if who not in sets:
        sets[who] = compile_access(index, _grantor(rule), now)
    return may_give(sets[who], rule.action, rule.object, rule.until)


def _grantor(rule: Rule) -> Caller:
    kind, _, name = (rule.grantor or "").partition(":")
    return Caller.model_validate(
        {"tenant": rule.tenant, kind: name, "ticket_id": "grantor", "expires_at": _NEVER}
    )


def _same(rule: Rule) -> tuple[str, str, str, str, str | None]:
    return (rule.subject, rule.tenant, rule.object, rule.action, rule.grantor)


def _grant_on(rule: Rule, tenant: str, scope: str) -> bool:
    return rule.grantor is not None and rule.tenant == tenant and rule.object == scope


def _concerns(rule: Rule, tenant: str, scope: str) -> bool:
    """Whether the rule can bear on who holds what on the scope."""
    if rule.tenant not in (tenant, "*"):
        return False
    kind = scope.partition(":")[0]
    return rule.object == scope or rule.object.startswith((f"{kind}:*", f"{kind}:{{"))
