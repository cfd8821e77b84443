"""Keyword postings: which memories hold which terms, counted over the readable rows alone."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Select, and_, bindparam, delete, func, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect, filters
from hindsight_ray.adapters.ledger.sql.schema import memories, postings, terms
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import KeywordMatches, RowFilter

_TERMS = select(terms.c.term, terms.c.number).where(
    terms.c.tenant == bindparam("tenant"),
    terms.c.term.in_(dialect.members(bindparam("terms"))),
)
_DROP = delete(postings).where(postings.c.memory == bindparam("memory"))


def matches(connection: Connection, row_filter: RowFilter, asked: Sequence[str]) -> KeywordMatches:
    """Postings of the asked terms and the statistics, both over the rows that pass the filter."""
    if row_filter.empty:
        return KeywordMatches(documents=0, total_length=0)
    shape = filters.shape_of(row_filter)
    bound = filters.parameters(row_filter)
    documents, total = connection.execute(_statistics(shape), bound).one()
    numbers = _numbers(connection, row_filter.tenant, asked)
    frequencies: dict[str, dict[MemoryUuid, int]] = {term: {} for term in asked}
    lengths: dict[MemoryUuid, int] = {}
    if numbers and documents:
        by_number = [(number, frequencies[term]) for term, number in numbers.items()]
        counts = dict(by_number)
        bound["numbers"] = json.dumps(sorted(counts))
        for number, memory_id, count, length in connection.execute(_postings(shape), bound):
            counts[number][memory_id] = count
            lengths[memory_id] = length
    return KeywordMatches(
        documents=documents, total_length=total, frequencies=frequencies, lengths=lengths
    )


@functools.lru_cache(maxsize=512)
def _statistics(shape: filters.Shape) -> Select[*tuple[Any, ...]]:
    return select(func.count(), func.coalesce(func.sum(memories.c.length), 0)).where(
        *filters.conditions(shape)
    )


@functools.lru_cache(maxsize=512)
def _postings(shape: filters.Shape) -> Select[*tuple[Any, ...]]:
    asked = postings.c.term.in_(dialect.members(bindparam("numbers")))
    narrowed = (
        and_(asked, postings.c.key.in_(filters.readable_key_numbers()))
        if "keys" in shape
        else asked
    )
    return (
        select(postings.c.term, memories.c.memory_id, postings.c["count"], memories.c.length)
        .join(memories, memories.c.number == postings.c.memory)
        .where(narrowed, *filters.conditions(shape))
    )


def _numbers(connection: Connection, tenant: str, asked: Sequence[str]) -> dict[str, int]:
    if not asked:
        return {}
    found = connection.execute(_TERMS, {"tenant": tenant, "terms": json.dumps(list(asked))})
    return dict(found.tuples().all())


def put(
    connection: Connection, tenant: str, memory: int, key: int, counts: Mapping[str, int]
) -> None:
    """Replace a memory's postings by those of its current revision."""
    drop(connection, memory)
    if not counts:
        return
    names = sorted(counts)
    numbers = _numbers(connection, tenant, names)
    new = [(tenant, term) for term in names if term not in numbers]
    if new:
        dialect.insert_rows(connection, terms, ("tenant", "term"), new)
        numbers = _numbers(connection, tenant, names)
    dialect.insert_rows(
        connection,
        postings,
        ("term", "key", "memory", "count"),
        [(numbers[term], key, memory, counts[term]) for term in names],
    )


def drop(connection: Connection, memory: int) -> None:
    """Take a memory out of the keyword route."""
    connection.execute(_DROP, {"memory": memory})
