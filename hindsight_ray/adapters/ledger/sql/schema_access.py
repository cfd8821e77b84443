"""Which tables say who may do what, and who did: the policy, tenants, ended tickets, the audit.

Part of the ledger's one schema (`schema.py`), apart only for length.
"""

from sqlalchemy import Column, Index, Table

from hindsight_ray.adapters.ledger.sql.schema import Big, Words, metadata


def _text(name: str, *, key: bool = False, null: bool = False) -> Column[str]:
    return Column(name, Words, primary_key=key, nullable=null)


def _big(name: str, *, key: bool = False, null: bool = False) -> Column[int]:
    return Column(name, Big, primary_key=key, nullable=null, autoincrement=False)


def _number(name: str = "number") -> Column[int]:
    return Column(name, Big, primary_key=True, autoincrement=True)


policy_state = Table(
    "policy_state", metadata, _big("number", key=True), _big("revision"), _big("at")
)

policy_lines = Table(
    "policy_lines",
    metadata,
    _text("kind", key=True),  # `rule` or `membership`
    _big("position", key=True),
    _text("record"),
)

policy_journal = Table(
    "policy_journal",
    metadata,
    _big("revision", key=True),
    _text("lines", null=True),  # what came and went; None where the policy was put anew
)

tenants = Table("tenants", metadata, _text("tenant", key=True), _big("at"))

revoked_tickets = Table(
    "revoked_tickets",
    metadata,
    _text("tenant", key=True),  # so that nobody ends another tenant's ticket
    _text("ticket_id", key=True),
    _big("at"),
)

audit = Table(
    "audit",
    metadata,
    _number(),
    _text("tenant"),
    _text("writer"),
    _big("place"),  # in the chain of this tenant and writer, from 1
    _big("at"),
    _text("principal"),
    _text("verb"),
    _text("object"),
    _text("effect"),
    _text("rule"),
    _big("revision"),
    _text("digest"),
    _text("hash"),  # over this entry and the hash of the one before
    Index("audit_by_tenant", "tenant", "number"),
    Index("audit_by_writer", "tenant", "writer", "place"),
    sqlite_autoincrement=True,
)

audit_heads = Table(
    "audit_heads",
    metadata,
    _text("tenant", key=True),
    _text("writer", key=True),
    _big("place"),
    _text("hash"),
)

audit_seals = Table("audit_seals", metadata, _text("tenant", key=True), _text("record"))
