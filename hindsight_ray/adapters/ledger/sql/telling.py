"""Which store intents are for, where each tenant is in it, and what it is told all over again."""

import json
import secrets
from collections.abc import Sequence

from sqlalchemy import bindparam, delete, func, literal, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import (
    FORGOTTEN,
    facts,
    intents,
    memories,
    memory_vectors,
    places,
)
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid

_STORE = "memory store"  # among the facts
_m, _i = memories.c, intents.c
_PLACE = Ready(select(places.c.place).where(places.c.tenant == bindparam("tenant")))
_NOTHING_OPEN = ~select(literal(1)).where(_i.memory == _m.number, _i.tenant == _m.tenant).exists()
_SETTLED = (
    select(_m.memory_id, _m.revision)
    .join(memory_vectors, memory_vectors.c.memory == _m.number)
    .where(_m.tenant == bindparam("tenant"), _m.status != FORGOTTEN, _NOTHING_OPEN)
)
# As old as can be, so that whoever comes first takes them in hand.
_ANEW = select(_m.tenant, _m.number, _m.revision, literal("put"), literal(0), literal(0)).where(
    _m.status != FORGOTTEN
)
_COLUMNS = ("tenant", "memory", "revision", "kind", "at", "attempts")
_OF_THESE = _ANEW.where(
    _m.tenant == bindparam("tenant"),
    _m.memory_id.in_(dialect.members(bindparam("ids"))),
    _NOTHING_OPEN,
)
_TELL = intents.insert().from_select(_COLUMNS, _OF_THESE).returning(_i.number)


def ensure_place(connection: Connection, tenant: str) -> str:
    while True:
        there = place(connection, tenant)
        if there is not None:
            return there
        fresh = {"tenant": tenant, "place": f"t{secrets.token_hex(16)}"}
        connection.execute(dialect.upsert(places).on_conflict_do_nothing(), fresh)


def place(connection: Connection, tenant: str) -> str | None:
    found: str | None = _PLACE.value(connection, {"tenant": tenant})
    return found


def leave_place(connection: Connection, tenant: str) -> str | None:
    """Forget the tenant's place, so that its next memory gets a fresh one; return what it was."""
    left = place(connection, tenant)
    connection.execute(delete(intents).where(_i.tenant == tenant))
    connection.execute(delete(places).where(places.c.tenant == tenant))
    return left


def told_to(connection: Connection) -> str:
    named = select(facts.c.value).where(facts.c.name == _STORE)
    return connection.execute(named).scalar_one_or_none() or ""


def tell_all(connection: Connection, store: str) -> int:
    connection.execute(delete(facts).where(facts.c.name == _STORE))
    connection.execute(facts.insert(), {"name": _STORE, "value": store})
    connection.execute(delete(intents))
    if not store:
        return 0
    for tenant in connection.execute(select(_m.tenant).distinct()).scalars().all():
        ensure_place(connection, tenant)
    connection.execute(intents.insert().from_select(_COLUMNS, _ANEW))
    return connection.execute(select(func.count()).select_from(intents)).scalar_one()


def settled(connection: Connection, tenant: str) -> list[MemoryRef]:
    found = connection.execute(_SETTLED, {"tenant": tenant})
    return [MemoryRef(id=MemoryUuid(name), revision=revision) for name, revision in found]


def tell(connection: Connection, tenant: str, ids: Sequence[str]) -> int:
    named = {"tenant": tenant, "ids": json.dumps(list(ids))}
    return len(connection.execute(_TELL, named).all())
