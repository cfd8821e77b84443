"""Texts of the memories that a run's events name, as far as the reader may read them now and then.

Apart from the verbs on runs, because attribution, comparison and replay all show the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.seen import showed, shows


@dataclass(frozen=True, slots=True)
class Readable:
    """Texts by revision, and the records whose readers they have: as seen, and as they are now."""

    texts: dict[MemoryRef, str] = field(default_factory=dict[MemoryRef, str])
    memories: tuple[Memory, ...] = ()


async def readable_texts(unit: Unit, admitted: Admitted, events: Iterable[Event]) -> Readable:
    """At the revisions seen, of memories offered or used: those shown now, and then."""
    refs = list(dict.fromkeys(ref for event in events for ref in (*event.offered, *event.used)))
    if not refs:
        return Readable()
    tenant = admitted.caller.tenant
    current = await unit.memories.current(tenant, list(dict.fromkeys(ref.id for ref in refs)))
    seen = await unit.memories.at(tenant, refs)
    readable = {
        ref: (memory, now)
        for ref, memory in seen.items()
        if showed(admitted, memory)
        and (now := current.get(ref.id)) is not None
        and shows(admitted, now)
    }
    return Readable(
        {ref: memory.content for ref, (memory, _) in readable.items()},
        tuple(one for pair in readable.values() for one in pair),
    )


def shown(trajectory: Trajectory, texts: dict[MemoryRef, str]) -> Trajectory:
    """The trajectory without references to memories that the reader may not know of."""
    return trajectory.model_copy(update={"events": known(trajectory.events, texts)})


def known(events: Iterable[Event], texts: Mapping[MemoryRef, str]) -> tuple[Event, ...]:
    """The events without those references."""
    return tuple(
        event.model_copy(
            update={
                "used": tuple(ref for ref in event.used if ref in texts),
                "offered": tuple(ref for ref in event.offered if ref in texts),
            }
        )
        if event.used or event.offered
        else event
        for event in events
    )
