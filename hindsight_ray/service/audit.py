"""Read the audit and verify it: who did or was refused what, by which rule, and is it all there.

Metadata, never text. What was signed and kept elsewhere is held against the chains as they are now.
"""

from collections.abc import Sequence

from hindsight_ray.core.audit_chain import ChainCheck
from hindsight_ray.domain.audit import AuditFault, AuditReport, Head, Seal
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import ReadAudit, ReadSeal, VerifyAudit
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.errors import StorageFailed
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import absent, admit
from hindsight_ray.service.policy_check import OPERATOR
from hindsight_ray.service.world import World

_BATCH = 5_000


async def audit(world: World, caller: Caller, command: ReadAudit) -> tuple[AuditEntry, ...]:
    """The newest entries of the caller's tenant, newest first. Needs `audit` on `global`."""
    async with world.ledger.reading() as unit:
        await _admit_auditor(world, unit, caller)
        return tuple(
            await unit.audit.newest(
                caller.tenant,
                limit=command.limit,
                skip=command.skip,
                effect=command.effect,
                principal=command.principal,
                since=command.since,
            )
        )


async def seal(world: World, caller: Caller, _command: ReadSeal) -> Seal:
    """The tenant's heads as they were last signed. Raises `NotFound` while nothing is."""
    async with world.ledger.reading() as unit:
        await _admit_auditor(world, unit, caller)
        found = await unit.audit.seal(caller.tenant)
    if found is None:
        raise absent("seal", caller.tenant)
    return found


async def verify(world: World, caller: Caller, command: VerifyAudit) -> AuditReport:
    """Follow every chain of the tenant from its first entry; name the first fault of each.

    A seal that the home's audit key did not sign is `forged` itself, and says nothing.
    """
    async with world.ledger.reading() as unit:
        await _admit_auditor(world, unit, caller)
        tenant, kept = caller.tenant, None
        faults: list[AuditFault] = []
        wanted: list[Head] = []
        try:
            kept = await unit.audit.seal(tenant)
        except StorageFailed:
            faults.append(AuditFault(writer="", place=0, fault="forged"))
        for one in (*command.seals, *(() if kept is None else (kept,))):
            if one.tenant == tenant and await unit.audit.signed(one):
                wanted += one.heads
            else:
                faults.append(AuditFault(writer="", place=0, fault="forged"))
        entries = unsigned = 0
        for writer in sorted({*await unit.audit.writers(tenant), *(one.writer for one in wanted)}):
            heads = [one for one in wanted if one.writer == writer]
            check = await _followed(unit, tenant, writer, heads)
            entries += check.entries
            unsigned += max(0, check.entries - max((one.place for one in heads), default=0))
            faults += [] if check.fault is None else [check.fault]
    return AuditReport(
        tenant=tenant, entries=entries, faults=tuple(faults), unsigned=unsigned, seal=kept
    )


async def _admit_auditor(world: World, unit: Unit, caller: Caller) -> None:
    """Of a tenant that was dropped the audit is left, and `agent:operator` alone reads it.

    Raises `InvalidTicket`, `AccessDenied`.
    """
    left = caller.agent == OPERATOR and caller.tenant in await unit.audit.tenants()
    admitted = await admit(world, unit, caller, any_tenant=left)
    admitted.require("audit", GLOBAL)


async def _followed(unit: Unit, tenant: str, writer: str, heads: Sequence[Head]) -> ChainCheck:
    check = ChainCheck(writer, heads)
    after = (0, 0)
    while batch := await unit.audit.chain(tenant, writer, after=after, limit=_BATCH):
        check.feed(batch)
        after = (batch[-1].place, batch[-1].number)
    check.finish()
    return check
