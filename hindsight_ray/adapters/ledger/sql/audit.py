"""The audit: every entry in its writer's chain, and the heads of all chains signed together.

Entries of a transaction are written at its end, in one go: one read of the heads, one insert, one
signature, no commit of their own. An entry that cannot be written undoes what it is about.
"""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from sqlalchemy import ColumnElement, Table, bindparam, select
from sqlalchemy.engine import Connection, RowMapping

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import micros, moment
from hindsight_ray.adapters.ledger.sql.schema_access import audit, audit_heads, audit_seals
from hindsight_ray.core.audit_chain import BEGINNING, entry_hash
from hindsight_ray.domain.audit import Chained, Head, Seal
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.errors import HindsightError, StorageFailed

_HEADS = Ready(
    select(audit_heads.c.writer, audit_heads.c.place, audit_heads.c.hash)
    .where(audit_heads.c.tenant == bindparam("tenant"))
    .order_by(audit_heads.c.writer)
)
_SEAL = select(audit_seals.c.record).where(audit_seals.c.tenant == bindparam("tenant"))
_NO_TIME = datetime.min.replace(tzinfo=UTC)
_PLACE_MAX = 2**63 - 1  # what is no number comes after every one, in a file
_COLUMNS = (
    "tenant", "writer", "place", "at", "principal", "verb", "object", "effect", "rule", "revision",
    "digest", "hash",
)  # fmt: skip


class Sealer(Protocol):
    """Signs with the home's audit key, and knows what it has signed."""

    def sealed(self, seal: Seal) -> Seal | None:
        """The seal with its signature; None where the key is not."""
        ...

    def good(self, seal: Seal) -> bool: ...


class Chains:
    """Writes what one process has to say into its chains; the name is that process's own."""

    def __init__(self, writer: str, sealer: Sealer | None) -> None:
        self.writer = writer
        self.sealer = sealer

    def write(self, connection: Connection, entries: Iterable[AuditEntry]) -> None:
        """Append the entries in their order, tenant by tenant."""
        by_tenant: dict[str, list[AuditEntry]] = {}
        for entry in entries:
            by_tenant.setdefault(entry.tenant, []).append(entry)
        for tenant, ones in by_tenant.items():
            self._write(connection, tenant, ones)

    def _write(self, connection: Connection, tenant: str, entries: Sequence[AuditEntry]) -> None:
        heads = {head.writer: head for head in _heads(connection, tenant)}
        last = heads.get(self.writer, Head(writer=self.writer, place=0, hash=BEGINNING))
        rows: list[tuple[object, ...]] = []
        place, before = last.place, last.hash
        for entry in entries:
            place += 1
            before = entry_hash(before, entry, self.writer, place)
            rows.append(
                (
                    tenant, self.writer, place, micros(entry.at), entry.principal, entry.verb,
                    entry.object, entry.effect, entry.rule, entry.revision, entry.digest, before,
                )
            )  # fmt: skip
        dialect.insert_rows(connection, audit, _COLUMNS, rows)
        heads[self.writer] = Head(writer=self.writer, place=place, hash=before)
        _put_head(connection, tenant, heads[self.writer])
        if self.sealer is not None:
            seal = Seal(tenant=tenant, at=entries[-1].at, heads=tuple(heads.values()))
            signed = self.sealer.sealed(seal)
            if signed is not None:
                _put_seal(connection, signed)


class SqlAudit:
    """`AuditLog` over SQL."""

    def __init__(self, work: Work, chains: Chains) -> None:
        self._work = work
        self._chains = chains

    async def append(self, entry: AuditEntry) -> None:
        self._work.say_last(entry, self._chains.write)

    async def newest(
        self,
        tenant: str,
        *,
        limit: int,
        skip: int = 0,
        effect: str | None = None,
        principal: str | None = None,
        since: datetime | None = None,
    ) -> Sequence[AuditEntry]:
        await self._work.said()
        wanted = audit.c.tenant == tenant
        if effect is not None:
            wanted &= audit.c.effect == effect
        if principal is not None:
            wanted &= audit.c.principal == principal
        if since is not None:
            wanted &= audit.c.at >= micros(since)
        return await self._work.do(_newest, wanted, limit, skip)

    async def tenants(self) -> Sequence[str]:
        await self._work.said()
        return await self._work.do(_tenants)

    async def writers(self, tenant: str) -> Sequence[str]:
        await self._work.said()
        return await self._work.do(_writers, tenant)

    async def chain(
        self, tenant: str, writer: str, *, after: tuple[int, int], limit: int
    ) -> Sequence[Chained]:
        await self._work.said()
        return await self._work.do(_chain, tenant, writer, after, limit)

    async def seal(self, tenant: str) -> Seal | None:
        await self._work.said()
        return await self._work.do(_seal, tenant)

    async def signed(self, seal: Seal) -> bool:
        sealer = self._chains.sealer
        return sealer is not None and sealer.good(seal)


