"""One memory by its id. What is forbidden looks like what is absent."""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Get
from hindsight_ray.domain.memory import Memory
from hindsight_ray.service import offered
from hindsight_ray.service.admit import admit
from hindsight_ray.service.seen import presentable, visible
from hindsight_ray.service.world import World


async def get(world: World, caller: Caller, command: Get) -> Memory:
    """The memory at its current revision. Raises `NotFound`.

    Within a run it counts as offered, as a hit of a search does.
    """
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        memory = await visible(unit, admitted, command.memory_id)
        growth = await offered.showing_memories(unit, admitted, [memory])
        (shown,) = await presentable(unit, admitted, [memory])
    await offered.grow(world, admitted, [growth])
    return shown
