"""Who holds this ticket, and is it good now. A door asks this before it serves a request."""

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Caller
from hindsight_ray.service.admit import admit
from hindsight_ray.service.world import World


async def whoami(world: World, caller: Caller, _command: c.WhoAmI) -> Caller:
    """The caller, admitted at this moment. Raises `InvalidTicket`."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
    return admitted.caller
