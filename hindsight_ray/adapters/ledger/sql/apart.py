"""What a memory store apart from this database has still to be told: intents.

An intent is opened in the transaction of the change it belongs to, and closed once the store has
been told. The vector stays here, so an intent needs no copy of it: whoever reads one gets the
object as it is now, or learns that the memory has moved on.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Select, and_, bindparam, delete, func, literal, select, update
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect, telling
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.keys import pinned_space
from hindsight_ray.adapters.ledger.sql.memories import (
    SqlMemories,
    forget_memory,
    put_memory,
    unit_vector,
)
from hindsight_ray.adapters.ledger.sql.objects import labels_of, object_of, stored_object
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.rows import KnownRows
from hindsight_ray.adapters.ledger.sql.schema import (
    audience_keys,
    intents,
    memories,
    memory_vectors,
    micros,
    moment,
    places,
)
from hindsight_ray.adapters.ledger.sql.scopes import KnownScopes
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import AudienceKey, NearAt, RowFilter
from hindsight_ray.ports import Intent, Placed, Vector

Opened = dict[int, Intent | None]  # by number; None where it has to be read

_m, _i = memories.c, intents.c
_NUMBER = Ready(
    select(_m.number, _m.revision).where(
        _m.tenant == bindparam("tenant"), _m.memory_id == bindparam("memory_id")
    )
)
_VECTOR = Ready(
    select(memory_vectors.c.vector)
    .join(memories, _m.number == memory_vectors.c.memory)
    .where(_m.tenant == bindparam("tenant"), _m.memory_id == bindparam("memory_id"))
)
_ADD = Ready(
    intents.insert().returning(_i.number),
    ("tenant", "memory", "revision", "kind", "at", "attempts", "previous"),
)
_FULL = (
    select(
        _i.number.label("intent"), _i.at, _i.attempts, _i.revision.label("then"), _i.kind,
        places.c.place, _m.tenant, _m.number, _m.memory_id, _m.revision, audience_keys.c.key,
        _m.scope, _m.status, _m.type, _m.layer, _m.task_type, _m.created_at, _m.expires_at,
        memory_vectors.c.vector,
    )
    .select_from(intents)
    .join(memories, _m.number == _i.memory)
    .join(places, places.c.tenant == _i.tenant)
    .join(audience_keys, audience_keys.c.number == _m.key)
    .outerjoin(
        memory_vectors,
        and_(memory_vectors.c.memory == _m.number, _m.revision == _i.revision),
    )
    .order_by(_i.number)
)  # fmt: skip
_OPENED = _FULL.where(_i.number.in_(dialect.numbers(bindparam("numbers"))))
_STANDING = Ready(
    select(_i.number, _m.revision)
    .join(memories, _m.number == _i.memory)
    .where(_i.number.in_(dialect.numbers(bindparam("numbers"))))
)
_WAITING = _FULL.where(_i.kind != "aside", _i.at <= bindparam("until")).limit(bindparam("limit"))
_CLAIM = (
    update(intents)
    .where(_i.number == bindparam("intent"), _i.at == bindparam("then"))
    .values(at=bindparam("now"))
)
_COUNT = select(func.count()).select_from(intents).where(_i.kind != "aside")
_CLOSE = delete(intents).where(_i.number.in_(dialect.numbers(bindparam("numbers"))))
_REFUSED = (
    update(intents)
    .where(_i.number == bindparam("intent"))
    .values(attempts=_i.attempts + literal(1), reason=bindparam("why"))
)
_ASIDE = update(intents).where(_i.number == bindparam("intent")).values(kind="aside")
_ASIDE_BEFORE = select(func.count()).where(
    _i.memory == bindparam("memory"), _i.revision == bindparam("revision"), _i.kind == "aside"
)


class MemoriesApart(SqlMemories):
    """`Memories` of a ledger whose memory store is apart: each change opens an intent."""

    def __init__(
        self, work: Work, known: KnownRows, known_scopes: KnownScopes, opened: Opened
    ) -> None:
        super().__init__(work, known)
        self._known_scopes = known_scopes
        self._opened = opened

    async def nearest_known(
        self, row_filter: RowFilter, vectors: Sequence[Vector], *, limit: int
    ) -> NearAt | None:
        if row_filter.empty or self._work.changed_memories:
            return None
        units = [unit_vector(vector) for vector in vectors]
        known = self._known_scopes
        asked = self._work.brief if known.light(row_filter) else self._work.do
        return await asked(known.nearest, row_filter, units, limit)

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
        change, number, intent = await self._work.brief(
            _put, memory, vector=unit, key=key, terms=terms, by=by, why=why
        )
        self._opened[number] = intent
        return change

    async def forget(self, tenant: str, memory_id: str, *, by: str, why: str, at: datetime) -> None:
        self._work.changed_memories = True
        self._opened[await self._work.do(_forget, tenant, memory_id, by=by, why=why, at=at)] = None


class SqlIntents:
    """`IntentLog` over SQL. `opened` holds what this unit's memories have opened."""

    def __init__(self, work: Work, opened: Opened) -> None:
        self._work = work
        self._opened = opened

    async def opened(self) -> Sequence[Intent]:
        if not self._opened:
            return ()
        return await self._work.brief(_opened, self._opened)

    async def waiting(self, *, limit: int, until: datetime) -> Sequence[Intent]:
        return await self._work.do(_read, _WAITING, {"limit": limit, "until": micros(until)})

    async def claim(self, intents: Sequence[Intent], at: datetime) -> Sequence[Intent]:
        return await self._work.do(_claim, intents, at)

    async def count(self) -> int:
        return await self._work.do(_count)

    async def again(self, numbers: Sequence[int]) -> Sequence[Intent]:
        return await self._work.do(_read, _OPENED, {"numbers": json.dumps(list(numbers))})

    async def close(self, numbers: Sequence[int]) -> None:
        await self._work.do(_close, numbers)

    async def refused(self, number: int, why: str) -> int:
        return await self._work.do(_refused, number, why)

    async def set_aside(self, number: int) -> tuple[bool, Vector | None]:
        return await self._work.do(_set_aside, number)

    async def told_to(self) -> str:
        return await self._work.do(telling.told_to)

    async def tell_all(self, store: str) -> int:
        return await self._work.do(telling.tell_all, store)

    async def settled(self, tenant: str) -> Sequence[MemoryRef]:
        return await self._work.do(telling.settled, tenant)

    async def tell(self, tenant: str, ids: Sequence[str]) -> int:
        return await self._work.do(telling.tell, tenant, ids)

    async def place(self, tenant: str) -> str | None:
        return await self._work.brief(telling.place, tenant)

    async def leave_place(self, tenant: str) -> str | None:
        return await self._work.do(telling.leave_place, tenant)


