"""The memories' records: which revision counts, what it says, and what it said before."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, cast

import numpy as np
from sqlalchemy import bindparam, delete, func, literal, select, update
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect, keywords, records, routes
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.keys import key_number_of, pin_space, pinned_space
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.rows import KnownRows, change_number
from hindsight_ray.adapters.ledger.sql.schema import (
    FORGOTTEN,
    change_numbers,
    memory_labels,
    memory_revisions,
    memory_sources,
    memory_statistics,
    memory_vectors,
    micros,
    micros_or_none,
    moment,
)
from hindsight_ray.adapters.ledger.sql.schema import memories as table
from hindsight_ray.adapters.ledger.sql.schema_upkeep import vectors_beside
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import Memory, RevisionNote, Status
from hindsight_ray.domain.rows import AudienceKey, KeywordMatches, Near, NearAt, RowFilter, Stated
from hindsight_ray.errors import InvalidInput, InvalidVector, NotFound, RevisionConflict
from hindsight_ray.ports import Vector

_NEXT_CHANGE = Ready(
    dialect.upsert(change_numbers)
    .on_conflict_do_update(
        index_elements=["tenant"], set_={"change": change_numbers.c.change + literal(1)}
    )
    .returning(change_numbers.c.change),
    ("tenant", "change"),
)
_SCOPE_CHANGE = Ready(
    select(func.coalesce(func.max(table.c.change), 0)).where(
        table.c.tenant == bindparam("tenant"), table.c.scope == bindparam("scope")
    )
)
_CHANGED = Ready(
    select(table.c.memory_id)
    .where(
        table.c.tenant == bindparam("tenant"),
        table.c.scope == bindparam("scope"),
        table.c.change > bindparam("change"),
    )
    .order_by(table.c.change)
)
_STATE = Ready(
    select(table.c.number, table.c.revision, table.c.status).where(
        table.c.tenant == bindparam("tenant"), table.c.memory_id == bindparam("memory_id")
    )
)
_INSERT = Ready(
    table.insert().returning(table.c.number),
    tuple(column.name for column in table.c if column.name != "number"),
)
_ADD_REVISION = Ready(memory_revisions.insert(), tuple(memory_revisions.c.keys()))
_ADD_VECTOR = Ready(memory_vectors.insert(), tuple(memory_vectors.c.keys()))
_VECTOR = select(memory_vectors.c.vector).where(memory_vectors.c.memory == bindparam("number"))
_HISTORY = (
    select(memory_revisions)
    .join(table, table.c.number == memory_revisions.c.memory)
    .where(table.c.tenant == bindparam("tenant"), table.c.memory_id == bindparam("memory_id"))
    .order_by(memory_revisions.c.revision)
)
_DERIVED = (
    select(table.c.memory_id)
    .join(memory_sources, memory_sources.c.memory == table.c.number)
    .where(
        table.c.tenant == bindparam("tenant"),
        memory_sources.c.source_id.in_(dialect.members(bindparam("ids"))),
    )
    .distinct()
    .order_by(table.c.memory_id)
)


class SqlMemories:
    """`Memories` over SQL, with vectors in the same file for the embedded store."""

    def __init__(self, work: Work, known: KnownRows) -> None:
        self._work = work
        self._known = known

    async def change_number(self, tenant: str) -> int:
        return await self._work.brief(change_number, tenant)

    async def scope_change(self, tenant: str, scope: str) -> int:
        return await self._work.brief(_scope_change, tenant, scope)

    async def changed_since(self, tenant: str, scope: str, change: int) -> Sequence[str]:
        return await self._work.brief(_changed_since, tenant, scope, change)

    async def current(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Memory]:
        return await self._work.brief(records.current, tenant, ids)

    async def stated(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Stated]:
        return await self._work.brief(records.stated, tenant, ids)

    async def at(self, tenant: str, refs: Sequence[MemoryRef]) -> Mapping[MemoryRef, Memory]:
        return await self._work.do(records.at, tenant, refs)

    async def put(
        self,
        memory: Memory,
        vector: Vector | None,
        *,
        key: AudienceKey,
        terms: Mapping[str, int],
        by: str,
        why: str,
    ) -> int:
        self._work.changed_memories = True
        unit = None if vector is None else unit_vector(vector)
        change, _ = await self._work.brief(
            put_memory, memory, vector=unit, key=key, terms=terms, by=by, why=why
        )
        return change

    async def forget(self, tenant: str, memory_id: str, *, by: str, why: str, at: datetime) -> None:
        self._work.changed_memories = True
        await self._work.do(forget_memory, tenant, memory_id, by=by, why=why, at=at)

    async def history(self, tenant: str, memory_id: str) -> Sequence[RevisionNote]:
        return await self._work.do(_history, tenant, memory_id)

    async def on_topic(self, row_filter: RowFilter, topic: str) -> Sequence[Memory]:
        return await self._work.do(routes.on_topic, row_filter, topic)

    async def recent(self, row_filter: RowFilter, *, limit: int) -> Sequence[Memory]:
        return await self._looking(row_filter)(
            routes.recent, self._known, row_filter, limit, private=self._work.changed_memories
        )

    async def keyword_matches(self, row_filter: RowFilter, terms: Sequence[str]) -> KeywordMatches:
        return await self._looking(row_filter)(
            keywords.matches,
            self._known,
            row_filter,
            terms,
            private=self._work.changed_memories,
        )

    async def derived_from(self, tenant: str, ids: Sequence[str]) -> Sequence[str]:
        return await self._work.do(_derived_from, tenant, ids)

    async def count(self, row_filter: RowFilter) -> int:
        return await self._looking(row_filter)(
            routes.count, self._known, row_filter, private=self._work.changed_memories
        )

    def _looking(self, row_filter: RowFilter) -> Any:
        """How the tenant's columns are looked through: here if they are small, else in a thread."""
        return self._work.brief if self._known.light(row_filter.tenant) else self._work.do

    async def nearest_of(
        self, row_filter: RowFilter, vector: Vector, ids: Sequence[str] | None
    ) -> Sequence[Near]:
        unit = unit_vector(vector)
        if ids is None:
            return await self._work.do(routes.nearest_of, row_filter, unit, "all")
        return await self._work.brief(routes.nearest_of, row_filter, unit, "named", ids)

    async def nearest_or_untold(
        self, row_filter: RowFilter, vector: Vector, ids: Sequence[str]
    ) -> Sequence[Near]:
        unit = unit_vector(vector)
        return await self._work.brief(routes.nearest_of, row_filter, unit, "untold too", ids)

    async def nearest_known(
        self,
        row_filter: RowFilter,  # noqa: ARG002 - the store beside the rows is quick itself
        vectors: Sequence[Vector],  # noqa: ARG002
        *,
        limit: int,  # noqa: ARG002
    ) -> NearAt | None:
        return None


