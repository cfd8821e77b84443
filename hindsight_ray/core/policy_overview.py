"""Who may do this on a scope, and what may this caller do: both directions, decided not guessed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from hindsight_ray.core.access import PolicyIndex, compile_access
from hindsight_ray.core.policy_apart import Apart, Who, lines
from hindsight_ray.core.policy_callers import caller_of, scopes, spoken
from hindsight_ray.domain.access import ACTIONS, Action, Decision, Rule
from hindsight_ray.domain.caller import Caller

LISTED_MAX = 1_000
CALLERS_MAX = 5_000  # asked about, pairs among them; well under a second


@dataclass(frozen=True, slots=True)
class Holder:
    """A kind of caller that holds the action, the decision, and the rule behind it if known.

    It holds it whomever it acts for, those in `but_not` aside.
    """

    who: str
    decision: Decision
    rule: Rule | None
    but_not: tuple[str, ...]


def holders(
    index: PolicyIndex, tenant: str, scope: str, action: Action, now: datetime
) -> tuple[list[Holder], bool]:
    """Every kind of caller that may do `action` on `scope`; whether these are all."""
    apart = Apart((index,), tenant)
    rules = apart.rules(action, scope)
    by_text = {str(rule): rule for rule in rules}
    decided: dict[Who, Decision] = {}

    def holds(who: Who) -> bool | None:
        caller = caller_of(tenant, agent=who[0], user=who[1])
        decided[who] = compile_access(index, caller, now).decide(action, scope)
        return True if decided[who].allowed else None

    everybody = list(islice(apart.callers(rules, scope), CALLERS_MAX + 1))
    found = lines(everybody[:CALLERS_MAX], holds)
    listed = [
        Holder(spoken(*one.who), decided[one.who], by_text.get(decided[one.who].rule or ""),
               one.but_not)
        for one in found[:LISTED_MAX]
    ]  # fmt: skip
    return listed, len(everybody) <= CALLERS_MAX and len(found) <= LISTED_MAX


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
