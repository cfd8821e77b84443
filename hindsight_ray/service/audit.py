"""Read the audit: who did or was refused what, by which rule. Metadata, never text."""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import ReadAudit
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.service.admit import admit
from hindsight_ray.service.world import World


async def audit(world: World, caller: Caller, command: ReadAudit) -> tuple[AuditEntry, ...]:
    """The newest entries of the caller's tenant, newest first. Needs `audit` on `global`."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("audit", GLOBAL)
        return tuple(await unit.audit.newest(caller.tenant, limit=command.limit))
