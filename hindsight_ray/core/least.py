"""Which memories of a full scope give way: whose turn it is, and which of theirs they keep least.

What somebody writes counts against themselves. The one who holds the most gives way first, again
and again, so nobody who holds less than an equal share of what a scope may hold loses anything that
somebody stood by to what others wrote there, however important those say it is. In a scope that
is somebody's, its owner's go last; text from outside, which nobody has stood by, goes first.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from hindsight_ray.core.audience import doubted
from hindsight_ray.core.retention import retention
from hindsight_ray.domain.caller import REVIEWER
from hindsight_ray.domain.memory import Memory, MemoryStatistics, Source
from hindsight_ray.domain.scope import GLOBAL, agent_scope, user_scope

_Key = tuple[int, float, bool, datetime, str]


class Holder(NamedTuple):
    """Whose memories of a scope they are. All of a lower rank give way before any of a higher."""

    rank: int
    name: str


def holder(memory: Memory) -> Holder:
    """By who said it, with whom; its owner's is also what the owner accepted."""
    apart = memory.status == "quarantined" or doubted(memory)
    source, scope = memory.source, memory.scope
    owned = scope != GLOBAL and (
        scope in (said_by(source), source.reviewed_by)
        or (source.user is not None and scope == user_scope(source.user))
        or source.agent == REVIEWER  # what the product itself has learned
    )
    names = [said_by(source)]
    if source.agent is not None and source.user is not None:
        names.append(user_scope(source.user))
    return Holder(2 * owned + (not apart), " ".join(names))


def said_by(source: Source) -> str:
    """The principal whose word it is; whoever vouched for it where that is not known."""
    if source.agent is not None:
        return agent_scope(source.agent)
    return (source.reviewed_by or "") if source.user is None else user_scope(source.user)


def turns(held: Mapping[Holder, int], count: int) -> list[Holder]:
    """Who gives way, `count` times: of the lowest rank there is whoever holds the most by then."""
    waiting = [(who.rank, -number, who.name) for who, number in held.items() if number > 0]
    heapq.heapify(waiting)
    found: list[Holder] = []
    while waiting and len(found) < count:
        rank, number, name = waiting[0]
        found.append(Holder(rank, name))
        if number == -1:
            heapq.heappop(waiting)
        else:
            heapq.heapreplace(waiting, (rank, number + 1, name))
    return found


class Least:
    """The `count` least kept of memories that come a page at a time.

    Of one holder the lowest retention first: of equal ones outdated, then older ones. Before them
    text from outside, then what waits and weighs less than `weight`; whatever else waits comes
    last.
    """

    def __init__(self, now: datetime, count: int, *, weight: float = 0.0) -> None:
        self._now, self._count, self._weight = now, max(count, 0), weight
        self._held: Counter[Holder] = Counter()
        self._lists: dict[Holder, list[tuple[_Key, Memory]]] = {}

    def add(self, memories: Iterable[tuple[Memory, MemoryStatistics]]) -> None:
        """Look at more of them, each once."""
        met: set[Holder] = set()
        for memory, statistics in memories:
            who = holder(memory)
            met.add(who)
            self._held[who] += 1
            kept = self._lists.setdefault(who, [])
            kept.append((self._key(memory, statistics), memory))
        for who in met:
            self._lists[who].sort(key=lambda one: one[0])
            del self._lists[who][self._count :]

    def chosen(self) -> list[Memory]:
        """In the order in which they give way: the first few are those that fewer would be."""
        left = {who: iter(kept) for who, kept in self._lists.items()}
        return [next(left[who])[1] for who in turns(self._held, self._count)]

    def _key(self, memory: Memory, statistics: MemoryStatistics) -> _Key:
        return (
            self._standing(memory),
            retention(memory, statistics, self._now),
            memory.status != "outdated",
            memory.created_at,
            memory.id,
        )

    def _standing(self, memory: Memory) -> int:
        if memory.status == "quarantined" or doubted(memory):
            return 0
        if memory.status == "pending":
            return 1 if memory.source.weight < self._weight else 3
        return 2


def least_kept(
    memories: Iterable[tuple[Memory, MemoryStatistics]],
    now: datetime,
    count: int,
    *,
    weight: float = 0.0,
) -> list[Memory]:
    """The `count` of these that give way first; see `Least`."""
    found = Least(now, count, weight=weight)
    found.add(memories)
    return found.chosen()
