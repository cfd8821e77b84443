"""Which callers stand for all that a policy tells apart? The named ones, and one nobody names.

A policy speaks of finitely many principals; whoever it does not name is decided alike. So asking
about each named principal, a stranger, and an agent that acts for each, asks about everybody.
"""

from collections.abc import Iterable, Iterator
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


def callers(tenant: str, principals: Iterable[str]) -> Iterator[Caller]:
    """Each principal by itself; for each user also an agent that acts for it."""
    for name in principals:
        kind, _, identity = name.partition(":")
        if kind == "agent":
            yield caller_of(tenant, agent=identity)
        elif kind == "user":
            yield caller_of(tenant, user=identity)
            yield caller_of(tenant, agent=STRANGER, user=identity)


def principals(index: PolicyIndex, tenant: str) -> list[str]:
    """Every agent and user that the policy names in the tenant, and a stranger of each kind."""
    named = {name for name in index.named(tenant) if not name.startswith("role:")}
    owners = {
        target for target in index.objects(tenant)
        if target.startswith(("agent:", "user:")) and not target.endswith(("*", "}"))
    }  # fmt: skip
    return [*sorted(named | owners), f"agent:{STRANGER}", f"user:{STRANGER}"]


def tenants(policy: Policy) -> list[str]:
    """Every tenant that the policy names, and one that it does not."""
    named = {rule.tenant for rule in policy.rules} | {one.tenant for one in policy.memberships}
    return [*sorted(named - {ANY_TENANT}), STRANGER]


def spoken(caller: Caller) -> str:
    """The caller in words: `agent:planner for user:alice`, `any other agent`, …"""
    names = [
        f"any other {kind}" if name == STRANGER else f"{kind}:{name}"
        for kind, name in (("agent", caller.agent), ("user", caller.user))
        if name is not None
    ]
    if caller.agent == STRANGER and caller.user is not None:
        names[0] = "an agent"
    return " for ".join(names)


def scopes(index: PolicyIndex, tenant: str) -> list[str]:
    """Every scope and label that the policy tells apart in the tenant, and a stranger's of each."""
    named = {target for target in index.objects(tenant) if not target.endswith(("*", "}"))} | {
        name for name in index.named(tenant) if not name.startswith("role:")
    }
    return ["global", *sorted(named - {"global"}), f"agent:{STRANGER}", f"user:{STRANGER}"]