def unit_vector(vector: Vector) -> Vector:
    """The vector at length 1, or `InvalidVector` for what has no direction."""
    if vector.ndim != 1:
        raise InvalidVector(f"`vector` has shape {vector.shape}; one row of numbers is wanted")
    if not np.isfinite(vector).all():
        raise InvalidVector("`vector` holds NaN or infinity")
    wide = vector.astype(np.float64)
    length = float(np.sqrt((wide * wide).sum()))
    if length == 0.0:
        raise InvalidVector("`vector` is zero, so it has no direction")
    return (wide / length).astype(np.float32)


def _next_change(connection: Connection, tenant: str) -> int:
    change: int = _NEXT_CHANGE.value(connection, {"tenant": tenant, "change": 1})
    return change


def _scope_change(connection: Connection, tenant: str, scope: str) -> int:
    change: int = _SCOPE_CHANGE.value(connection, {"tenant": tenant, "scope": scope})
    return change


def _changed_since(connection: Connection, tenant: str, scope: str, change: int) -> list[str]:
    asked = {"tenant": tenant, "scope": scope, "change": change}
    return [name for (name,) in _CHANGED.rows(connection, asked)]


def put_memory(
    connection: Connection,
    memory: Memory,
    *,
    vector: Vector | None,
    key: AudienceKey,
    terms: Mapping[str, int],
    by: str,
    why: str,
) -> tuple[int, int]:
    """Make this revision current; return its change, and the number of the memory."""
    named = {"tenant": memory.tenant, "memory_id": memory.id}
    number, known, status = _STATE.row(connection, named) or (None, 0, None)
    if vector is None:
        vector = _kept_vector(connection, memory, number)
        pinned = pinned_space(connection)  # the model may have changed since the record was made
        if pinned is not None and pinned[0] != memory.embedding_model:
            memory = memory.model_copy(update={"embedding_model": pinned[0]})
    pin_space(connection, memory.embedding_model, len(vector))
    if memory.revision != known + 1 or status == FORGOTTEN:
        raise RevisionConflict(
            f"`memory` {memory.id!r} is at revision {known}; {memory.revision} cannot follow it."
            " Read it again and decide anew",
            id=memory.id,
            current=known,
            offered=memory.revision,
        )
    key_number = key_number_of(connection, memory.tenant, key)
    if key_number is None:
        raise InvalidInput(f"`key` {key!r} is not in the catalogue; `ensure` its audience first")
    change = _next_change(connection, memory.tenant)
    record = memory.model_dump_json()
    columns = named | _columns(memory, record, terms) | {"key": key_number, "change": change}
    if number is None:
        number = cast(int, _INSERT.value(connection, columns))
    else:
        connection.execute(update(table).where(table.c.number == number), columns)
        _drop_routes(connection, number)
    note = {"memory": number, "revision": memory.revision, "at": micros(memory.updated_at)}
    _ADD_REVISION.run(
        connection, note | {"by": by, "why": why, "status": memory.status, "record": record}
    )
    _put_routes(connection, number, memory, vector)
    keywords.put(connection, memory.tenant, number, key_number, terms)
    return change, number


