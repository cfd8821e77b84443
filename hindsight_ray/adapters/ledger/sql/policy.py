"""The policy in force and its revision, the tenants there are, the tickets that were ended.

Each line of the policy has a place in its order, with room between for later ones, and every
revision leaves in the journal which lines came and went. So whoever knows the policy at an earlier
revision reads what changed since and not a hundred thousand lines again.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Select, bindparam, delete, exists, func, literal, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import asked, dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.policy_lines import Line, Moved, placed_anew
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.rows import AGE
from hindsight_ray.adapters.ledger.sql.schema import change_numbers, micros
from hindsight_ray.adapters.ledger.sql.schema_access import (
    policy_journal,
    policy_lines,
    policy_state,
    revoked_tickets,
    tenants,
)
from hindsight_ray.adapters.ledger.sql.tenants import drop_tenant
from hindsight_ray.domain.access import (
    LineChange,
    Membership,
    PlacedPolicy,
    Policy,
    PolicyChange,
    Revision,
    Rule,
)
from hindsight_ray.domain.rows import Standing
from hindsight_ray.errors import RevisionConflict

JOURNAL_REVISIONS_MAX = 1_024  # whoever is further behind reads the whole policy
JOURNAL_LINES_MAX = 5_000  # of one revision; a larger change is read as a whole policy
GAP = 1 << 20  # room between the places of two lines

_RULES = TypeAdapter(tuple[Rule, ...])
_MEMBERSHIPS = TypeAdapter(tuple[Membership, ...])

_REVISION = select(policy_state.c.revision).where(policy_state.c.number == 1)


def _standing_of(
    tenant: ColumnElement[str], ticket: ColumnElement[str]
) -> Select[*tuple[Any, ...]]:
    return select(
        _REVISION.scalar_subquery(),
        exists().where(tenants.c.tenant == tenant),
        exists().where(revoked_tickets.c.tenant == tenant, revoked_tickets.c.ticket_id == ticket),
        select(change_numbers.c.change).where(change_numbers.c.tenant == tenant).scalar_subquery(),
    )


_STANDING = Ready(_standing_of(bindparam("tenant"), bindparam("ticket_id")))
_STANDINGS = Ready(
    _standing_of(asked.text(1), asked.text(2)).select_from(asked.ASKED).order_by(asked.number(0))
)
_LINES = (
    select(policy_lines.c.position, policy_lines.c.record)
    .where(policy_lines.c.kind == bindparam("kind"))
    .order_by(policy_lines.c.position)
)
_JOURNAL = (
    select(policy_journal.c.lines)
    .where(policy_journal.c.revision > bindparam("since"))
    .order_by(policy_journal.c.revision)
)


class SqlPolicy:
    """`PolicyLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def standing(self, tenant: str, ticket_id: str) -> Standing:
        settled = not self._work.changed_policy
        return await self._work.brief(_standing, tenant, ticket_id, settled)

    async def standings(self, tickets: Sequence[tuple[str, str]]) -> Sequence[Standing]:
        settled = not self._work.changed_policy
        return await self._work.brief(_standings, tickets, settled)

    async def current(self) -> Policy:
        return (await self._work.do(_placed)).policy

    async def placed(self) -> PlacedPolicy:
        return await self._work.do(_placed)

    async def changes(self, since: int) -> PolicyChange | None:
        return await self._work.do(_changes, since)

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

    async def change(self, removed: Iterable[int], added: Iterable[Rule], at: datetime) -> int:
        self._work.changed_policy = True
        records = [rule.model_dump_json() for rule in added]
        return await self._work.do(_change, at, sorted(set(removed)), records)

    async def add_tenant(self, tenant: str, at: datetime) -> None:
        await self._work.do(_add_tenant, tenant, at)

    async def drop_tenant(self, tenant: str) -> int:
        self._work.changed_memories = self._work.changed_policy = True
        return await self._work.do(drop_tenant, tenant)

    async def tenants(self) -> Sequence[str]:
        return await self._work.do(_tenants)

    async def revoke_ticket(self, tenant: str, ticket_id: str, at: datetime) -> int:
        self._work.changed_policy = True
        return await self._work.do(_revoke_ticket, tenant, ticket_id, at)


def _standing(connection: Connection, tenant: str, ticket_id: str, settled: bool) -> Standing:
    found = _STANDING.rows(connection, {"tenant": tenant, "ticket_id": ticket_id})
    return _told(found, settled)[0]


def _standings(
    connection: Connection, tickets: Sequence[tuple[str, str]], settled: bool
) -> list[Standing]:
    return _told(_STANDINGS.rows(connection, asked.asked(tickets)), settled)


def _told(rows: Sequence[tuple[Any, ...]], settled: bool) -> list[Standing]:
    return [
        Standing(
            revision=revision or 0,
            tenant_known=bool(known),
            ticket_revoked=bool(revoked),
            age=(change or 0) // AGE,
            settled=settled,
        )
        for revision, known, revoked, change in rows
    ]


def _placed(connection: Connection) -> PlacedPolicy:
    revision = connection.execute(_REVISION).scalar_one_or_none()
    rules, memberships = _lines(connection, "rule"), _lines(connection, "membership")
    return PlacedPolicy(
        policy=Policy(
            revision=Revision(revision or 0),
            rules=_RULES.validate_json(_array(rules)),
            memberships=_MEMBERSHIPS.validate_json(_array(memberships)),
        ),
        rules_at=tuple(position for position, _ in rules),
        memberships_at=tuple(position for position, _ in memberships),
    )


def _changes(connection: Connection, since: int) -> PolicyChange | None:
    revision = connection.execute(_REVISION).scalar_one_or_none() or 0
    found = list(connection.execute(_JOURNAL, {"since": since}).scalars())
    if since > revision or len(found) != revision - since or None in found:
        return None
    return PolicyChange(
        revision=Revision(revision),
        steps=tuple(tuple(map(_line_change, json.loads(lines or "[]"))) for lines in found),
    )


def _line_change(moved: tuple[str, int, bool, str]) -> LineChange:
    kind, position, added, record = moved
    line = (Rule if kind == "rule" else Membership).model_validate_json(record)
    return LineChange(position=position, line=line, added=added)


def _lines(connection: Connection, kind: str) -> list[Line]:
    return dialect.plain_rows(connection.execute(_LINES, {"kind": kind}))


def _array(lines: Sequence[Line]) -> str:
    return f"[{','.join(record for _, record in lines)}]"


def _replace(connection: Connection, at: datetime, rules: list[str], memberships: list[str]) -> int:
    moved: list[Moved] | None = []
    for kind, records in (("rule", rules), ("membership", memberships)):
        known = _lines(connection, kind)
        placed = placed_anew(known, records, GAP)
        if placed is None:
            connection.execute(delete(policy_lines).where(policy_lines.c.kind == kind))
            _insert(connection, kind, [(GAP * (1 + n), r) for n, r in enumerate(records)])
            moved = None
            continue
        gone, come = placed
        _delete(connection, kind, [position for position, _ in gone])
        _insert(connection, kind, come)
        if moved is not None:
            moved += [(kind, position, False, record) for position, record in gone]
            moved += [(kind, position, True, record) for position, record in come]
    return _next_revision(connection, at, moved)


def _change(connection: Connection, at: datetime, removed: list[int], records: list[str]) -> int:
    """Take out the rules at these places and put new ones after all others."""
    gone: list[Line] = []
    for position in removed:
        where = (policy_lines.c.kind == "rule") & (policy_lines.c.position == position)
        record = connection.execute(select(policy_lines.c.record).where(where)).scalar_one_or_none()
        if record is None:
            raise RevisionConflict(f"`policy` has no rule at {position} any more; ask again")
        connection.execute(delete(policy_lines).where(where))
        gone.append((position, record))
    last = connection.execute(
        select(func.max(policy_lines.c.position)).where(policy_lines.c.kind == "rule")
    ).scalar_one_or_none()
    come = [((last or 0) + GAP * (1 + n), record) for n, record in enumerate(records)]
    _insert(connection, "rule", come)
    moved: list[Moved] = [("rule", position, False, record) for position, record in gone]
    moved += [("rule", position, True, record) for position, record in come]
    return _next_revision(connection, at, moved)


def _insert(connection: Connection, kind: str, lines: Sequence[Line]) -> None:
    dialect.insert_rows(
        connection,
        policy_lines,
        ("kind", "position", "record"),
        [(kind, position, record) for position, record in lines],
    )


def _delete(connection: Connection, kind: str, positions: Sequence[int]) -> None:
    if positions:
        connection.execute(
            delete(policy_lines).where(
                policy_lines.c.kind == kind, policy_lines.c.position == bindparam("at_position")
            ),
            [{"at_position": position} for position in positions],
        )


def _next_revision(connection: Connection, at: datetime, moved: Sequence[Moved] | None) -> int:
    """The next revision, with what it changed in the journal; None for a policy put anew."""
    put = dialect.upsert(policy_state)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=["number"],
            set_={"revision": policy_state.c.revision + literal(1), "at": put.excluded["at"]},
        ),
        {"number": 1, "revision": 1, "at": micros(at)},
    )
    revision = connection.execute(_REVISION).scalar_one()
    whole = moved is None or len(moved) > JOURNAL_LINES_MAX
    lines = None if whole else json.dumps(moved, separators=(",", ":"))
    connection.execute(policy_journal.insert(), {"revision": revision, "lines": lines})
    connection.execute(
        delete(policy_journal).where(policy_journal.c.revision <= revision - JOURNAL_REVISIONS_MAX)
    )
    return revision


def _add_tenant(connection: Connection, tenant: str, at: datetime) -> None:
    connection.execute(
        dialect.upsert(tenants).on_conflict_do_nothing(), {"tenant": tenant, "at": micros(at)}
    )


def _tenants(connection: Connection) -> list[str]:
    return list(connection.execute(select(tenants.c.tenant).order_by(tenants.c.tenant)).scalars())


def _revoke_ticket(connection: Connection, tenant: str, ticket_id: str, at: datetime) -> int:
    """A second time changes nothing and names the revision in force."""
    done = connection.execute(
        dialect.upsert(revoked_tickets)
        .on_conflict_do_nothing()
        .execution_options(preserve_rowcount=True),
        {"tenant": tenant, "ticket_id": ticket_id, "at": micros(at)},
    )
    if done.rowcount == 0:
        return connection.execute(_REVISION).scalar_one_or_none() or 0
    return _next_revision(connection, at, [])
