"""What a memory store apart holds in other spaces than the one in use: built, or left there."""

import json
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import bindparam, delete, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.memories import unit_vector
from hindsight_ray.adapters.ledger.sql.objects import labels_of, stored_object
from hindsight_ray.adapters.ledger.sql.schema import (
    audience_keys,
    facts,
    intents,
    memories,
    memory_vectors,
    places,
)
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.ports import Placed, StoredObject, Text, Vector

_SPACES = "memory store's other spaces"  # among the facts
_m = memories.c
_OBJECTS = (
    select(
        places.c.place, _m.number, _m.memory_id, _m.revision, audience_keys.c.key, _m.scope,
        _m.status, _m.type, _m.layer, _m.task_type, _m.created_at, _m.expires_at,
    )
    .join(places, places.c.tenant == _m.tenant)
    .join(audience_keys, audience_keys.c.number == _m.key)
    .where(_m.number.in_(dialect.numbers(bindparam("numbers"))))
)  # fmt: skip
_CURRENT = (
    select(_m.number, places.c.place, _m.tenant, _m.memory_id, _m.revision)
    .join(memory_vectors, memory_vectors.c.memory == _m.number)
    .join(places, places.c.tenant == _m.tenant)
    .order_by(_m.number)
)


class SqlElsewhere:
    """`SpacesApart` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def spaces(self) -> Mapping[str, tuple[int, bool]]:
        return await self._work.do(_spaces)

    async def keep(self, model: str, dimension: int, *, left: bool) -> None:
        await self._work.do(_keep, model, (dimension, left))

    async def drop(self, model: str) -> None:
        await self._work.do(_keep, model, None)

    async def places(self) -> Mapping[str, str]:
        return await self._work.do(_places)

    async def objects(
        self, model: str, texts: Sequence[Text], vectors: Vector
    ) -> Sequence[StoredObject]:
        return await self._work.do(_objects, model, texts, vectors)

    async def placed(self) -> Mapping[int, Placed]:
        return await self._work.do(_placed)

    async def tell_others(self, told: Collection[MemoryRef]) -> int:
        return await self._work.do(_tell_others, frozenset((ref.id, ref.revision) for ref in told))


def _spaces(connection: Connection) -> dict[str, tuple[int, bool]]:
    named = select(facts.c.value).where(facts.c.name == _SPACES)
    kept = connection.execute(named).scalar_one_or_none()
    return {model: (dimension, left) for model, dimension, left in json.loads(kept or "[]")}


def _keep(connection: Connection, model: str, state: tuple[int, bool] | None) -> None:
    known = _spaces(connection)
    known.pop(model, None)
    if state is not None:
        known[model] = state
    connection.execute(delete(facts).where(facts.c.name == _SPACES))
    if known:
        value = json.dumps([[name, *rest] for name, rest in known.items()])
        connection.execute(facts.insert(), {"name": _SPACES, "value": value})


def _places(connection: Connection) -> dict[str, str]:
    found = connection.execute(select(places.c.tenant, places.c.place))
    return dict(dialect.plain_rows(found))


def _objects(
    connection: Connection, model: str, texts: Sequence[Text], vectors: Vector
) -> list[StoredObject]:
    asked = {text.number: place for place, text in enumerate(texts)}
    rows = connection.execute(_OBJECTS, {"numbers": json.dumps(list(asked))}).all()
    labels = labels_of(connection, asked)
    return [
        stored_object(
            row,
            _at(row.place, row.memory_id, row.revision),
            labels.get(row.number, ()),
            vector=unit_vector(vectors[asked[row.number]]),
            model=model,
        )
        for row in rows
        if row.revision == texts[asked[row.number]].revision
    ]


def _at(place: str, memory_id: str, revision: int) -> Placed:
    return Placed(place, MemoryRef(id=MemoryUuid(memory_id), revision=revision))


def _placed(connection: Connection) -> dict[int, Placed]:
    rows = connection.execute(_CURRENT)
    return {row.number: _at(row.place, row.memory_id, row.revision) for row in rows}


def _tell_others(connection: Connection, told: frozenset[tuple[str, int]]) -> int:
    connection.execute(delete(intents))
    rows = [
        # As old as can be, so that whoever comes first takes them in hand.
        {"kind": "put", "at": 0, "attempts": 0, "tenant": row.tenant, "memory": row.number}
        | {"revision": row.revision}
        for row in connection.execute(_CURRENT)
        if (row.memory_id, row.revision) not in told
    ]
    if rows:
        connection.execute(intents.insert(), rows)
    return len(rows)
