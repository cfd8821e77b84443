"""Which questions show whether two readings of a policy agree? A few, from the policy itself."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from hindsight_ray.domain.access import Action, Policy
from hindsight_ray.domain.caller import Caller

PROBES_MAX = 64
_RULE_READS_MAX = 20_000  # Casbin reads every rule for every probe


def probes(policy: Policy, now: datetime) -> Iterator[tuple[Caller, Action, str]]:
    """Up to `PROBES_MAX` (caller, action, object), spread over the rules; fewer of large ones."""
    number = max(1, min(PROBES_MAX, _RULE_READS_MAX // max(1, len(policy.rules))))
    step = max(1, len(policy.rules) // number)
    members = {one.role: one.member for one in policy.memberships}
    for rule in policy.rules[::step][:number]:
        tenant = "any" if rule.tenant == "*" else rule.tenant
        caller = _caller(_member(rule.subject, members), tenant, now)
        target = _object(rule.object, caller)
        if rule.object == "agent:{member}":
            target = _member(rule.subject, members)
            target = target if target.startswith("agent:") else "agent:somebody"
        yield caller, rule.action, target


def _member(subject: str, members: dict[str, str]) -> str:
    """Somebody whom a rule on `subject` concerns."""
    for _ in range(len(members)):
        if not subject.startswith("role:") or subject not in members:
            break
        subject = members[subject]
    return subject


def _caller(subject: str, tenant: str, now: datetime) -> Caller:
    kind, _, name = subject.partition(":")
    named = {kind: name} if kind != "role" else {"agent": "somebody", "user": "somebody"}
    return Caller.model_validate(
        {
            "tenant": tenant,
            "ticket_id": "probe",
            "expires_at": now + timedelta(seconds=1),
            **named,
        }
    )


def _object(pattern: str, caller: Caller) -> str:
    return {
        "agent:{self}": f"agent:{caller.agent or 'somebody'}",
        "user:{acting}": f"user:{caller.user or 'somebody'}",
        "agent:*": "agent:somebody",
        "user:*": "user:somebody",
    }.get(pattern, pattern)