def _put(
    connection: Connection,
    memory: Memory,
    *,
    vector: Vector | None,
    key: AudienceKey,
    terms: Mapping[str, int],
    by: str,
    why: str,
) -> tuple[int, int, Intent | None]:
    """Put the memory and open its intent: (change, number of the intent, the intent if known)."""
    previous = None
    if vector is not None and memory.revision > 1:
        previous = _VECTOR.value(connection, _named(memory.tenant, memory.id))
    change, number = put_memory(
        connection, memory, vector=vector, key=key, terms=terms, by=by, why=why
    )
    row = {"tenant": memory.tenant, "memory": number, "revision": memory.revision}
    opened, place = _open(connection, row, "put", at=memory.updated_at, previous=previous)
    if vector is None:
        return change, opened, None
    then = Placed(place, MemoryRef(id=memory.id, revision=memory.revision))
    put = object_of(memory, then, key, vector)
    intent = Intent(opened, memory.tenant, memory.updated_at, 0, then, put, _before(then))
    return change, opened, intent


def _forget(
    connection: Connection, tenant: str, memory_id: str, *, by: str, why: str, at: datetime
) -> int:
    forget_memory(connection, tenant, memory_id, by=by, why=why, at=at)
    number, revision = _NUMBER.rows(connection, _named(tenant, memory_id))[0]
    row = {"tenant": tenant, "memory": number, "revision": revision}
    return _open(connection, row, "drop", at=at, previous=None)[0]


