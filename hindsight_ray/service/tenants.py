"""Dropping a tenant: nothing of it is left but its audit, and whoever comes back finds it empty."""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import DropTenant
from hindsight_ray.domain.receipt import TenantDropped
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.errors import AccessDenied, NotFound
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.operate import admit_operator
from hindsight_ray.service.policy_check import OPERATOR
from hindsight_ray.service.world import World


async def drop_tenant(world: World, caller: Caller, command: DropTenant) -> TenantDropped:
    """Delete the tenant of the caller's ticket. For `agent:operator` alone.

    One transaction in the ledger; then the memory store, where it is apart, lets go of the place
    that no row names any more. Raises `NotFound` for a tenant that is not the ticket's.
    """
    await world.store.check()
    async with world.ledger.writing() as unit:
        admitted = await admit_operator(world, unit, caller)
        if caller.agent != OPERATOR:
            raise AccessDenied(
                f"`{caller.principal}` may not drop a tenant; only `agent:{OPERATOR}` may",
                action="administer",
                object=GLOBAL,
                revision=admitted.revision,
            )
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
        rows = await unit.policy.drop_tenant(command.tenant)
        await note_done(
            unit, admitted, verb="DropTenant", action="administer", scope=GLOBAL,
            name=f"tenant:{command.tenant}",
        )  # fmt: skip
    if place is not None:
        await world.store.leave(place)
    return TenantDropped(tenant=command.tenant, rows=rows, grants_ended=len(grants))
