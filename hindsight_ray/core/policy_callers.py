"""Who and what stands for all that a policy tells apart? The named, and one that nobody names.

A policy speaks of finitely many principals, scopes and tenants; what it does not name is decided
alike. `policy_apart` says which callers one question tells apart.
"""

from datetime import UTC, datetime

from hindsight_ray.core.policy_index import ANY_TENANT, PolicyIndex
from hindsight_ray.domain.access import Policy
from hindsight_ray.domain.caller import Caller

STRANGER = "any-other"  # stands for every agent, user and tenant that the policy does not name
_NEVER = datetime.max.replace(tzinfo=UTC)


def caller_of(tenant: str, *, agent: str | None = None, user: str | None = None) -> Caller:
    """A caller as a ticket that narrows nothing would name it."""
    return Caller.model_validate(
        {
            "tenant": tenant,
            "agent": agent,
            "user": user,
            "ticket_id": "asked-about",
            "expires_at": _NEVER,
        }
    )


def tenants(policy: Policy) -> list[str]:
    """Every tenant that the policy names, and one that it does not."""
    named = {rule.tenant for rule in policy.rules} | {one.tenant for one in policy.memberships}
    return [*sorted(named - {ANY_TENANT}), STRANGER]


def spoken(agent: str | None, user: str | None) -> str:
    """The caller in words: `agent:planner for user:alice`, `any other agent`, …"""
    names = [
        f"any other {kind}" if name == STRANGER else f"{kind}:{name}"
        for kind, name in (("agent", agent), ("user", user))
        if name is not None
    ]
    if agent == STRANGER and user is not None:
        names[0] = "an agent"
    return " for ".join(names)


def scopes(index: PolicyIndex, tenant: str) -> list[str]:
    """Every scope and label that the policy tells apart in the tenant, and a stranger's of each."""
    named = {target for target in index.objects(tenant) if not target.endswith(("*", "}"))} | {
        name for name in index.named(tenant) if not name.startswith("role:")
    }
    return ["global", *sorted(named - {"global"}), f"agent:{STRANGER}", f"user:{STRANGER}"]
