"""What was asked and what came of it: receipts of commands, the recall log."""

import json
from collections.abc import Iterable, Sequence

from sqlalchemy import bindparam, select
from sqlalchemy.engine import Connection, RowMapping

from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.erasing import LAST
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import (
    commands,
    facts,
    micros,
    moment,
    recalls,
    runs,
)
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import RecallEntry

_RECEIPT = Ready(
    select(commands.c.digest, commands.c.receipt).where(
        commands.c.tenant == bindparam("tenant"),
        commands.c.principal == bindparam("principal"),
        commands.c.command_id == bindparam("command_id"),
    )
)
_PUT_RECEIPT = Ready(commands.insert(), ("tenant", "principal", "command_id", "digest", "receipt"))


class SqlCommands:
    """`CommandLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def get(self, tenant: str, principal: str, command_id: str) -> tuple[str, str] | None:
        return await self._work.brief(_receipt, tenant, principal, command_id)

    async def put(
        self, tenant: str, principal: str, command_id: str, digest: str, receipt: str
    ) -> None:
        await self._work.brief(
            _put_receipt, tenant, principal, command_id, digest=digest, receipt=receipt
        )


def _receipt(
    connection: Connection, tenant: str, principal: str, command_id: str
) -> tuple[str, str] | None:
    asked = {"tenant": tenant, "principal": principal, "command_id": command_id}
    found = _RECEIPT.row(connection, asked)
    return None if found is None else (found[0], found[1])


def _put_receipt(
    connection: Connection,
    tenant: str,
    principal: str,
    command_id: str,
    *,
    digest: str,
    receipt: str,
) -> None:
    _PUT_RECEIPT.run(
        connection,
        {
            "tenant": tenant,
            "principal": principal,
            "command_id": command_id,
            "digest": digest,
            "receipt": receipt,
        },
    )


class SqlRecalls:
    """`RecallLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def append(self, entries: Sequence[RecallEntry]) -> None:
        await self._work.do(_append_recalls, entries)

    async def newest(self, tenant: str, *, limit: int) -> Sequence[RecallEntry]:
        return await self._work.do(_newest_recalls, tenant, limit)


def _append_recalls(connection: Connection, entries: Sequence[RecallEntry]) -> None:
    """Note these searches, but for what was erased while they waited: a user, or their run."""
    users = {(one.tenant, user) for one in entries for user in _users(one)}
    erased = _erased(connection, users)
    named = {(one.tenant, one.run_id) for one in entries if one.run_id is not None}
    there = {
        (tenant, name)
        for tenant in {tenant for tenant, _ in named}
        for name in connection.execute(
            select(runs.c.run_id).where(
                runs.c.tenant == tenant,
                runs.c.run_id.in_([name for its, name in named if its == tenant]),
            )
        ).scalars()
    }
    kept = [
        one
        for one in entries
        if (one.run_id is None or (one.tenant, one.run_id) in there)
        and all(micros(one.at) > erased.get((one.tenant, user), -1) for user in _users(one))
    ]
    if kept:
        connection.execute(recalls.insert(), [_row(entry) for entry in kept])


def _erased(connection: Connection, users: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Which of these users, each after its tenant, were ever erased, and when last."""
    names = {f"{LAST}{tenant} {user}": (tenant, user) for tenant, user in users}
    rows = connection.execute(select(facts.c.name, facts.c.value).where(facts.c.name.in_(names)))
    return {names[name]: int(value) for name, value in rows}


def _users(entry: RecallEntry) -> set[str]:
    """Whose search it is."""
    kind, _, name = entry.principal.partition(":")
    return {user for user in (entry.user, name if kind == "user" else None) if user is not None}


def _row(entry: RecallEntry) -> dict[str, str | int | None]:
    return {
        "tenant": entry.tenant,
        "at": micros(entry.at),
        "principal": entry.principal,
        "acting_user": entry.user,
        "session": entry.session,
        "run_id": entry.run_id,
        "query": entry.query,
        "top_scores": json.dumps(entry.top_scores),
        "offered": json.dumps([(ref.id, ref.revision) for ref in entry.offered]),
        "revision": entry.revision,
    }


def _newest_recalls(connection: Connection, tenant: str, limit: int) -> list[RecallEntry]:
    found = connection.execute(
        select(recalls)
        .where(recalls.c.tenant == tenant)
        .order_by(recalls.c.number.desc())
        .limit(limit)
    ).mappings()
    return [_recall(row) for row in found]


def _recall(row: RowMapping) -> RecallEntry:
    return RecallEntry(
        tenant=row["tenant"],
        at=moment(row["at"]),
        principal=row["principal"],
        user=row["acting_user"],
        session=row["session"],
        run_id=row["run_id"],
        query=row["query"],
        top_scores=tuple(json.loads(row["top_scores"])),
        offered=tuple(
            MemoryRef(id=MemoryUuid(name), revision=revision)
            for name, revision in json.loads(row["offered"])
        ),
        revision=row["revision"],
    )
