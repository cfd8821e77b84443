"""What a scope's archive may hold, and what of it is let go.

An archive holds `archive_times_max` times as many memories as its scope may. Upkeep lets the least
kept of it go beyond that, so many in a pass; whatever would put one more away before upkeep has
looked is refused once a whole quota lies beyond, of what whoever asks may be shown of it. Nothing
is deleted that was not archived before.
"""

from dataclasses import replace

from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service import commit
from hindsight_ray.service.admit import Admitted, row_filter
from hindsight_ray.service.commit import Author
from hindsight_ray.service.least import BEGINNING, everything, shrink
from hindsight_ray.service.world import World

_AWAY: frozenset[Status] = frozenset({"archived"})
_LET_GO_MAX = 10_000  # of one scope in one pass


def most(settings: Settings) -> int:
    """How many memories the archive of one scope holds when upkeep has looked."""
    return settings.archive_times_max * settings.memories_per_scope_max


async def room_away(
    world: World, unit: Unit, admitted: Admitted, scope: str, count: int = 1
) -> None:
    """Raise `OverQuota` unless the caller may put `count` memories of this scope away now.

    What counts is what the caller may be shown of the archive, whatever its audience. Without
    `review` that is nothing: then so many count as they made there themselves, wherever those are.
    """
    tenant = admitted.caller.tenant
    if admitted.access.may("review", scope):
        rows = replace(await row_filter(world, unit, admitted), scopes=frozenset({scope}))
        return await check(world, unit, rows, scope, count)
    if not await surely_fits(unit, tenant, 0, _bound(world.settings)):
        made = await unit.upkeep.first_said(tenant, scope, admitted.caller.principal)
        if made > _bound(world.settings):
            raise _full(world.settings, scope)
    return None


async def check(world: World, unit: Unit, rows: RowFilter, scope: str, count: int) -> None:
    """The same of these rows of a scope: of what lies there, only what they let through counts."""
    limit = _bound(world.settings)
    if await surely_fits(unit, rows.tenant, count, limit):
        return
    if await unit.memories.count(replace(rows, statuses=_AWAY, now=BEGINNING)) + count > limit:
        raise _full(world.settings, scope)


async def surely_fits(unit: Unit, tenant: str, count: int, limit: int) -> bool:
    """Whether `count` more fit, told at a glance: each memory of the tenant has come with a change,
    so with so few changes there cannot be too many. False asks for a count."""
    return await unit.memories.change_number(tenant) + count <= limit


async def let_go(world: World, tenant: str, by: Author) -> list[MemoryUuid]:
    """Let go of what archives of the tenant hold beyond their bound, the least kept first."""
    limit = most(world.settings)
    async with world.ledger.reading() as unit:
        held = await unit.upkeep.scopes(tenant, archived=True)
    gone: list[MemoryUuid] = []
    for scope, count in sorted(held.items()):
        if count > limit:
            rows = replace(everything(tenant), scopes=frozenset({scope}), statuses=_AWAY)
            beyond = min(count - limit, _LET_GO_MAX)
            gone += await shrink(world, rows, by, limit=limit, count=beyond, act=_forget)
    return gone


async def _forget(unit: Unit, memory: Memory, by: Author) -> None:
    await commit.forget(unit, memory, by, f"over the quota of the archive of `{memory.scope}`")


def _bound(settings: Settings) -> int:
    """How many it holds until upkeep has looked."""
    return most(settings) + settings.memories_per_scope_max


def _full(settings: Settings, scope: str) -> OverQuota:
    return OverQuota(
        f"the archive of `scope` {scope!r} holds as many memories as it may; `maintain` lets the"
        " least kept go, or raise `archive_times_max`",
        scope=scope,
        limit=_bound(settings),
    )
