"""Write down who came without a good ticket: as far as that can be trusted, and never without end.

A ticket that ran out or was revoked names its tenant and principal, for its key signed them: the
entry is in that tenant's audit. Of anything else nobody vouches for what it says; the entry is in
the audit of `DEPLOYMENT`, and says which verb was asked for. Anybody can send such calls by the
million, so each process writes a few at once and then one in a while; the next that it writes says
how many it left out.
"""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.service.world import World

DEPLOYMENT = "hindsight-ray"  # the tenant in whose audit a deployment speaks of itself


async def note(world: World, verb: str, caller: Caller | None) -> None:
    """Write down a call with no good ticket; `caller` is whom a signature vouches for, if any."""
    # Apart, so that nobody hides the use of a stolen ticket behind a flood of forged ones.
    paced = world.strangers if caller is None else world.outdated
    left_out = paced.taken(world.clock.steady_s())
    if left_out is None:
        return
    entries = [
        _entry(world, DEPLOYMENT, "", verb, "no ticket")
        if caller is None
        else _entry(world, caller.tenant, caller.principal, verb, f"ticket:{caller.ticket_id}")
    ]
    if left_out:
        said = f"{left_out} calls without a good ticket, not written down one by one"
        entries.insert(0, _entry(world, DEPLOYMENT, "", "LeftOut", said))
    async with world.ledger.writing() as unit:
        for entry in entries:
            if entry.tenant == DEPLOYMENT:  # so that it can be asked for
                await unit.policy.add_tenant(DEPLOYMENT, entry.at)
            await unit.audit.append(entry)


def _entry(world: World, tenant: str, principal: str, verb: str, name: str) -> AuditEntry:
    return AuditEntry(
        tenant=tenant,
        at=world.clock.now(),
        principal=principal,
        verb=verb,
        object=name,
        effect="deny",
        rule="",
        revision=0,
    )
