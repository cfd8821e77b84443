"""Keyword postings: which memories hold which terms, counted over the readable rows alone."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from sqlalchemy import bindparam, delete, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect, filters
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.rows import KnownRows, Passing
from hindsight_ray.adapters.ledger.sql.schema import postings, terms
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import Ints, KeywordMatches, RowFilter

_NOTHING: tuple[Ints, Ints] = (np.empty(0, np.int64), np.empty(0, np.int64))
_KEYS_SOUGHT_MAX = 64  # more keys than this cost more to look up than all postings of a term

# One row for each term, its memories and counts as two lists in one order: made by the database
# without this process's lock, and read at a tenth of the cost of as many rows.
_ALL_POSTINGS = (
    select(
        postings.c.term,
        dialect.Listed(postings.c.memory),
        dialect.Listed(postings.c["count"]),
    )
    .where(postings.c.term.in_(dialect.numbers(bindparam("numbers"))))
    .group_by(postings.c.term)
)
_POSTINGS = Ready(_ALL_POSTINGS)
_POSTINGS_OF_KEYS = Ready(_ALL_POSTINGS.where(postings.c.key.in_(filters.readable_key_numbers())))
_TERMS = Ready(
    select(terms.c.term, terms.c.number).where(
        terms.c.tenant == bindparam("tenant"),
        terms.c.term.in_(dialect.members(bindparam("terms"))),
    )
)
_DROP = Ready(delete(postings).where(postings.c.memory == bindparam("memory")))


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
    numbers = _numbers(connection, row_filter.tenant, asked)
    found = _found(connection, row_filter, sorted(numbers.values())) if numbers else {}
    merged: dict[str, list[tuple[Ints, Ints]]] = {term: [] for term in asked}
    first = 0
    for part in parts:
        places = _Places(part, first)
        for term, number in numbers.items():
            merged[term].append(places.of(*found.get(number, _NOTHING)))
        first += len(part.mask)
    return KeywordMatches(
        documents=sum(int(np.count_nonzero(part.mask)) for part in parts),
        total_length=sum(int(part.view.column("length")[part.mask].sum()) for part in parts),
        ids=_ids(parts),
        sizes=np.concatenate([part.view.column("length") for part in parts]),
        postings={term: _joined(arrays) for term, arrays in merged.items()},
    )


class _Places:
    """Which of one part's rows pass, by the number of their memory. Rows count from `first`."""

    def __init__(self, part: Passing, first: int) -> None:
        rows = np.flatnonzero(part.mask)
        numbers = part.view.column("number")[rows]
        order = np.argsort(numbers, kind="stable")
        self._numbers, self._rows = numbers[order], rows[order] + first

    def of(self, memories: Ints, counts: Ints) -> tuple[Ints, Ints]:
        """(row, count) of the postings whose memory passes."""
        if not len(self._numbers):
            return _NOTHING
        at = np.searchsorted(self._numbers, memories)
        at[at == len(self._numbers)] = 0
        mine = self._numbers[at] == memories
        return self._rows[at[mine]], counts[mine]


def _ids(parts: Sequence[Passing]) -> Sequence[MemoryUuid]:
    """The id of each row. The list of a part may be longer than its rows: it grows in place."""
    lists = [cast(Sequence[MemoryUuid], part.view.ids) for part in parts]
    if len(lists) == 1:
        return lists[0]
    return [name for part, ids in zip(parts, lists, strict=True) for name in ids[: len(part.mask)]]


def _joined(arrays: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if len(arrays) == 1:
        return arrays[0]
    return (
        np.concatenate([_NOTHING[0], *(rows for rows, _ in arrays)]),
        np.concatenate([_NOTHING[1], *(counts for _, counts in arrays)]),
    )


def _found(
    connection: Connection, row_filter: RowFilter, numbers: Sequence[int]
) -> dict[int, tuple[Ints, Ints]]:
    """(memories, counts) of the terms; foreign rows among them are for the mask to drop."""
    bound = {"tenant": row_filter.tenant, "numbers": json.dumps(numbers)}
    if row_filter.keys is None or len(row_filter.keys) > _KEYS_SOUGHT_MAX:
        found = _POSTINGS.rows(connection, bound)
    else:
        keys = json.dumps(sorted(row_filter.keys))
        found = _POSTINGS_OF_KEYS.rows(connection, bound | {"keys": keys})
    return {number: (_listed(memories), _listed(counts)) for number, memories, counts in found}


def _listed(numbers: str) -> Ints:
    return np.fromstring(numbers, dtype=np.int64, sep=",")


def _numbers(connection: Connection, tenant: str, asked: Sequence[str]) -> dict[str, int]:
    if not asked:
        return {}
    return dict(_TERMS.rows(connection, {"tenant": tenant, "terms": json.dumps(list(asked))}))


def put(
    connection: Connection, tenant: str, memory: int, key: int, counts: Mapping[str, int]
) -> None:
    """Add a memory's postings: those of the revision before have been dropped."""
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
    _DROP.run(connection, {"memory": memory})
