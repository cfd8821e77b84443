"""Who may do this on a scope, and what may this caller do: both directions, decided not guessed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from hindsight_ray.core.access import PolicyIndex, compile_access
from hindsight_ray.core.policy_callers import STRANGER, callers, scopes, spoken
from hindsight_ray.core.policy_text import IMPLICIT_ROLES
from hindsight_ray.domain.access import ACTIONS, Action, Decision, Rule
from hindsight_ray.domain.caller import Caller

LISTED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Holder:
    """A kind of caller that holds the action, the decision, and the rule behind it if known."""

    who: str
    decision: Decision
    rule: Rule | None


def holders(
    index: PolicyIndex, tenant: str, scope: str, action: Action, now: datetime
) -> tuple[list[Holder], bool]:
    """Every kind of caller that may do `action` on `scope`; whether these are all."""
    rules = [rule for _, rule in index.near(tenant, scope) if rule.action == action]
    by_text = {str(rule): rule for rule in rules}
    found: list[Holder] = []
    for caller in callers(tenant, _candidates(index, tenant, scope, rules)):
        decision = compile_access(index, caller, now).decide(action, scope)
        if decision.allowed:
            if len(found) >= LISTED_MAX:
                return found, False
            found.append(Holder(spoken(caller), decision, by_text.get(decision.rule or "")))
    return found, True


def held(
    index: PolicyIndex, caller: Caller, extra: Iterable[str], now: datetime
) -> tuple[dict[str, tuple[Action, ...]], bool]:
    """What the caller may do on every scope that is told apart, and on `extra` ones."""
    access = compile_access(index, caller, now)
    found: dict[str, tuple[Action, ...]] = {}
    own = [
        f"{kind}:{name}" for kind, name in (("agent", caller.agent), ("user", caller.user)) if name
    ]
    everything = dict.fromkeys((*own, *scopes(index, caller.tenant), *extra))
    for scope in everything:
        if scope.startswith("label:"):
            continue
        actions: tuple[Action, ...] = tuple(
            action for action in ACTIONS if access.may(action, scope)
        )
        if actions:
            if len(found) >= LISTED_MAX:
                return found, False
            found[scope] = actions
    return found, True


def _candidates(
    index: PolicyIndex, tenant: str, scope: str, rules: Iterable[Rule]
) -> Iterable[str]:
    """Whoever a rule may let: its subjects, their members, the owner, and strangers."""
    named = {rule.subject for rule in rules if rule.effect == "allow"}
    waiting = [name for name in named if name.startswith("role:")]
    seen: set[str] = set(waiting)
    while waiting:
        for member in index.members(tenant, waiting.pop()):
            named.add(member)
            if member.startswith("role:") and member not in seen:
                seen.add(member)
                waiting.append(member)
    principals = {name for name in named if not name.startswith("role:")}
    if named & set(IMPLICIT_ROLES) and scope != "global":
        principals.add(scope)
    return [*sorted(principals), f"agent:{STRANGER}", f"user:{STRANGER}"]
