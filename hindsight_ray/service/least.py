"""Which of many memories are kept least: read a page at a time, so that few are held at once."""

from collections.abc import Collection
from datetime import UTC, datetime

from hindsight_ray.core.lifecycle import least_kept
from hindsight_ray.domain.memory import Memory, MemoryStatistics, Status
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.ports import Unit

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
    spare: Collection[str] = (),
    *,
    weight: float = 0.0,
) -> list[Memory]:
    """The `count` least kept memories of these rows but for `spare`; see `least_kept`."""
    chosen: list[Memory] = []
    statistics: dict[str, MemoryStatistics] = {}
    after = 0
    while page := await unit.upkeep.page(rows, after=after, limit=_PAGE):
        after = page[-1][0]
        found = [memory for _, memory in page if memory.id not in spare]
        known = statistics | dict(await unit.stats.of(rows.tenant, [one.id for one in found]))
        pairs = ((one, known[one.id]) for one in (*chosen, *found))
        chosen = least_kept(pairs, now, count, weight=weight)
        statistics = {one.id: known[one.id] for one in chosen}
    return chosen
