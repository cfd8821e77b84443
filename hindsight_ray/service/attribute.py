"""Attribute: share a run's outcome among the decisions that led to it.

Needs `review` on the run's scope and `read` on its whole audience. What is shown of memories is
what this reader may read of them, as they are now. Methods that replay run with the client, which
has the environment (`service/replayed.py`), and are submitted (`service/credit.py`).
"""

from hindsight_ray.core.attribution.blame import blamed
from hindsight_ray.core.attribution.provenance import provenance
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Attribute
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.service import offered
from hindsight_ray.service.admit import admit
from hindsight_ray.service.compare import compare
from hindsight_ray.service.judged import judge
from hindsight_ray.service.texts import readable_texts, shown
from hindsight_ray.service.trajectory import reviewable
from hindsight_ray.service.world import World


async def attribute(world: World, caller: Caller, command: Attribute) -> Attribution:
    """Credits that sum to the outcome or order who led to it, or an abstention with its reason."""
    if command.method == "spectrum":
        return await compare(world, caller, command)
    if command.method == "judge":
        return await judge(world, caller, command)
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        trajectory = await reviewable(unit, admitted, command.run_id)
        readable = await readable_texts(unit, admitted, trajectory.events)
        growth = await offered.showing_memories(unit, admitted, readable.memories, [trajectory.run])
    await offered.grow(world, admitted, [growth])
    memories = readable.texts
    run = shown(trajectory, memories)
    return blamed(run, memories) if command.method == "blame" else provenance(run, memories)
