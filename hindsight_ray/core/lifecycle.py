"""What becomes of a memory as time passes: its tier, and when it is put away or let go.

Pure: whoever looks after memories brings the moment and the statistics. Nothing is let go that was
not put away before.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from hindsight_ray.core.retention import last_use
from hindsight_ray.domain.memory import Memory, MemoryStatistics, Status

HOT_DAYS = 30
WARM_DAYS = 90
_LIVING: frozenset[Status] = frozenset({"active", "outdated"})

TierName = Literal["hot", "warm", "cold", "archived"]


def tier(memory: Memory, statistics: MemoryStatistics, now: datetime) -> TierName:
    """Hot for 30 days after the last use, warm for 90; after that cold if never accessed.

    Both ends belong to the warmer tier: at exactly 30 days a memory is hot still.
    """
    if memory.status == "archived":
        return "archived"
    age = now - last_use(memory, statistics)
    if age <= timedelta(days=HOT_DAYS):
        return "hot"
    if age <= timedelta(days=WARM_DAYS) or statistics.accesses > 0:
        return "warm"
    return "cold"


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long what is put away is kept, in days; 0 is for ever."""

    archived_days: int = 0
    expired_days: int = 30


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done with a memory now, and why."""

    do: Literal["archive", "forget"]
    why: str


def next_step(
    memory: Memory, statistics: MemoryStatistics, now: datetime, keeping: Keeping
) -> Step | None:
    """The next step of a memory's life that is due, or None.

    What waits for a person is left to people, unless it has expired.
    """
    expired = memory.expires_at is not None and memory.expires_at <= now
    if memory.status == "archived":
        days = keeping.expired_days if expired else keeping.archived_days
        if days and now - memory.updated_at >= timedelta(days=days):
            kind = "expired" if expired else "archived"
            return Step("forget", f"{kind}, and archived for {days} days")
        return None
    if expired:
        return Step("archive", "expired")
    if memory.status in _LIVING and tier(memory, statistics, now) == "cold":
        return Step("archive", f"cold: not used for more than {WARM_DAYS} days, never accessed")
    return None
