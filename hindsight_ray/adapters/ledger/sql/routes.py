"""Which memories are found without words or vectors: by topic, by age, by number."""

import functools
import json
from typing import Any

import numpy as np
from sqlalchemy import Select, bindparam, func, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect, filters
from hindsight_ray.adapters.ledger.sql.rows import KnownRows
from hindsight_ray.adapters.ledger.sql.schema import memories as table
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import RowFilter

_BY_NUMBER = select(table.c.number, table.c.record).where(
    table.c.number.in_(dialect.members(bindparam("numbers")))
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


@functools.lru_cache(maxsize=512)
def _count_sql(shape: filters.Shape) -> Select[*tuple[Any, ...]]:
    return select(func.count()).select_from(table).where(*filters.conditions(shape))


def count(connection: Connection, row_filter: RowFilter) -> int:
    if row_filter.empty:
        return 0
    statement = _count_sql(filters.shape_of(row_filter))
    return connection.execute(statement, filters.parameters(row_filter)).scalar_one()
