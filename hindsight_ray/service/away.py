"""What a scope's archive may hold, and what of it is let go.

An archive holds `archive_times_max` times as many memories as its scope may. Upkeep lets the least
kept of it go beyond that, so many in a pass; whatever would put one more away before upkeep has
looked is refused once a whole quota lies beyond. So an archive has a bound at every moment, and
nothing is deleted that was not archived before.
"""

from dataclasses import replace

from hindsight_ray.core.audience import contained_keys
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service import commit
from hindsight_ray.service.commit import Author
from hindsight_ray.service.least import BEGINNING, everything, least
from hindsight_ray.service.settle import BATCH, changing
from hindsight_ray.service.world import World

_AWAY: frozenset[Status] = frozenset({"archived"})
_LET_GO_MAX = 10_000  # of one scope in one pass


def most(settings: Settings) -> int:
    """How many memories the archive of one scope holds when upkeep has looked."""
    return settings.archive_times_max * settings.memories_per_scope_max


async def room_away(world: World, unit: Unit, like: Memory, count: int = 1) -> None:
    """Raise `OverQuota` unless `count` memories like this one may be put away now."""
    catalogue = await unit.keys.all(like.tenant)
    rows = replace(
        everything(like.tenant),
        keys=contained_keys(catalogue, like.audience),
        scopes=frozenset({like.scope}),
    )
    await check(world, unit, rows, like.scope, count)


async def check(world: World, unit: Unit, rows: RowFilter, scope: str, count: int) -> None:
    """The same of these rows of a scope: of what lies there, only what they let through counts."""
    limit = most(world.settings) + world.settings.memories_per_scope_max
    if await unit.memories.change_number(rows.tenant) + count <= limit:
        return  # each memory has come with a change: there cannot be as many
    if await unit.memories.count(replace(rows, statuses=_AWAY, now=BEGINNING)) + count <= limit:
        return
    raise OverQuota(
        f"the archive of `scope` {scope!r} holds as many memories as it may; `maintain` lets the"
        " least kept go, or raise `archive_times_max`",
        scope=scope,
        limit=limit,
    )


async def let_go(world: World, tenant: str, by: Author) -> list[MemoryUuid]:
    """Let go of what archives of the tenant hold beyond their bound, the least kept first."""
    limit = most(world.settings)
    async with world.ledger.reading() as unit:
        held = await unit.upkeep.scopes(tenant, archived=True)
    gone: list[MemoryUuid] = []
    for scope, count in sorted(held.items()):
        if count <= limit:
            continue
        rows = replace(everything(tenant), scopes=frozenset({scope}), statuses=_AWAY)
        async with world.ledger.reading() as unit:
            chosen = await least(unit, rows, by.now, min(count - limit, _LET_GO_MAX))
        for start in range(0, len(chosen), BATCH):
            gone += await _forgotten(world, chosen[start : start + BATCH], by)
    return gone


async def _forgotten(world: World, chosen: list[Memory], by: Author) -> list[MemoryUuid]:
    """Those of these that are as they were when they were chosen, which are gone now."""
    gone: list[MemoryUuid] = []
    async with changing(world, f"archive of {chosen[0].scope}") as unit:
        now = await unit.memories.current(chosen[0].tenant, [memory.id for memory in chosen])
        for memory in chosen:
            if now.get(memory.id) == memory:
                why = f"over the quota of the archive of `{memory.scope}`"
                await commit.forget(unit, memory, by, why)
                gone.append(memory.id)
    return gone
