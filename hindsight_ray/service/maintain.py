"""Looking after a tenant's memories in bounded slices: archive, let go, keep within quotas.

One slice reads so many memories and commits what is due among them together with where it has come
to, so a pass that was stopped goes on there. Time is the world's clock. Nothing is let go that was
not archived before, and its last text stays in its history until it is erased.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hindsight_ray.core.lifecycle import Keeping, Step, next_step
from hindsight_ray.domain.access import Revision
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Maintain
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.domain.upkeep import Maintained
from hindsight_ray.ports import Unit
from hindsight_ray.service import away, commit, elsewhere
from hindsight_ray.service.admit import admit
from hindsight_ray.service.commit import Author
from hindsight_ray.service.least import ALL, everything, least, shrink
from hindsight_ray.service.settle import changing, replay_all, sweep
from hindsight_ray.service.world import World

STEWARD = "agent:steward"
LIVING: frozenset[Status] = frozenset({"active", "outdated"})


async def maintain(world: World, caller: Caller, command: Maintain) -> Maintained:
    """One slice of upkeep of the caller's tenant. Needs `administer`."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("administer", GLOBAL)
        by = commit.author(admitted, "Maintain", "administer", GLOBAL)
    return await one_slice(world, caller.tenant, by, command.slice)


async def steward_slice(world: World, tenant: str, size: int) -> Maintained:
    """One slice in the name of the deployment itself, which acts under no ticket."""
    async with world.ledger.reading() as unit:
        revision = Revision((await unit.policy.standing(tenant, "")).revision)
    return await one_slice(
        world, tenant, Author(STEWARD, "Maintain", "", revision, world.clock.now()), size
    )


async def one_slice(world: World, tenant: str, by: Author, size: int) -> Maintained:
    """Look at the next `size` memories of the tenant, and do what is due."""
    name = f"upkeep of {tenant}"
    keeping = Keeping(world.settings.archived_kept_days, world.settings.expired_kept_days)
    archived: list[MemoryUuid] = []
    forgotten: list[MemoryUuid] = []
    async with changing(world, name) as unit:
        after = await unit.upkeep.cursor(name)
        page = await unit.upkeep.page(everything(tenant), after=after, limit=size)
        statistics = await unit.stats.of(tenant, [memory.id for _, memory in page])
        for _, memory in page:
            step = next_step(memory, statistics[memory.id], by.now, keeping)
            if step is not None:
                await _take(unit, memory, step, by)
                (archived if step.do == "archive" else forgotten).append(memory.id)
        done = len(page) < size
        await unit.upkeep.set_cursor(name, 0 if done else page[-1][0])
    swept = 0
    if done:
        archived += await _within_quotas(world, tenant, by)
        forgotten += await away.let_go(world, tenant, by)
        if not world.store.shares_ledger:
            swept = await sweep(world, tenant)
            await replay_all(world)
        await elsewhere.look_after(world)
    return Maintained(
        looked_at=len(page),
        archived=tuple(archived),
        forgotten=tuple(forgotten),
        swept=swept,
        done=done,
    )


async def archive(unit: Unit, memory: Memory, by: Author, why: str) -> None:
    """Put a memory away: it keeps its text and vector and can be restored."""
    changes = {"status": "archived", "revision": memory.revision + 1, "updated_at": by.now}
    await commit.put(unit, memory.model_copy(update=changes), None, by, f"archived: {why}")


async def make_room(
    unit: Unit,
    rows: RowFilter,
    by: Author,
    count: int,
    *,
    among: Callable[[Memory], bool] = lambda _: True,
    weight: float = 0.0,
) -> list[MemoryUuid]:
    """Archive the `count` memories of these rows that give way first, `among` those.

    What waits is among it where its source weighs less than `weight`; else it goes last.
    """
    if count <= 0:
        return []
    chosen = await least(unit, rows, by.now, count, among=among, weight=weight)
    for memory in chosen:
        await archive(unit, memory, by, _over(memory))
    return [memory.id for memory in chosen]


def _over(memory: Memory) -> str:
    return f"over the quota of `{memory.scope}`"


async def _take(unit: Unit, memory: Memory, step: Step, by: Author) -> None:
    if step.do == "archive":
        await archive(unit, memory, by, step.why)
    else:
        await commit.forget(unit, memory, by, step.why)


async def _within_quotas(world: World, tenant: str, by: Author) -> Sequence[MemoryUuid]:
    """Put away what scopes hold beyond their quota: it was lowered, or no writer was shown all."""
    limit = world.settings.memories_per_scope_max
    async with world.ledger.reading() as unit:
        held = await unit.upkeep.scopes(tenant)
    archived: list[MemoryUuid] = []
    for scope, count in sorted(held.items()):
        if count > limit:
            rows = replace(
                everything(tenant), scopes=frozenset({scope}), statuses=ALL - {"archived"}
            )
            archived += await shrink(
                world, rows, by, limit=limit, count=count - limit, act=_put_away
            )
    return archived


async def _put_away(unit: Unit, memory: Memory, by: Author) -> None:
    await archive(unit, memory, by, _over(memory))
