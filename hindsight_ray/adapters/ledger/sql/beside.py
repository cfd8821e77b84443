"""Vectors of another model than the one in use, and the moment at which they take its place."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import bindparam, delete, func, literal, select, update
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.keys import move_space, pinned_space
from hindsight_ray.adapters.ledger.sql.memories import unit_vector
from hindsight_ray.adapters.ledger.sql.schema import memories, memory_vectors
from hindsight_ray.adapters.ledger.sql.schema_upkeep import vectors_beside as table
from hindsight_ray.errors import SpaceMismatch
from hindsight_ray.ports import Text, Vector

_m = memories.c
_OF_MODEL = table.c.model == bindparam("model")
_BARE = (
    select(_m.number, _m.revision, _m.record)
    .join(memory_vectors, memory_vectors.c.memory == _m.number)
    .outerjoin(table, (table.c.memory == _m.number) & _OF_MODEL)
    .where(table.c.memory.is_(None), _m.record.is_not(None))
)
_LACKING = _BARE.order_by(_m.number).limit(bindparam("rows"))
_TEXTS = (
    select(_m.number, _m.revision, _m.record)
    .where(_m.number.in_(dialect.numbers(bindparam("numbers"))), _m.record.is_not(None))
    .order_by(_m.number)
)
_REVISIONS = select(_m.number, _m.revision).where(
    _m.number.in_(dialect.numbers(bindparam("numbers")))
)
_PUT = dialect.upsert(table)
_REPLACE = _PUT.on_conflict_do_update(
    index_elements=["model", "memory"], set_={"vector": _PUT.excluded.vector}
)
_COUNT = select(func.count()).select_from(table).where(_OF_MODEL)
_IN_USE = select(func.count()).select_from(memory_vectors)
_TENANT_OF = select(_m.tenant).where(_m.number == bindparam("number"))


class SqlBeside:
    """`VectorsBeside` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def lacking(self, model: str, *, limit: int) -> Sequence[Text]:
        return await self._work.do(_lacking, model, limit)

    async def put(self, model: str, texts: Sequence[Text], vectors: Vector) -> int:
        return await self._work.do(_put, model, texts, vectors)

    async def counts(self, model: str) -> tuple[int, int]:
        return await self._work.do(_counts, model)

    async def numbers(self) -> Sequence[int]:
        return await self._work.do(_numbers)

    async def of(self, model: str | None, numbers: Sequence[int]) -> Mapping[int, Vector]:
        return await self._work.do(_of, model, numbers)

    async def texts(self, numbers: Sequence[int]) -> Sequence[Text]:
        return await self._work.do(_texts, numbers)

    async def nearest(
        self, model: str | None, number: int, vector: Vector, *, limit: int
    ) -> Sequence[int]:
        return await self._work.do(_nearest, model, number, vector, limit)

    async def switch(self, model: str, dimension: int) -> None:
        self._work.changed_memories = True
        await self._work.do(_switch, model, dimension)

    async def drop(self, model: str) -> None:
        await self._work.do(_drop, model)

    async def models(self) -> Sequence[str]:
        return await self._work.do(_models)


def _text(number: int, revision: int, record: str) -> Text:
    return Text(number, revision, json.loads(record)["content"])


def _lacking(connection: Connection, model: str, limit: int) -> list[Text]:
    rows = connection.execute(_LACKING, {"model": model, "rows": limit}).all()
    return [_text(*row) for row in rows]


def _texts(connection: Connection, numbers: Sequence[int]) -> list[Text]:
    rows = connection.execute(_TEXTS, {"numbers": json.dumps(list(numbers))}).all()
    return [_text(*row) for row in rows]


