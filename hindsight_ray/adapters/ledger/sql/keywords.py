"""Keyword postings: which memories hold which terms, counted over the readable rows alone."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from sqlalchemy import bindparam, delete, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect, filters
from hindsight_ray.adapters.ledger.sql.rows import KnownRows
from hindsight_ray.adapters.ledger.sql.schema import postings, terms
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import KeywordMatches, RowFilter

_KEYS_SOUGHT_MAX = 64  # more keys than this cost more to look up than all postings of a term

_POSTINGS = select(postings.c.term, postings.c.memory, postings.c["count"]).where(
    postings.c.term.in_(dialect.numbers(bindparam("numbers")))
)
_POSTINGS_OF_KEYS = _POSTINGS.where(postings.c.key.in_(filters.readable_key_numbers()))
_TERMS = select(terms.c.term, terms.c.number).where(
    terms.c.tenant == bindparam("tenant"),
    terms.c.term.in_(dialect.members(bindparam("terms"))),
)
_DROP = delete(postings).where(postings.c.memory == bindparam("memory"))


def matches(
    connection: Connection,
    known: KnownRows,
    row_filter: RowFilter,
    asked: Sequence[str],
    *,
    private: bool,
) -> KeywordMatches:
    """Postings of the asked terms and the statistics, both over the rows that pass the filter."""
    if row_filter.empty:
        return KeywordMatches(documents=0, total_length=0)
    parts = known.passing(connection, row_filter, private=private)
    frequencies: dict[str, dict[MemoryUuid, int]] = {term: {} for term in asked}
    lengths: dict[MemoryUuid, int] = {}
    numbers = _numbers(connection, row_filter.tenant, asked)
    by_number = {number: frequencies[term] for term, number in numbers.items()}
    rows = _found(connection, row_filter, sorted(by_number)) if by_number else ()
    for part in parts:
        view, passes = part.view, part.mask.tobytes()
        ids = cast(Sequence[MemoryUuid], view.ids)
        places, room = view.places, len(passes)
        matched: set[int] = set()
        for term, number, count in rows:
            place = places.get(number, -1)
            if place >= room:
                place = view.place(number)
            if place >= 0 and passes[place]:
                by_number[term][ids[place]] = count
                matched.add(place)
        at = list(matched)
        found = view.column("length")[at].tolist()
        lengths.update(zip([ids[place] for place in at], found, strict=True))
    return KeywordMatches(
        documents=sum(int(np.count_nonzero(part.mask)) for part in parts),
        total_length=sum(int(part.view.column("length")[part.mask].sum()) for part in parts),
        frequencies=frequencies,
        lengths=lengths,
    )


def _found(
    connection: Connection, row_filter: RowFilter, numbers: Sequence[int]
) -> Sequence[tuple[int, int, int]]:
    """(term, memory, count) of the terms; foreign rows among them are for the mask to drop."""
    bound = {"tenant": row_filter.tenant, "numbers": json.dumps(numbers)}
    if row_filter.keys is None or len(row_filter.keys) > _KEYS_SOUGHT_MAX:
        found = connection.execute(_POSTINGS, bound)
    else:
        keys = json.dumps(sorted(row_filter.keys))
        found = connection.execute(_POSTINGS_OF_KEYS, bound | {"keys": keys})
    return cast(list[tuple[int, int, int]], dialect.plain_rows(found))


def _numbers(connection: Connection, tenant: str, asked: Sequence[str]) -> dict[str, int]:
    if not asked:
        return {}
    found = connection.execute(_TERMS, {"tenant": tenant, "terms": json.dumps(list(asked))})
    return {row.term: row.number for row in found.all()}


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
