"""Which memories are found without words: by topic, by age, by number, by vectors at hand."""

import functools
import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sqlalchemy import Select, bindparam, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect, filters
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.rows import KnownRows
from hindsight_ray.adapters.ledger.sql.schema import intents, memory_vectors
from hindsight_ray.adapters.ledger.sql.schema import memories as table
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import Near, RowFilter
from hindsight_ray.ports import Vector

Which = Literal["all", "named", "untold too"]

_BY_NUMBER = select(table.c.number, table.c.record).where(
    table.c.number.in_(dialect.numbers(bindparam("numbers")))
)


@functools.lru_cache(maxsize=512)
def _on_topic_sql(shape: filters.Shape) -> Select[*tuple[Any, ...]]:
    return (
        select(table.c.record)
        .where(table.c.topic == bindparam("topic"), *filters.conditions(shape))
        .order_by(table.c.created_at.desc(), table.c.memory_id)
    )


def on_topic(connection: Connection, row_filter: RowFilter, topic: str) -> list[Memory]:
    if row_filter.empty:
        return []
    statement = _on_topic_sql(filters.shape_of(row_filter))
    found = connection.execute(statement, filters.parameters(row_filter) | {"topic": topic})
    return [Memory.model_validate_json(record) for record in found.scalars()]


def recent(
    connection: Connection, known: KnownRows, row_filter: RowFilter, limit: int, *, private: bool
) -> list[Memory]:
    if row_filter.empty or limit < 1:
        return []
    newest: list[tuple[int, int]] = []
    for part in known.passing(connection, row_filter, private=private):
        created = part.view.column("created_at")[part.mask]
        numbers = part.view.column("number")[part.mask]
        last = np.lexsort((numbers, created))[-limit:]
        newest += zip(created[last].tolist(), numbers[last].tolist(), strict=True)
    numbers = [number for _, number in sorted(newest, reverse=True)[:limit]]
    found = connection.execute(_BY_NUMBER, {"numbers": json.dumps(numbers)})
    records = dict(dialect.plain_rows(found))
    return [Memory.model_validate_json(records[number]) for number in numbers]


def count(connection: Connection, known: KnownRows, row_filter: RowFilter, *, private: bool) -> int:
    if row_filter.empty:
        return 0
    parts = known.passing(connection, row_filter, private=private)
    return sum(int(np.count_nonzero(part.mask)) for part in parts)


@functools.lru_cache(maxsize=512)
def _vectors_sql(shape: filters.Shape, which: Which) -> Ready:
    columns = (table.c.memory_id, table.c.revision, memory_vectors.c.vector)
    passes = filters.conditions(shape)
    its_vector = memory_vectors.c.memory == table.c.number
    if which == "all":
        return Ready(select(*columns).join(memory_vectors, its_vector).where(*passes))
    of_ids = select(table.c.number).where(
        table.c.tenant == bindparam("tenant"),
        table.c.memory_id.in_(dialect.members(bindparam("ids"))),
    )
    untold = select(intents.c.memory).where(
        intents.c.tenant == bindparam("tenant"), intents.c.kind != "drop"
    )
    # Joined from the few, not a condition on all: no database would begin with these by itself,
    # nor with a plain select, which SQLite takes for such a condition.
    few = (of_ids.distinct() if which == "named" else of_ids.union(untold)).subquery("few")
    return Ready(
        select(*columns)
        .select_from(few)
        .join(table, table.c.number == few.c.number)
        .join(memory_vectors, its_vector)
        .where(*passes)
    )


@functools.lru_cache(maxsize=8_192)  # those that no store has been told of come again and again
def _ref(memory_id: str, revision: int) -> MemoryRef:
    return MemoryRef(id=MemoryUuid(memory_id), revision=revision)


def nearest_of(
    connection: Connection,
    row_filter: RowFilter,
    asked: Vector,
    which: Which,
    ids: Sequence[str] = (),
) -> list[Near]:
    """All rows, or the named ones, or those whose store has not been told too, that pass."""
    if row_filter.empty:
        return []
    statement = _vectors_sql(filters.shape_of(row_filter), which)
    bound = filters.parameters(row_filter)
    if which != "all":
        bound["ids"] = json.dumps(list(ids))
    rows = statement.rows(connection, bound)
    if not rows:
        return []
    matrix = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.float32)
    exact = (matrix.reshape(len(rows), -1).astype(np.float64) * asked).sum(axis=1)
    near = [
        Near(
            ref=_ref(memory_id, revision),
            similarity=min(1.0, max(-1.0, float(similarity))),
        )
        for (memory_id, revision, _), similarity in zip(rows, exact, strict=True)
    ]
    near.sort(key=lambda one: (-one.similarity, one.ref.id))
    return near