def _put(connection: Connection, model: str, texts: Sequence[Text], vectors: Vector) -> int:
    pinned = pinned_space(connection)
    if pinned is not None and pinned[0] == model:  # switched to meanwhile
        return 0
    asked = {"numbers": json.dumps([text.number for text in texts])}
    now = dict(dialect.plain_rows(connection.execute(_REVISIONS, asked)))
    rows = [
        {"model": model, "memory": text.number, "vector": unit_vector(vector).tobytes()}
        for text, vector in zip(texts, vectors, strict=True)
        if now.get(text.number) == text.revision
    ]
    if rows:
        connection.execute(_REPLACE, rows)
    return len(rows)


def _counts(connection: Connection, model: str) -> tuple[int, int]:
    beside = connection.execute(_COUNT, {"model": model}).scalar_one()
    return beside, connection.execute(_IN_USE).scalar_one()


def _numbers(connection: Connection) -> list[int]:
    found = select(memory_vectors.c.memory).order_by(memory_vectors.c.memory)
    return list(connection.execute(found).scalars())


def _of(connection: Connection, model: str | None, numbers: Sequence[int]) -> dict[int, Vector]:
    source = memory_vectors if model is None else table
    found = select(source.c.memory, source.c.vector).where(
        source.c.memory.in_(dialect.numbers(bindparam("numbers")))
    )
    asked: dict[str, str] = {"numbers": json.dumps(list(numbers))}
    if model is not None:
        found, asked = found.where(_OF_MODEL), asked | {"model": model}
    return {
        number: np.frombuffer(vector, dtype=np.float32)
        for number, vector in connection.execute(found, asked)
    }


def _nearest(
    connection: Connection, model: str | None, number: int, vector: Vector, limit: int
) -> list[int]:
    tenant = connection.execute(_TENANT_OF, {"number": number}).scalar_one()
    source = memory_vectors if model is None else table
    found = (
        select(source.c.memory, source.c.vector)
        .join(memories, _m.number == source.c.memory)
        .where(_m.tenant == bindparam("tenant"), _m.number != bindparam("number"))
        .order_by(source.c.memory)
    )
    asked: dict[str, str | int] = {"tenant": tenant, "number": number}
    if model is not None:
        found, asked = found.where(_OF_MODEL), asked | {"model": model}
    rows = dialect.plain_rows(connection.execute(found, asked))
    if not rows:
        return []
    matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype=np.float32)
    similar = matrix.reshape(len(rows), -1) @ vector
    order = np.argsort(-similar, kind="stable")[:limit]
    return [rows[int(place)][0] for place in order]


def _switch(connection: Connection, model: str, dimension: int) -> None:
    before = pinned_space(connection)
    lacking = connection.execute(_LACKING, {"model": model, "rows": 1}).first()
    if lacking is not None:
        raise SpaceMismatch(
            f"`model` {model!r} has no vector of every memory yet; build the rest first",
            model=model,
        )
    in_use = select(literal(before[0] if before else ""), memory_vectors.c.memory)
    in_use = in_use.add_columns(memory_vectors.c.vector)
    if before is not None:
        connection.execute(delete(table).where(table.c.model == before[0]))
        connection.execute(table.insert().from_select(["model", "memory", "vector"], in_use))
    connection.execute(delete(memory_vectors))
    chosen = select(table.c.memory, table.c.vector).where(table.c.model == model)
    connection.execute(memory_vectors.insert().from_select(["memory", "vector"], chosen))
    connection.execute(delete(table).where(table.c.model == model))
    if before is not None:
        # Quotes within a statement are escaped, so this is nowhere but in the record's own field.
        said, says = (
            f'"embedding_model":{json.dumps(name, ensure_ascii=False)}'
            for name in (before[0], model)
        )
        record = func.replace(_m.record, said, says)
        connection.execute(update(memories).where(_m.record.is_not(None)).values(record=record))
    move_space(connection, model, dimension)


def _drop(connection: Connection, model: str) -> None:
    connection.execute(delete(table).where(table.c.model == model))


def _models(connection: Connection) -> list[str]:
    return list(connection.execute(select(table.c.model).distinct()).scalars())
