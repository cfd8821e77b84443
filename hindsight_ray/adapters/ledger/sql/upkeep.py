"""Memories by page, where passes have come to, and what people said of samples."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Select, bindparam, func, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect, filters
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.schema import (
    FORGOTTEN,
    facts,
    memory_revisions,
    micros,
    moment,
)
from hindsight_ray.adapters.ledger.sql.schema import memories as table
from hindsight_ray.adapters.ledger.sql.schema_upkeep import sample_verdicts
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.upkeep import SampleVerdict, Verdict

_NAMED = select(table.c.memory_id, table.c.number).where(
    table.c.tenant == bindparam("tenant"),
    table.c.memory_id.in_(dialect.members(bindparam("ids"))),
)
_AWAY = ("archived", FORGOTTEN)
_HELD = (
    select(table.c.scope, func.count())
    .where(table.c.tenant == bindparam("tenant"))
    .group_by(table.c.scope)
)
_SCOPES = _HELD.where(table.c.status.not_in(_AWAY))
_ARCHIVES = _HELD.where(table.c.status == "archived")
_FIRST_SAID = (
    select(func.count())
    .select_from(table.join(memory_revisions, memory_revisions.c.memory == table.c.number))
    .where(
        table.c.tenant == bindparam("tenant"),
        table.c.scope == bindparam("scope"),
        table.c.status != FORGOTTEN,
        memory_revisions.c.revision == 1,
        memory_revisions.c.by == bindparam("by"),
    )
)
_PRESENT = (
    select(table.c.record)
    .where(table.c.tenant == bindparam("tenant"), table.c.status.not_in(_AWAY))
    .where(func.replace(table.c.record, bindparam("mark"), "") != table.c.record)
    .order_by(table.c.number)
)
_CURSOR = select(facts.c.value).where(facts.c.name == bindparam("name"))
_SET = dialect.upsert(facts)
_SET_CURSOR = _SET.on_conflict_do_update(
    index_elements=["name"], set_={"value": _SET.excluded.value}
)
_VERDICTS = (
    select(sample_verdicts)
    .where(sample_verdicts.c.tenant == bindparam("tenant"))
    .order_by(sample_verdicts.c.at, sample_verdicts.c.number)
)


class SqlUpkeep:
    """`UpkeepLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def page(
        self, row_filter: RowFilter, *, after: int, limit: int
    ) -> Sequence[tuple[int, Memory]]:
        return await self._work.do(_page, row_filter, after, limit)

    async def named(self, tenant: str, ids: Sequence[str]) -> Mapping[str, int]:
        return await self._work.do(_named, tenant, ids)

    async def scopes(self, tenant: str, *, archived: bool = False) -> Mapping[str, int]:
        return await self._work.do(_scopes, tenant, archived=archived)

    async def first_said(self, tenant: str, scope: str, by: str) -> int:
        return await self._work.do(_first_said, tenant, scope, by)

    async def made(self, row_filter: RowFilter, by: str) -> int:
        return await self._work.do(_made, row_filter, by)

    async def on_project(self, tenant: str, project: str) -> Sequence[Memory]:
        return await self._work.do(_on_project, tenant, project)

    async def cursor(self, name: str) -> int:
        return await self._work.do(_cursor, name)

    async def set_cursor(self, name: str, value: int) -> None:
        await self._work.do(_set_cursor, name, value)

    async def judge(self, tenant: str, verdict: Verdict) -> None:
        await self._work.do(_judge, tenant, verdict)

    async def verdicts(self, tenant: str) -> Sequence[Verdict]:
        return await self._work.do(_verdicts, tenant)


@functools.lru_cache(maxsize=512)
def _page_sql(shape: filters.Shape) -> Select[*tuple[Any, ...]]:
    return (
        select(table.c.number, table.c.record)
        .where(table.c.number > bindparam("after"), *filters.conditions(shape))
        .order_by(table.c.number)
        .limit(bindparam("rows"))
    )


def _page(
    connection: Connection, row_filter: RowFilter, after: int, limit: int
) -> list[tuple[int, Memory]]:
    if row_filter.empty:
        return []
    bound = filters.parameters(row_filter) | {"after": after, "rows": limit}
    rows = connection.execute(_page_sql(filters.shape_of(row_filter)), bound).all()
    return [(number, Memory.model_validate_json(record)) for number, record in rows]


def _named(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, int]:
    asked = {"tenant": tenant, "ids": json.dumps(list(ids))}
    return dict(dialect.plain_rows(connection.execute(_NAMED, asked)))


def _scopes(connection: Connection, tenant: str, *, archived: bool) -> dict[str, int]:
    asked = _ARCHIVES if archived else _SCOPES
    return dict(dialect.plain_rows(connection.execute(asked, {"tenant": tenant})))


def _first_said(connection: Connection, tenant: str, scope: str, by: str) -> int:
    asked = {"tenant": tenant, "scope": scope, "by": by}
    return connection.execute(_FIRST_SAID, asked).scalar_one()


@functools.lru_cache(maxsize=512)
def _made_sql(shape: filters.Shape) -> Select[*tuple[Any, ...]]:
    said = table.join(memory_revisions, memory_revisions.c.memory == table.c.number)
    return (
        select(func.count())
        .select_from(said)
        .where(
            memory_revisions.c.revision == 1,
            memory_revisions.c.by == bindparam("by"),
            *filters.conditions(shape),
        )
    )


def _made(connection: Connection, row_filter: RowFilter, by: str) -> int:
    if row_filter.empty:
        return 0
    bound = filters.parameters(row_filter) | {"by": by}
    return connection.execute(_made_sql(filters.shape_of(row_filter)), bound).scalar_one()


def _on_project(connection: Connection, tenant: str, project: str) -> list[Memory]:
    """By the record's text, since few memories have a project: what is found is then compared."""
    mark = f'"project":{json.dumps(project, ensure_ascii=False)}'
    found = connection.execute(_PRESENT, {"tenant": tenant, "mark": mark}).scalars()
    read = [Memory.model_validate_json(record) for record in found]
    return [memory for memory in read if memory.project == project]


def _cursor(connection: Connection, name: str) -> int:
    return int(connection.execute(_CURSOR, {"name": name}).scalar_one_or_none() or 0)


def _set_cursor(connection: Connection, name: str, value: int) -> None:
    connection.execute(_SET_CURSOR, {"name": name, "value": str(value)})


def _judge(connection: Connection, tenant: str, verdict: Verdict) -> None:
    connection.execute(
        sample_verdicts.insert(),
        {
            "tenant": tenant,
            "memory_id": verdict.memory_id,
            "revision": verdict.revision,
            "scope": verdict.scope,
            "verdict": verdict.verdict,
            "by": verdict.by,
            "at": micros(verdict.at),
        },
    )


def _verdicts(connection: Connection, tenant: str) -> list[Verdict]:
    rows = connection.execute(_VERDICTS, {"tenant": tenant}).mappings()
    return [
        Verdict(
            memory_id=MemoryUuid(row["memory_id"]),
            revision=row["revision"],
            scope=row["scope"],
            verdict=cast("SampleVerdict", row["verdict"]),
            by=row["by"],
            at=moment(row["at"]),
        )
        for row in rows
    ]
