"""The policy in force and its revision, the tenants there are, the tickets that were ended."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import bindparam, delete, exists, literal, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.schema import (
    micros,
    policy_lines,
    policy_state,
    revoked_tickets,
    tenants,
)
from hindsight_ray.domain.access import Membership, Policy, Revision, Rule
from hindsight_ray.domain.rows import Standing

_RULES = TypeAdapter(tuple[Rule, ...])
_MEMBERSHIPS = TypeAdapter(tuple[Membership, ...])

_REVISION = select(policy_state.c.revision).where(policy_state.c.number == 1)
_STANDING = select(
    _REVISION.scalar_subquery(),
    exists().where(tenants.c.tenant == bindparam("tenant")),
    exists().where(revoked_tickets.c.ticket_id == bindparam("ticket_id")),
)
_LINES = (
    select(policy_lines.c.record)
    .where(policy_lines.c.kind == bindparam("kind"))
    .order_by(policy_lines.c.position)
)


class SqlPolicy:
    """`PolicyLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def standing(self, tenant: str, ticket_id: str) -> Standing:
        settled = not self._work.changed_policy
        return await self._work.do(_standing, tenant, ticket_id, settled)

    async def current(self) -> Policy:
        return await self._work.do(_current)

    async def replace(
        self, rules: Iterable[Rule], memberships: Iterable[Membership], at: datetime
    ) -> int:
        self._work.changed_policy = True
        return await self._work.do(
            _replace,
            at,
            [rule.model_dump_json() for rule in rules],
            [membership.model_dump_json() for membership in memberships],
        )

    async def add_tenant(self, tenant: str, at: datetime) -> None:
        await self._work.do(_add_tenant, tenant, at)

    async def tenants(self) -> Sequence[str]:
        return await self._work.do(_tenants)

    async def revoke_ticket(self, ticket_id: str, at: datetime) -> int:
        self._work.changed_policy = True
        return await self._work.do(_revoke_ticket, ticket_id, at)


def _standing(connection: Connection, tenant: str, ticket_id: str, settled: bool) -> Standing:
    asked = {"tenant": tenant, "ticket_id": ticket_id}
    revision, known, revoked = connection.execute(_STANDING, asked).one()
    return Standing(
        revision=revision or 0,
        tenant_known=bool(known),
        ticket_revoked=bool(revoked),
        settled=settled,
    )


def _current(connection: Connection) -> Policy:
    revision = connection.execute(_REVISION).scalar_one_or_none()
    return Policy(
        revision=Revision(revision or 0),
        rules=_RULES.validate_json(_array(_lines(connection, "rule"))),
        memberships=_MEMBERSHIPS.validate_json(_array(_lines(connection, "membership"))),
    )


def _lines(connection: Connection, kind: str) -> list[str]:
    return list(connection.execute(_LINES, {"kind": kind}).scalars())


def _array(records: Sequence[str]) -> str:
    return f"[{','.join(records)}]"


def _replace(connection: Connection, at: datetime, rules: list[str], memberships: list[str]) -> int:
    _replace_lines(connection, "rule", rules)
    _replace_lines(connection, "membership", memberships)
    return _next_revision(connection, at)


def _replace_lines(connection: Connection, kind: str, records: list[str]) -> None:
    """Only from the first line that differs, so that a grant at the end costs one row."""
    known = _lines(connection, kind)
    same = 0
    for old, new in zip(known, records, strict=False):
        if old != new:
            break
        same += 1
    if same < len(known):
        connection.execute(
            delete(policy_lines).where(policy_lines.c.kind == kind, policy_lines.c.position >= same)
        )
    dialect.insert_rows(
        connection,
        policy_lines,
        ("kind", "position", "record"),
        [(kind, same + index, record) for index, record in enumerate(records[same:])],
    )


def _next_revision(connection: Connection, at: datetime) -> int:
    put = dialect.upsert(policy_state)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=["number"],
            set_={"revision": policy_state.c.revision + literal(1), "at": put.excluded["at"]},
        ),
        {"number": 1, "revision": 1, "at": micros(at)},
    )
    return connection.execute(_REVISION).scalar_one()


def _add_tenant(connection: Connection, tenant: str, at: datetime) -> None:
    connection.execute(
        dialect.upsert(tenants).on_conflict_do_nothing(), {"tenant": tenant, "at": micros(at)}
    )


def _tenants(connection: Connection) -> list[str]:
    return list(connection.execute(select(tenants.c.tenant).order_by(tenants.c.tenant)).scalars())


def _revoke_ticket(connection: Connection, ticket_id: str, at: datetime) -> int:
    """A second time changes nothing and names the revision in force."""
    done = connection.execute(
        dialect.upsert(revoked_tickets).on_conflict_do_nothing(),
        {"ticket_id": ticket_id, "at": micros(at)},
    )
    if done.rowcount == 0:
        return connection.execute(_REVISION).scalar_one_or_none() or 0
    return _next_revision(connection, at)
