"""Which grants stand? What people shared is a rule with its grantor, and holds as long as that
grantor may give it.

So that nobody passes on more than they hold, and taking a right back takes back what was given in
its name. Support is the least that follows from rules without grantor: two people cannot keep each
other's grants alive.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from hindsight_ray.core.access import AccessSet, compile_access
from hindsight_ray.core.policy_index import Placed, PolicyIndex
from hindsight_ray.domain.access import Policy, Rule
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


def replaced(grants: Iterable[Placed], added: Sequence[Rule]) -> dict[int, Rule]:
    """The grants that these replace, by place: a grantor's newer word on a thing counts."""
    newer = {_same(rule) for rule in added}
    return {place: rule for place, rule in grants if _same(rule) in newer}


def over(grants: Iterable[Placed], now: datetime) -> dict[int, Rule]:
    """The grants whose end has come, by place: without them nobody holds anything less."""
    return {place: rule for place, rule in grants if rule.until is not None and rule.until <= now}


def taken_back(
    index: PolicyIndex, going: Mapping[int, Rule], tenant: str, scope: str, now: datetime
) -> dict[int, Rule]:
    """What goes, by place, when these grants on a scope go: they and all that rested on them."""
    return exchanged(index, going, tenant, scope, now, coming=())[0]


def exchanged(
    index: PolicyIndex,
    going: Mapping[int, Rule],
    tenant: str,
    scope: str,
    now: datetime,
    *,
    coming: Sequence[Rule],
) -> tuple[dict[int, Rule], tuple[Rule, ...]]:
    """What goes, by place, when grants on a scope go and others come for them; and what comes.

    All goes that rested on what went, and does not rest as it is on what comes: a grant that lasts
    longer than its grantor may give it now ends, it is not cut. What comes and rested on such a one
    itself does not come.
    """
    near = index.near(tenant, scope)
    base = index.over([rule for _, rule in near if rule.grantor is None])
    left = [(place, rule) for place, rule in index.grants_on(tenant, scope) if place not in going]
    good = standing(base, [*(rule for _, rule in left), *coming], now)
    gone = {place: rule for place, rule in left if rule not in good}
    return {**going, **gone}, tuple(rule for rule in coming if rule in good)


def staying(policy: Policy, grants: Sequence[Rule], now: datetime) -> list[Rule]:
    """Those of the grants, in their order, that stay when this policy is put in force."""
    good = standing(PolicyIndex.of(policy), grants, now)
    return [rule for rule in grants if rule in good]


def standing(base: PolicyIndex, grants: Sequence[Rule], now: datetime) -> frozenset[Rule]:
    """Those of the grants that somebody with the right gives, over `base`, which holds none."""
    index, waiting, good = base, list(grants), frozenset[Rule]()
    while waiting:
        sets: dict[tuple[str, str | None], AccessSet] = {}
        found = [rule for rule in waiting if _given(rule, index, sets, now)]
        if not found:
            break
        good |= frozenset(found)
        index = index.with_rules(found)
        waiting = [rule for rule in waiting if rule not in good]
    return good


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
