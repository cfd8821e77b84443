"""A memory as a store searches it: from its row, or from the memory at hand."""

import json
from collections.abc import Collection
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.memories import task_type_of
from hindsight_ray.adapters.ledger.sql.schema import memory_labels, moment
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import AudienceKey
from hindsight_ray.ports import Placed, StoredObject, Vector

_LABELS = select(memory_labels.c.memory, memory_labels.c.label).where(
    memory_labels.c.memory.in_(dialect.numbers(bindparam("numbers")))
)


def labels_of(connection: Connection, numbers: Collection[int]) -> dict[int, tuple[str, ...]]:
    """Labels by memory, sorted; of those that have any."""
    found: dict[int, list[str]] = {}
    for number, label in connection.execute(_LABELS, {"numbers": json.dumps(sorted(numbers))}):
        found.setdefault(number, []).append(label)
    return {number: tuple(sorted(theirs)) for number, theirs in found.items()}


def stored_object(
    row: Any, placed: Placed, labels: tuple[str, ...], *, vector: Vector, model: str | None
) -> StoredObject:
    """A row of a memory as a store searches it."""
    return StoredObject(
        placed=placed,
        key=row.key,
        scope=row.scope,
        status=row.status,
        type=row.type,
        layer=row.layer,
        task_type=row.task_type,
        labels=labels,
        created_at=moment(row.created_at),
        expires_at=None if row.expires_at is None else moment(row.expires_at),
        vector=vector,
        model=model,
    )


def object_of(memory: Memory, placed: Placed, key: AudienceKey, vector: Vector) -> StoredObject:
    """The same of a memory at hand."""
    return StoredObject(
        placed=placed,
        key=key,
        scope=memory.scope,
        status=memory.status,
        type=memory.type,
        layer=memory.layer,
        task_type=task_type_of(memory),
        labels=tuple(sorted(set(memory.labels))),
        created_at=memory.created_at,
        expires_at=memory.expires_at,
        vector=vector,
        model=memory.embedding_model,
    )
