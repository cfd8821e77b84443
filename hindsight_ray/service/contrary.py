"""Which kept memories cannot hold beside one that a person decides about?

Those that give its topic another value, or the same thing by the form of both statements
(`core/claims.py`), or that deny what it says in the same words; those only that have the same
readers, so that a decision touches nothing that its maker could not see.
"""

from collections import Counter
from datetime import datetime

from hindsight_ray.core.claims import clash
from hindsight_ray.core.conflict import denies, read
from hindsight_ray.core.keywords import query_terms
from hindsight_ray.core.verdict import CLAIMING
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.ports import Unit

_LOOKED_AT_MAX = 50  # of those that share the most words


async def contradicting(unit: Unit, memory: Memory, now: datetime) -> list[Memory]:
    """Other values with the same readers and project, active or waiting."""
    rows = RowFilter(
        tenant=memory.tenant,
        now=now,
        keys=None,
        scopes=frozenset({memory.scope}),
        types=frozenset({memory.type}),
        statuses=frozenset({"active", "pending"}),
    )
    found = await unit.memories.on_topic(rows, memory.topic) if memory.topic is not None else ()
    others = {kept.id: kept for kept in found}
    others |= await _by_words(unit, rows, memory)
    return [kept for kept in others.values() if _may_be_touched(kept, memory)]


async def _by_words(unit: Unit, rows: RowFilter, memory: Memory) -> dict[str, Memory]:
    terms = query_terms(memory.content)
    matches = await unit.memories.keyword_matches(rows, terms)
    shared = Counter[int]()
    for term in terms:
        if term in matches.postings:
            shared.update(matches.postings[term][0].tolist())
    ids = [matches.ids[place] for place, _ in shared.most_common(_LOOKED_AT_MAX)]
    current = await unit.memories.current(memory.tenant, ids)
    return {name: kept for name, kept in current.items() if _excluded(memory, kept)}


def _excluded(memory: Memory, kept: Memory) -> bool:
    """By what both say; where both name a topic, that decides instead."""
    if memory.topic is not None and kept.topic is not None and memory.topic != kept.topic:
        return False
    if memory.steps == kept.steps and denies(read(memory.content), read(kept.content)):
        return True
    claiming = memory.type in CLAIMING and (memory.topic is None or kept.topic is None)
    return claiming and clash(memory.content, kept.content) is not None


def _may_be_touched(kept: Memory, memory: Memory) -> bool:
    return (
        kept.id != memory.id
        and kept.project == memory.project
        and set(kept.audience) == set(memory.audience)
        and set(kept.labels) == set(memory.labels)
        and (kept.whole is None or kept.whole != memory.whole)
    )
