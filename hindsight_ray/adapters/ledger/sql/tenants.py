"""Taking a whole tenant out: every row of it, in every table that has such rows.

The audit stays, and so do the tickets that were ended and the erasures that were carried out. The
change number stays too and moves to the beginning of another age, which tells the caches of every
process that what they knew of this tenant is of the one before, and refuses the tickets of that.
"""

from sqlalchemy import delete, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.rows import AGE
from hindsight_ray.adapters.ledger.sql.schema import change_numbers, memories, metadata

KEPT = frozenset(
    {"audit", "audit_heads", "audit_seals", "change_numbers", "erasures", "revoked_tickets"}
)
OF_ALL = frozenset({"facts", "policy_state", "policy_lines", "policy_journal"})


def drop_tenant(connection: Connection, tenant: str) -> int:
    """Delete the tenant's rows; how many there were."""
    numbers = select(memories.c.number).where(memories.c.tenant == tenant)
    by_memory = [
        table for table in metadata.sorted_tables if "tenant" not in table.c and "memory" in table.c
    ]
    by_tenant = [
        table for table in metadata.sorted_tables if "tenant" in table.c and table.name not in KEPT
    ]
    gone = 0
    for table in by_memory:
        gone += connection.execute(delete(table).where(table.c.memory.in_(numbers))).rowcount
    for table in by_tenant:
        gone += connection.execute(delete(table).where(table.c.tenant == tenant)).rowcount
    connection.execute(
        dialect.upsert(change_numbers).on_conflict_do_update(
            index_elements=["tenant"], set_={"change": (change_numbers.c.change // AGE + 1) * AGE}
        ),
        {"tenant": tenant, "change": AGE},
    )
    return gone