def _upsert(table: Table, keys: tuple[str, ...], values: tuple[str, ...]) -> Ready:
    put = dialect.upsert(table)
    done = put.on_conflict_do_update(
        index_elements=list(keys), set_={name: put.excluded[name] for name in values}
    )
    return Ready(done, (*keys, *values))


_PUT_HEAD = _upsert(audit_heads, ("tenant", "writer"), ("place", "hash"))
_PUT_SEAL = _upsert(audit_seals, ("tenant",), ("record",))


def _put_head(connection: Connection, tenant: str, head: Head) -> None:
    row = {"tenant": tenant, "writer": head.writer, "place": head.place, "hash": head.hash}
    _PUT_HEAD.run(connection, row)


def _put_seal(connection: Connection, seal: Seal) -> None:
    row = {"tenant": seal.tenant, "record": seal.model_dump_json()}
    _PUT_SEAL.run(connection, row)


def _heads(connection: Connection, tenant: str) -> list[Head]:
    rows = _HEADS.rows(connection, {"tenant": tenant})
    return [Head(writer=writer, place=place, hash=digest) for writer, place, digest in rows]


def _newest(
    connection: Connection, wanted: ColumnElement[bool], limit: int, skip: int
) -> list[AuditEntry]:
    newest = select(audit).where(wanted).order_by(audit.c.number.desc())
    found = connection.execute(newest.limit(limit).offset(skip)).mappings()
    return [_entry(row) for row in found]


def _tenants(connection: Connection) -> list[str]:
    return list(connection.execute(select(audit_heads.c.tenant).distinct()).scalars())


def _writers(connection: Connection, tenant: str) -> list[str]:
    """Whoever has a head or an entry: a chain whose head was taken away is looked at too."""
    wrote = select(audit.c.writer).where(audit.c.tenant == tenant).distinct()
    named = connection.execute(wrote).scalars()
    return sorted({*named, *(head.writer for head in _heads(connection, tenant))})


def _chain(
    connection: Connection, tenant: str, writer: str, after: tuple[int, int], limit: int
) -> list[Chained]:
    place, number = after
    found = connection.execute(
        select(audit)
        .where(audit.c.tenant == tenant, audit.c.writer == writer, audit.c.place <= _PLACE_MAX)
        .where((audit.c.place > place) | ((audit.c.place == place) & (audit.c.number > number)))
        .order_by(audit.c.place, audit.c.number)
        .limit(limit)
    ).mappings()
    return [
        Chained(_entry(row), row["writer"], math.ceil(row["place"]), row["hash"], row["number"])
        for row in found
    ]


def _seal(connection: Connection, tenant: str) -> Seal | None:
    record = connection.execute(_SEAL, {"tenant": tenant}).scalar_one_or_none()
    try:
        return None if record is None else Seal.model_validate_json(record)
    except (ValueError, HindsightError):
        raise StorageFailed(
            f"the audit's seal of `{tenant}` cannot be read, so somebody has written over it"
        ) from None


def _entry(row: RowMapping) -> AuditEntry:
    """The entry as it stands there, whatever somebody has made of it: its hash tells."""
    try:
        at = moment(row["at"])
    except (TypeError, ValueError, OverflowError):
        at = _NO_TIME
    revision = row["revision"] if isinstance(row["revision"], int) else -1
    return AuditEntry(
        tenant=row["tenant"],
        at=at,
        principal=_word(row["principal"]),
        verb=_word(row["verb"]),
        object=_word(row["object"]),
        effect=_word(row["effect"]),
        rule=_word(row["rule"]),
        revision=revision,
        digest=_word(row["digest"]),
        writer=_word(row["writer"]),
        place=row["place"] if isinstance(row["place"], int) else 0,
    )


def _word(found: object) -> str:
    return found if isinstance(found, str) else repr(found)
