"""Take a memory out of every answer. A tombstone stays, so that its id is never used again."""

from hindsight_ray.domain.access import Revision
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Forget
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.ports import Unit
from hindsight_ray.service import commit, once
from hindsight_ray.service.admit import Admitted, absent, admit
from hindsight_ray.service.seen import last_known, visible
from hindsight_ray.service.settle import changing
from hindsight_ray.service.world import World


async def forget(world: World, caller: Caller, command: Forget) -> Receipt:
    """Forget a memory that the caller may read, in a scope where it holds `forget`.

    Raises `NotFound` for what the caller may not read, `AccessDenied` without `forget`. What was
    promoted from it stays.
    """
    async with changing(world, command.command_id) as unit:
        admitted = await admit(world, unit, caller)
        done = await once.replayed(unit, caller, command.command_id, command, Receipt)
        if done is not None:
            await _authorise_again(unit, admitted, command.memory_id)
            return done
        memory = await visible(unit, admitted, command.memory_id)
        admitted.require("forget", memory.scope)
        by = commit.author(admitted, "Forget", "forget", memory.scope)
        await commit.forget(unit, memory, by, "forgotten")
        receipt = Receipt(
            command_id=command.command_id,
            result="forgotten",
            ids=(memory.id,),
            revision=Revision(admitted.revision),
        )
        await once.keep(unit, caller, command.command_id, command, receipt)
    return receipt


async def _authorise_again(unit: Unit, admitted: Admitted, memory_id: str) -> None:
    """The receipt of what is gone, for those who might forget it were it still there."""
    tenant = admitted.caller.tenant
    last = await last_known(unit, tenant, memory_id)
    if last is None or not admitted.may_read(last.audience, last.labels):
        raise absent("memory", memory_id)
    admitted.require("forget", last.scope)
