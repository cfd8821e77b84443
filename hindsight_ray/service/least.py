"""Which of many memories are kept least, and acting on those that are over a limit.

They are read a page at a time, so that few are held at once.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from hindsight_ray.core.least import Least
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.ports import Unit
from hindsight_ray.service.commit import Author
from hindsight_ray.service.settle import BATCH, changing
from hindsight_ray.service.world import World

ALL: frozenset[Status] = frozenset({"active", "outdated", "pending", "quarantined", "archived"})
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)  # of a filter that nothing has expired for
_PAGE = 2_000


def everything(tenant: str) -> RowFilter:
    """Every memory of a tenant whatever its status, expired ones too."""
    return RowFilter(tenant=tenant, now=BEGINNING, keys=None, statuses=ALL)


async def least(
    unit: Unit,
    rows: RowFilter,
    now: datetime,
    count: int,
    *,
    among: Callable[[Memory], bool] = lambda _: True,
    weight: float = 0.0,
) -> list[Memory]:
    """The `count` memories of these rows that give way first, `among` those; see `Least`."""
    found = Least(now, count, weight=weight)
    after = 0
    while page := await unit.upkeep.page(rows, after=after, limit=_PAGE):
        after = page[-1][0]
        read = [memory for _, memory in page if among(memory)]
        known = await unit.stats.of(rows.tenant, [one.id for one in read])
        found.add((one, known[one.id]) for one in read)
    return found.chosen()


async def shrink(
    world: World,
    rows: RowFilter,
    by: Author,
    *,
    limit: int,
    count: int,
    act: Callable[[Unit, Memory, Author], Awaitable[None]],
) -> list[MemoryUuid]:
    """`act` on what gives way first of these rows until `limit` are left, on `count` at most.

    They are chosen while others write. So each transaction that acts counts again, and acts on no
    more than lies over the limit then, and on nothing that has changed meanwhile.
    """
    async with world.ledger.reading() as unit:
        chosen = await least(unit, rows, by.now, count)
    done: list[MemoryUuid] = []
    for start in range(0, len(chosen), BATCH):
        part = chosen[start : start + BATCH]
        async with changing(world, f"quota of {part[0].scope}") as unit:
            over = await unit.memories.count(rows) - limit
            now = await unit.memories.current(rows.tenant, [memory.id for memory in part])
            same = [memory for memory in part if now.get(memory.id) == memory]
            for memory in same[: max(over, 0)]:
                await act(unit, memory, by)
                done.append(memory.id)
    return done
