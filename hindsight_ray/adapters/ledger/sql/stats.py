"""What changes often about a memory: accesses, verification, utility. Its record stays."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import bindparam, literal, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.schema import memory_statistics as table
from hindsight_ray.adapters.ledger.sql.schema import micros, moment_or_none
from hindsight_ray.domain.memory import MemoryStatistics

_PUT = dialect.upsert(table)
_KEY = ["tenant", "memory_id"]
_TOUCH = _PUT.on_conflict_do_update(
    index_elements=_KEY,
    set_={
        "accesses": table.c.accesses + literal(1),
        "last_accessed": _PUT.excluded.last_accessed,
    },
)
_VERIFY = _PUT.on_conflict_do_update(
    index_elements=_KEY, set_={"last_verified": _PUT.excluded.last_verified}
)
_RATE = _PUT.on_conflict_do_update(index_elements=_KEY, set_={"utility": _PUT.excluded.utility})
_OF = select(
    table.c.memory_id,
    table.c.accesses,
    table.c.last_accessed,
    table.c.last_verified,
    table.c.utility,
).where(
    table.c.tenant == bindparam("tenant"),
    table.c.memory_id.in_(dialect.members(bindparam("ids"))),
)


_NEVER = MemoryStatistics()


class SqlStats:
    """`MemoryStats` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def touch(self, accesses: Sequence[tuple[str, str, datetime]]) -> None:
        await self._work.do(_touch, accesses)

    async def verify(self, tenant: str, ids: Sequence[str], at: datetime) -> None:
        await self._work.do(_verify, tenant, ids, at)

    async def set_utility(self, tenant: str, memory_id: str, utility: float) -> None:
        await self._work.do(_set_utility, tenant, memory_id, utility)

    async def of(self, tenant: str, ids: Sequence[str]) -> Mapping[str, MemoryStatistics]:
        """Of every id asked for; one that was never touched has zeros."""
        return await self._work.do(_of, tenant, ids)


def _fresh(tenant: str, memory_id: str) -> dict[str, str | int | float | None]:
    return {
        "tenant": tenant,
        "memory_id": memory_id,
        "accesses": 0,
        "last_accessed": None,
        "last_verified": None,
        "utility": 0.0,
    }


def _touch(connection: Connection, accesses: Sequence[tuple[str, str, datetime]]) -> None:
    if accesses:
        rows = [
            _fresh(tenant, name) | {"accesses": 1, "last_accessed": micros(at)}
            for tenant, name, at in accesses
        ]
        connection.execute(_TOUCH, rows)


def _verify(connection: Connection, tenant: str, ids: Sequence[str], at: datetime) -> None:
    if ids:
        stamp = {"last_verified": micros(at)}
        connection.execute(_VERIFY, [_fresh(tenant, name) | stamp for name in ids])


def _set_utility(connection: Connection, tenant: str, memory_id: str, utility: float) -> None:
    connection.execute(_RATE, _fresh(tenant, memory_id) | {"utility": utility})


def _of(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, MemoryStatistics]:
    found = dict.fromkeys(ids, _NEVER)
    if not found:
        return found
    asked = {"tenant": tenant, "ids": json.dumps(list(ids))}
    for name, accesses, accessed, verified, utility in dialect.plain_rows(
        connection.execute(_OF, asked)
    ):
        found[name] = MemoryStatistics(
            accesses=accesses,
            last_accessed=moment_or_none(accessed),
            last_verified=moment_or_none(verified),
            utility=utility,
        )
    return found