def _opened(connection: Connection, opened: Opened) -> list[Intent]:
    """What was known as it was opened is not read again, if it stands and nothing came after it."""
    numbers = {"numbers": json.dumps(list(opened))}
    standing = dict(_STANDING.rows(connection, numbers))
    known = [
        intent
        for number, intent in opened.items()
        if intent is not None and standing.get(number) == intent.placed.ref.revision
    ]
    rest = standing.keys() - {intent.number for intent in known}
    if rest:
        known += _read(connection, _OPENED, {"numbers": json.dumps(sorted(rest))})
    return sorted(known, key=lambda intent: intent.number)


def _open(
    connection: Connection,
    row: dict[str, Any],
    kind: str,
    *,
    at: datetime,
    previous: bytes | None,
) -> tuple[int, str]:
    """(number of the intent, place of the tenant)."""
    place = telling.ensure_place(connection, row["tenant"])
    rest = {"kind": kind, "at": micros(at), "attempts": 0, "previous": previous}
    number: int = _ADD.value(connection, row | rest)
    return number, place


def _named(tenant: str, memory_id: str) -> dict[str, str]:
    return {"tenant": tenant, "memory_id": memory_id}


def _read(
    connection: Connection, statement: Select[*tuple[Any, ...]], bound: Mapping[str, Any]
) -> list[Intent]:
    rows = connection.execute(statement, dict(bound)).all()
    if not rows:
        return []
    labels = labels_of(connection, {row.number for row in rows})
    pinned = pinned_space(connection)
    model = None if pinned is None else pinned[0]
    return [_intent(row, labels.get(row.number, ()), model) for row in rows]


def _before(then: Placed) -> tuple[Placed, ...]:
    """Two back: the one before may have been set aside, and this one restores what was before."""
    name, revision = then.ref.id, then.ref.revision
    earlier = (MemoryRef(id=name, revision=r) for r in (revision - 1, revision - 2) if r > 0)
    return tuple(Placed(then.place, ref) for ref in earlier)


def _intent(row: Any, labels: tuple[str, ...], model: str | None) -> Intent:
    then = Placed(row.place, MemoryRef(id=MemoryUuid(row.memory_id), revision=row.then))
    gone, put = _before(then), None
    if row.kind == "drop" or row.vector is None:
        gone = (*gone, then)
    else:
        vector = np.frombuffer(row.vector, dtype=np.float32)
        put = stored_object(row, then, labels, vector=vector, model=model)
    return Intent(row.intent, row.tenant, moment(row.at), row.attempts, then, put, gone)


def _claim(connection: Connection, asked: Sequence[Intent], at: datetime) -> list[Intent]:
    def won(intent: Intent) -> bool:
        named = {"intent": intent.number, "then": micros(intent.at), "now": micros(at)}
        return connection.execute(_CLAIM, named).rowcount == 1

    return [intent for intent in asked if won(intent)]


def _count(connection: Connection) -> int:
    return connection.execute(_COUNT).scalar_one()


def _close(connection: Connection, numbers: Sequence[int]) -> None:
    connection.execute(_CLOSE, {"numbers": json.dumps(list(numbers))})


def _refused(connection: Connection, number: int, why: str) -> int:
    connection.execute(_REFUSED, {"intent": number, "why": why})
    found = connection.execute(select(_i.attempts).where(_i.number == number))
    return found.scalar_one_or_none() or 0


def _set_aside(connection: Connection, number: int) -> tuple[bool, Vector | None]:
    """Set an intent aside: (whether the revision before can be restored, its own vector)."""
    row = connection.execute(select(intents).where(_i.number == number)).one_or_none()
    if row is None or row.kind == "aside":
        return False, None
    before = {"memory": row.memory, "revision": row.revision - 1}
    was_aside = bool(connection.execute(_ASIDE_BEFORE, before).scalar_one())
    connection.execute(_ASIDE, {"intent": number})
    previous = None if row.previous is None else np.frombuffer(row.previous, dtype=np.float32)
    return not was_aside, previous
