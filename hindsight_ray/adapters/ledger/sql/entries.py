"""Which runs an agent's session has open."""

from sqlalchemy import and_, bindparam, delete, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import run_entries, runs

_OPEN = Ready(
    select(run_entries.c.run_id)
    .join(runs, and_(runs.c.tenant == run_entries.c.tenant, runs.c.run_id == run_entries.c.run_id))
    .where(
        run_entries.c.tenant == bindparam("tenant"),
        run_entries.c.agent == bindparam("agent"),
        run_entries.c.session == bindparam("session"),
        runs.c.closed_at.is_(None),
    )
    .order_by(runs.c.started_at, runs.c.run_id)
)


def enter(
    connection: Connection, tenant: str, run_id: str, agent: str, session: str | None
) -> None:
    connection.execute(
        dialect.upsert(run_entries).on_conflict_do_nothing(),
        {"tenant": tenant, "agent": agent, "session": session or "", "run_id": run_id},
    )


def leave(
    connection: Connection, tenant: str, run_id: str, agent: str, session: str | None
) -> bool:
    its = (run_entries.c.tenant == tenant, run_entries.c.run_id == run_id)
    whose = (run_entries.c.agent == agent, run_entries.c.session == (session or ""))
    return connection.execute(delete(run_entries).where(*its, *whose)).rowcount > 0


def open_runs(connection: Connection, tenant: str, agent: str, session: str | None) -> list[str]:
    asked = {"tenant": tenant, "agent": agent, "session": session or ""}
    return [run_id for (run_id,) in _OPEN.rows(connection, asked)]
