"""What is near a new statement, looked up before the transaction that decides about it.

A store apart is asked ahead, so that no writer waits, within the one lock there is, for a server's
answer; whoever decides adds what the scope has changed since. Where this process keeps the scope's
vectors no server is asked at all: they are compared here sooner, and exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hindsight_ray.domain.rows import Near, RowFilter
from hindsight_ray.errors import Unavailable
from hindsight_ray.ports import Unit, Vector
from hindsight_ray.ports.watching import spent_on
from hindsight_ray.service.world import World

_ASKED = 20  # more than are compared: labels are looked at after the store has answered


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What was near each part, by id, at a change of the scope."""

    rows: RowFilter
    audience: tuple[str, ...]
    change: int
    ids: tuple[tuple[str, ...], ...]

    def answers(self, rows: RowFilter, audience: tuple[str, ...]) -> bool:
        """Whether this is what would be asked now, but for what has come meanwhile."""
        same = replace(self.rows, now=rows.now, keys=rows.keys)
        return same == rows and self.audience == audience


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a statement, and what it is to be compared with."""

    rows: RowFilter
    audience: tuple[str, ...]
    place: int
    vector: Vector


async def look(
    world: World,
    unit: Unit,
    rows: RowFilter,
    audience: tuple[str, ...],
    vectors: Sequence[Vector] | Vector,
) -> Foreseen:
    """Ask ahead for each of the vectors.

    Raises `Unavailable` if the store is away, and what `check_space` does.
    """
    (scope,) = rows.scopes or ("",)
    await world.store.check_space(unit)  # vectors of another space are near nothing that is kept
    known = await unit.memories.nearest_known(rows, list(vectors), limit=_ASKED)
    if known is not None:
        return Foreseen(rows, audience, known.change, _ids(known.near))
    change = await unit.memories.scope_change(rows.tenant, scope)
    with spent_on("store"):
        found = [await world.store.nearest(unit, rows, one, limit=_ASKED) for one in vectors]
    return Foreseen(rows, audience, change, _ids(found))


def _ids(found: Sequence[Sequence[Near]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(near.ref.id for near in one) for one in found)


async def nearest(
    world: World, unit: Unit, foreseen: Foreseen | None, part: Part
) -> Sequence[Near]:
    """The nearest rows now, in the transaction that decides; what was foreseen is made use of."""
    rows, vector = part.rows, part.vector
    if foreseen is not None and foreseen.answers(rows, part.audience):
        (scope,) = rows.scopes or ("",)
        since = await unit.memories.changed_since(rows.tenant, scope, foreseen.change)
        named = [*foreseen.ids[part.place], *since]
        return (await unit.memories.nearest_of(rows, vector, named))[:_ASKED]
    try:
        with spent_on("store"):
            return await world.store.nearest(unit, rows, vector, limit=_ASKED)
    except Unavailable:
        if world.settings.store_outage != "queue":
            raise
        return (await unit.memories.nearest_of(rows, vector, None))[:_ASKED]
