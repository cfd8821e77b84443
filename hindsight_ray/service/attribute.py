"""Attribute: share a run's outcome among the decisions that led to it.

Needs `review` on the run's scope and `read` on its whole audience. What is shown of memories is
what this reader may read of them, as they are now.
"""

from collections.abc import Sequence

from hindsight_ray.core.attribution.provenance import provenance
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Attribute
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.trajectory import reviewable
from hindsight_ray.service.world import World


async def attribute(world: World, caller: Caller, command: Attribute) -> Attribution:
    """Credits that sum to the outcome, or an abstention with its reason."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        trajectory = await reviewable(unit, admitted, command.run_id)
        memories = await _readable_texts(unit, admitted, trajectory.events)
    return provenance(_shown(trajectory, memories), memories)


async def _readable_texts(
    unit: Unit, admitted: Admitted, events: Sequence[Event]
) -> dict[MemoryRef, str]:
    """Texts of the memories used, at the revisions seen: of those readable now, and then."""
    refs = list(dict.fromkeys(ref for event in events for ref in event.used))
    if not refs:
        return {}
    tenant = admitted.caller.tenant
    current = await unit.memories.current(tenant, [ref.id for ref in refs])
    seen = await unit.memories.at(tenant, refs)
    return {
        ref: memory.content
        for ref, memory in seen.items()
        if admitted.may_read(memory.audience, memory.labels)
        and (now := current.get(ref.id)) is not None
        and admitted.may_read(now.audience, now.labels)
    }


def _shown(trajectory: Trajectory, memories: dict[MemoryRef, str]) -> Trajectory:
    """The trajectory without references to memories that the reader may not know of."""
    events = tuple(
        event.model_copy(update={"used": tuple(ref for ref in event.used if ref in memories)})
        if event.used
        else event
        for event in trajectory.events
    )
    return trajectory.model_copy(update={"events": events})
