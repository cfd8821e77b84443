"""Tenants: which there are; and dropping one, of which nothing is left but its audit.

Whoever comes back finds it empty.
"""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import DropTenant, ListTenants
from hindsight_ray.domain.receipt import TenantDropped, Tenants
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.errors import AccessDenied, NotFound
from hindsight_ray.service import elsewhere
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.operate import admit_operator
from hindsight_ray.service.policy_check import OPERATOR
from hindsight_ray.service.world import World


async def listed(world: World, caller: Caller, command: ListTenants) -> Tenants:  # noqa: ARG001 - as every verb
    """Every tenant. For `agent:operator` alone; no tenant comes into being by asking."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller, any_tenant=caller.agent == OPERATOR)
        _require_operator(admitted, "list the tenants")
        names = await unit.policy.tenants()
        dropped = set(await unit.audit.tenants()) - set(names)
        return Tenants(names=tuple(sorted(names)), dropped=tuple(sorted(dropped)))


async def drop_tenant(world: World, caller: Caller, command: DropTenant) -> TenantDropped:
    """Delete the tenant of the caller's ticket. For `agent:operator` alone.

    One transaction in the ledger; then the memory store, where it is apart, lets go of the place
    that no row names any more. That place stays noted, and upkeep leaves it again: who is amid a
    write may make it once more. Raises `NotFound` for a tenant that is not the ticket's.
    """
    await world.store.check()
    async with world.ledger.writing() as unit:
        admitted = await admit_operator(world, unit, caller)
        _require_operator(admitted, "drop a tenant")
        if command.tenant != caller.tenant:
            raise NotFound(
                f"`tenant` {command.tenant!r} is not the one of this ticket", id=command.tenant
            )
        policy = await unit.policy.placed()
        grants = [
            place
            for place, rule in zip(policy.rules_at, policy.policy.rules, strict=True)
            if rule.grantor is not None and rule.tenant == command.tenant
        ]
        await unit.policy.change(grants, (), admitted.now)
        place = await unit.intents.leave_place(command.tenant)
        if place is not None:
            await unit.elsewhere.keep_place(place, admitted.now)
        rows = await unit.policy.drop_tenant(command.tenant)
        await note_done(
            unit, admitted, verb="DropTenant", action="administer", scope=GLOBAL,
            name=f"tenant:{command.tenant}",
        )  # fmt: skip
    if place is not None:
        await world.store.leave(place)
        await elsewhere.leave(world, place)
    return TenantDropped(tenant=command.tenant, rows=rows, grants_ended=len(grants))


def _require_operator(admitted: Admitted, what: str) -> None:
    principal = admitted.caller.principal
    if admitted.caller.agent == OPERATOR and admitted.access.may("administer", GLOBAL):
        return
    raise AccessDenied(
        f"`{principal}` may not {what}; only `agent:{OPERATOR}` may",
        action="administer",
        object=GLOBAL,
        revision=admitted.revision,
    )
