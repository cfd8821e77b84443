"""What the records of memories say: which are current, how they were, each parsed at most once."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from json import decoder
from typing import cast

from sqlalchemy import bindparam, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import memories as table
from hindsight_ray.adapters.ledger.sql.schema import memory_revisions
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.rows import Stated

_CURRENT = Ready(
    select(table.c.memory_id, table.c.status, table.c.record).where(
        table.c.tenant == bindparam("tenant"),
        table.c.memory_id.in_(dialect.members(bindparam("ids"))),
        table.c.record.is_not(None),
    )
)
_AT = (
    select(memory_revisions.c.record)
    .join(table, table.c.number == memory_revisions.c.memory)
    .where(
        table.c.tenant == bindparam("tenant"),
        table.c.memory_id.in_(dialect.members(bindparam("ids"))),
        memory_revisions.c.revision.in_(dialect.numbers(bindparam("revisions"))),
        memory_revisions.c.record.is_not(None),
    )
)
_string_at = cast("Callable[[str, int], tuple[str, int]]", vars(decoder)["scanstring"])
# Within a text of JSON a mark stands before each quote, so these are found nowhere else.
_CONTENT, _UNLABELLED = '"content":"', '"labels":[]'


# Records are immutable, and searches read the same ones over and over: one is parsed once. What is
# there to be read is still the ledger's to say, each time.
@lru_cache(maxsize=4_096)
def _memory(record: str) -> Memory:
    return Memory.model_validate_json(record)


def _content(record: str) -> str:
    """The statement alone: an eighth of the cost of the whole record."""
    return _string_at(record, record.index(_CONTENT) + len(_CONTENT))[0]


def current(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, Memory]:
    return {name: _memory(record) for name, _, record in _records(connection, tenant, ids)}


def stated(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, Stated]:
    return {
        name: Stated(_content(record), status, _UNLABELLED not in record, partial(_memory, record))
        for name, status, record in _records(connection, tenant, ids)
    }


def _records(
    connection: Connection, tenant: str, ids: Sequence[str]
) -> list[tuple[str, Status, str]]:
    if not ids:
        return []
    found = _CURRENT.rows(connection, {"tenant": tenant, "ids": json.dumps(list(ids))})
    return cast("list[tuple[str, Status, str]]", found)


def at(connection: Connection, tenant: str, refs: Sequence[MemoryRef]) -> dict[MemoryRef, Memory]:
    if not refs:
        return {}
    asked = {
        "tenant": tenant,
        "ids": json.dumps(sorted({ref.id for ref in refs})),
        "revisions": json.dumps(sorted({ref.revision for ref in refs})),
    }
    found = [_memory(r) for r in connection.execute(_AT, asked).scalars()]
    by_ref = {MemoryRef(id=memory.id, revision=memory.revision): memory for memory in found}
    return {ref: by_ref[ref] for ref in refs if ref in by_ref}
