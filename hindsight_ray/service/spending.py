"""What asking models has cost: of one run, or of a whole tenant since a time."""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.chat import Spent
from hindsight_ray.domain.commands import ReadSpending
from hindsight_ray.service.admit import absent, admit
from hindsight_ray.service.seen import reads_run
from hindsight_ray.service.world import World


async def spending(world: World, caller: Caller, command: ReadSpending) -> Spent:
    """Calls, tokens and money. Of a run for who may review its scope and read it; else of the
    tenant, for who administers it. Raises `NotFound`, `AccessDenied`."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        if command.run_id is None:
            admitted.require("administer", "global")
            return await unit.asking.spent(caller.tenant, since=command.since)
        run = await unit.runs.get(caller.tenant, command.run_id)
        if (
            run is None
            or not admitted.access.may("review", run.scope)
            or not await reads_run(unit, admitted, run)
        ):
            raise absent("run", command.run_id)
        return await unit.asking.spent(caller.tenant, run_id=command.run_id, since=command.since)
