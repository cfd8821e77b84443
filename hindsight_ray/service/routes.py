"""What each route of a search returns: over every filter that the question's statuses ask for.

Whoever names statuses that wait for review sees those only where they hold `review`. That is asked
of the rows before any route's limit: a flood of text that waits in somebody else's scope pushes
nothing out of an answer. So such a question has two filters, whose rows are put together here.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hindsight_ray.core.audience import scopes_of
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import Ints, KeywordMatches, Near, RowFilter
from hindsight_ray.ports import Unit, Vector
from hindsight_ray.ports.watching import spent_on
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.seen import ANSWERED
from hindsight_ray.service.world import World

Parts = tuple[RowFilter, ...]  # no row passes two of them


async def parts_of(unit: Unit, admitted: Admitted, rows: RowFilter) -> Parts:
    """The filters that together let through what may be answered, and nothing that is hidden."""
    answered, others = rows.statuses & ANSWERED, rows.statuses - ANSWERED
    if not others:
        return (rows,)
    catalogue = await unit.keys.all(rows.tenant)
    named = {scope for filed in catalogue.values() for scope in scopes_of(filed)}
    if rows.scopes is not None:
        named &= rows.scopes
    reviewed = frozenset(scope for scope in named if admitted.access.may("review", scope))
    if reviewed >= named and answered:
        return (rows,)
    parts = (replace(rows, statuses=answered), replace(rows, statuses=others, scopes=reviewed))
    return tuple(part for part in parts if not part.empty)


async def nearest(
    world: World, unit: Unit, parts: Parts, vector: Vector, limit: int
) -> Sequence[Near]:
    """The nearest rows of all parts."""
    with spent_on("store"):
        found = [
            near
            for part in parts
            for near in await world.store.nearest(unit, part, vector, limit=limit)
        ]
    if len(parts) > 1:
        found.sort(key=lambda one: (-one.similarity, one.ref.id))
    return found[:limit]


async def keyword_matches(unit: Unit, parts: Parts, terms: Sequence[str]) -> KeywordMatches:
    """Postings of the terms over the rows of all parts, with statistics over the same."""
    found = [await unit.memories.keyword_matches(part, terms) for part in parts]
    if len(found) == 1:
        return found[0]
    firsts = [sum(len(one.sizes) for one in found[:place]) for place in range(len(found))]
    return KeywordMatches(
        documents=sum(one.documents for one in found),
        total_length=sum(one.total_length for one in found),
        ids=[name for one in found for name in one.ids[: len(one.sizes)]],
        sizes=np.concatenate([one.sizes for one in found]),
        postings={term: _postings(found, firsts, term) for term in terms},
    )


def _postings(
    found: Sequence[KeywordMatches], firsts: Sequence[int], term: str
) -> tuple[Ints, Ints]:
    parts = [
        (one.postings[term][0] + first, one.postings[term][1])
        for one, first in zip(found, firsts, strict=True)
        if term in one.postings
    ]
    nothing = np.zeros(0, dtype=np.int64)
    return (
        np.concatenate([nothing, *(rows for rows, _ in parts)]),
        np.concatenate([nothing, *(counts for _, counts in parts)]),
    )


async def recent(unit: Unit, parts: Parts, limit: int) -> Sequence[Memory]:
    """The newest rows of all parts."""
    found = [row for part in parts for row in await unit.memories.recent(part, limit=limit)]
    if len(parts) > 1:
        found.sort(key=lambda memory: memory.created_at, reverse=True)
    return found[:limit]
