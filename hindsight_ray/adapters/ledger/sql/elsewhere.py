"""What a memory store apart holds in other spaces than the one in use: built, or left there."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

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
    micros,
    micros_or_none,
    moment,
    moment_or_none,
    places,
)
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.ports import Apart, InHand, Placed, StoredObject, Text, Vector

_SPACES = "memory store's other spaces"  # each a list of rows, among the facts
_IN_HAND = "memory store's slices in hand"
_LEFT = "memory store's left places"
NOTED = (_SPACES, _IN_HAND, _LEFT)  # facts that hold for this ledger's places alone
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


_OF_PLACES = (
    select(places.c.place, _m.memory_id, _m.revision)
    .join(places, places.c.tenant == _m.tenant)
    .join(memory_vectors, memory_vectors.c.memory == _m.number)
    .where(
        places.c.place.in_(dialect.members(bindparam("places"))),
        _m.memory_id.in_(dialect.members(bindparam("ids"))),
    )
)


Row = list[Any]


class SqlElsewhere:
    """`SpacesApart` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def spaces(self) -> Mapping[str, Apart]:
        return await self._work.do(_spaces)

    async def keep(self, model: str, space: Apart) -> None:
        row = [model, space.dimension, micros_or_none(space.left)]
        await self._work.do(_keep, _SPACES, model, row)

    async def drop(self, model: str) -> None:
        await self._work.do(_keep, _SPACES, model, None)

    async def take(self, slice_: InHand) -> None:
        objects = [[one.place, one.ref.id, one.ref.revision] for one in slice_.placed]
        row = [slice_.token, slice_.model, slice_.dimension, micros(slice_.at), objects]
        await self._work.do(_keep, _IN_HAND, slice_.token, row)

    async def in_hand(self) -> Sequence[InHand]:
        return await self._work.do(_in_hand)

    async def let_go(self, token: str) -> None:
        await self._work.do(_keep, _IN_HAND, token, None)

    async def keep_place(self, place: str, at: datetime) -> None:
        await self._work.do(_keep, _LEFT, place, [place, micros(at)])

    async def left_places(self) -> Mapping[str, datetime]:
        return await self._work.do(_left_places)

    async def drop_place(self, place: str) -> None:
        await self._work.do(_keep, _LEFT, place, None)

    async def counted(self, placed: Sequence[Placed]) -> frozenset[Placed]:
        return await self._work.do(_counted, placed)

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


def _rows(connection: Connection, name: str) -> list[Row]:
    kept = connection.execute(select(facts.c.value).where(facts.c.name == name))
    return list(json.loads(kept.scalar_one_or_none() or "[]"))


def _keep(connection: Connection, name: str, key: str, row: Row | None) -> None:
    """Put this row in the place of the one that begins with the key, or of none."""
    rows = [one for one in _rows(connection, name) if one[0] != key]
    if row is not None:
        rows.append(row)
    connection.execute(delete(facts).where(facts.c.name == name))
    if rows:
        connection.execute(facts.insert(), {"name": name, "value": json.dumps(rows)})


def _spaces(connection: Connection) -> dict[str, Apart]:
    rows = _rows(connection, _SPACES)
    return {model: Apart(dimension, moment_or_none(left)) for model, dimension, left in rows}


def _in_hand(connection: Connection) -> list[InHand]:
    return [
        InHand(token, model, dimension, moment(at), tuple(_at(*one) for one in objects))
        for token, model, dimension, at, objects in _rows(connection, _IN_HAND)
    ]


def _left_places(connection: Connection) -> dict[str, datetime]:
    return {place: moment(at) for place, at in _rows(connection, _LEFT)}


def _counted(connection: Connection, placed: Sequence[Placed]) -> frozenset[Placed]:
    asked = {
        "places": json.dumps(sorted({one.place for one in placed})),
        "ids": json.dumps(sorted({one.ref.id for one in placed})),
    }
    rows = connection.execute(_OF_PLACES, asked)
    return frozenset(_at(*row) for row in rows) & frozenset(placed)


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
