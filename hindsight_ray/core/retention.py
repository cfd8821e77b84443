"""How much a memory is worth keeping at a moment: importance, use and freshness in one number."""

import math
from datetime import datetime

from hindsight_ray.domain.memory import Memory, MemoryStatistics

HALF_LIFE_DAYS = 30.0
_DAY_S = 86_400.0


def last_use(memory: Memory, statistics: MemoryStatistics) -> datetime:
    """The latest of created, accessed and verified."""
    known = (memory.created_at, statistics.last_accessed, statistics.last_verified)
    return max(moment for moment in known if moment is not None)


def recency(moment: datetime, now: datetime) -> float:
    """2^(-days/30): 1 now, a half after thirty days. Moments to come count as now."""
    days = max(0.0, (now - moment).total_seconds() / _DAY_S)
    return 2.0 ** (-days / HALF_LIFE_DAYS)


def retention(memory: Memory, statistics: MemoryStatistics, now: datetime) -> float:
    """0.6 x importance + 0.3 x ln(1 + accesses) + 0.1 x recency of the last use."""
    used = 0.3 * math.log1p(statistics.accesses)
    fresh = 0.1 * recency(last_use(memory, statistics), now)
    return 0.6 * memory.importance + used + fresh