def _kept_vector(connection: Connection, memory: Memory, number: int | None) -> Vector:
    """The vector of the revision before, for a change that leaves the text as it is."""
    found = connection.execute(_VECTOR, {"number": number}).scalar_one_or_none()
    if found is None:
        raise RevisionConflict(
            f"`memory` {memory.id!r} has no vector yet; put its first revision with one",
            id=memory.id,
            current=0,
            offered=memory.revision,
        )
    return np.frombuffer(found, dtype=np.float32)


def task_type_of(memory: Memory) -> str | None:
    scene = memory.scene if memory.type == "experience" else None
    return None if scene is None else scene.task_type


def _columns(memory: Memory, record: str, terms: Mapping[str, int]) -> dict[str, Any]:
    return {
        "revision": memory.revision,
        "scope": memory.scope,
        "status": memory.status,
        "type": memory.type,
        "layer": memory.layer,
        "task_type": task_type_of(memory),
        "topic": memory.topic,
        "created_at": micros(memory.created_at),
        "expires_at": micros_or_none(memory.expires_at),
        "length": sum(terms.values()),
        "record": record,
    }


_DROPS = tuple(
    delete(beside).where(beside.c.memory == bindparam("number"))
    for beside in (memory_vectors, memory_labels, memory_sources, vectors_beside)
)


def _drop_routes(connection: Connection, number: int) -> None:
    for drop in _DROPS:
        connection.execute(drop, {"number": number})
    keywords.drop(connection, number)


def _put_routes(connection: Connection, number: int, memory: Memory, vector: Vector) -> None:
    _ADD_VECTOR.run(connection, {"memory": number, "vector": vector.tobytes()})
    labels = [(number, label) for label in sorted(set(memory.labels))]
    dialect.insert_rows(connection, memory_labels, ("memory", "label"), labels)
    sources = [(number, source) for source in sorted({ref.id for ref in memory.derived_from})]
    dialect.insert_rows(connection, memory_sources, ("memory", "source_id"), sources)


def forget_memory(
    connection: Connection, tenant: str, memory_id: str, *, by: str, why: str, at: datetime
) -> None:
    named = {"tenant": tenant, "memory_id": memory_id}
    number, revision, status = _STATE.row(connection, named) or (0, 0, FORGOTTEN)
    if status == FORGOTTEN:
        raise NotFound(
            f"`memory` {memory_id!r} is not there for this caller", kind="memory", id=memory_id
        )
    change = _next_change(connection, tenant)
    connection.execute(
        update(table).where(table.c.number == number),
        {
            "revision": revision + 1,
            "status": FORGOTTEN,
            "change": change,
            "topic": None,
            "record": None,
            "length": 0,
        },
    )
    note = {"memory": number, "revision": revision + 1, "at": micros(at)}
    _ADD_REVISION.run(
        connection, note | {"by": by, "why": why, "status": FORGOTTEN, "record": None}
    )
    _drop_routes(connection, number)
    connection.execute(
        delete(memory_statistics).where(
            memory_statistics.c.tenant == tenant, memory_statistics.c.memory_id == memory_id
        )
    )


def _history(connection: Connection, tenant: str, memory_id: str) -> list[RevisionNote]:
    found = connection.execute(_HISTORY, {"tenant": tenant, "memory_id": memory_id}).mappings()
    return [
        RevisionNote(
            revision=row["revision"],
            at=moment(row["at"]),
            by=row["by"],
            why=row["why"],
            status=cast(Status | Literal["forgotten"], row["status"]),
            content=_content(row["record"]),
        )
        for row in found
    ]


def _content(record: str | None) -> str | None:
    return None if record is None else json.loads(record)["content"]


def _derived_from(connection: Connection, tenant: str, ids: Sequence[str]) -> list[str]:
    if not ids:
        return []
    asked = {"tenant": tenant, "ids": json.dumps(list(ids))}
    return list(connection.execute(_DERIVED, asked).scalars())
