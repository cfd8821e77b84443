"""The tables of the first version that is kept up."""

import sqlalchemy as sa
from alembic import op

Words = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
Big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

revision = "2"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to version 2."""
    op.create_table(
        "annotations",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("digest", Words, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("tenant", "run_id", "digest"),
    )
    op.create_table(
        "audience_keys",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("key", Words, nullable=False),
        sa.Column("audience", Words, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("tenant", "key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "audit",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("writer", Words, nullable=False),
        sa.Column("place", Big, autoincrement=False, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("principal", Words, nullable=False),
        sa.Column("verb", Words, nullable=False),
        sa.Column("object", Words, nullable=False),
        sa.Column("effect", Words, nullable=False),
        sa.Column("rule", Words, nullable=False),
        sa.Column("revision", Big, autoincrement=False, nullable=False),
        sa.Column("digest", Words, nullable=False),
        sa.Column("hash", Words, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_by_tenant", "audit", ["tenant", "number"], unique=False)
    op.create_index("audit_by_writer", "audit", ["tenant", "writer", "place"], unique=False)
    op.create_table(
        "audit_heads",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("writer", Words, nullable=False),
        sa.Column("place", Big, autoincrement=False, nullable=False),
        sa.Column("hash", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "writer"),
    )
    op.create_table(
        "audit_seals",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant"),
    )
    op.create_table(
        "change_numbers",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("change", Big, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("tenant"),
    )
    op.create_table(
        "commands",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("principal", Words, nullable=False),
        sa.Column("command_id", Words, nullable=False),
        sa.Column("digest", Words, nullable=False),
        sa.Column("receipt", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "principal", "command_id"),
    )
    op.create_table(
        "credit_memories",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("memory_id", Words, nullable=False),
        sa.Column("group", Words, nullable=False),
        sa.Column("method", Words, nullable=False),
        sa.Column("by", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "memory_id", "group", "method", "by"),
    )
    op.create_table(
        "credits",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("group", Words, nullable=False),
        sa.Column("method", Words, nullable=False),
        sa.Column("by", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "group", "method", "by"),
    )
    op.create_index("credits_by_run", "credits", ["tenant", "run_id"], unique=False)
    op.create_table(
        "events",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("run", Big, autoincrement=False, nullable=False),
        sa.Column("agent", Words, nullable=False),
        sa.Column("incarnation", Words, nullable=False),
        sa.Column("seq", Big, autoincrement=False, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("event_id", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("run", "agent", "incarnation", "seq"),
        sa.UniqueConstraint("tenant", "event_id"),
    )
    op.create_table(
        "facts",
        sa.Column("name", Words, nullable=False),
        sa.Column("value", Words, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "failed_reviews",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("digest", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "run_id", "digest"),
    )
    op.create_table(
        "intents",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("memory", Big, autoincrement=False, nullable=False),
        sa.Column("revision", Big, autoincrement=False, nullable=False),
        sa.Column("kind", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("attempts", Big, autoincrement=False, nullable=False),
        sa.Column("reason", Words, nullable=True),
        sa.Column("previous", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index("intents_by_memory", "intents", ["tenant", "memory"], unique=False)
    op.create_table(
        "memories",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("memory_id", Words, nullable=False),
        sa.Column("revision", Big, autoincrement=False, nullable=False),
        sa.Column("change", Big, autoincrement=False, nullable=False),
        sa.Column("key", Big, autoincrement=False, nullable=False),
        sa.Column("scope", Words, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("type", Words, nullable=False),
        sa.Column("layer", Words, nullable=False),
        sa.Column("task_type", Words, nullable=True),
        sa.Column("topic", Words, nullable=True),
        sa.Column("created_at", Big, autoincrement=False, nullable=False),
        sa.Column("expires_at", Big, autoincrement=False, nullable=True),
        sa.Column("length", Big, autoincrement=False, nullable=False),
        sa.Column("record", Words, nullable=True),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("tenant", "memory_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("memories_by_change", "memories", ["tenant", "change"], unique=False)
    op.create_index(
        "memories_by_key",
        "memories",
        [
            "tenant",
            "key",
            "status",
            "created_at",
            "expires_at",
            "type",
            "layer",
            "task_type",
            "scope",
            "length",
        ],
        unique=False,
    )
    op.create_index("memories_by_scope", "memories", ["tenant", "scope", "change"], unique=False)
    op.create_index("memories_by_topic", "memories", ["tenant", "topic"], unique=False)
    op.create_table(
        "memory_labels",
        sa.Column("memory", Big, autoincrement=False, nullable=False),
        sa.Column("label", Words, nullable=False),
        sa.PrimaryKeyConstraint("memory", "label"),
    )
    op.create_table(
        "memory_revisions",
        sa.Column("memory", Big, autoincrement=False, nullable=False),
        sa.Column("revision", Big, autoincrement=False, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("by", Words, nullable=False),
        sa.Column("why", Words, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("record", Words, nullable=True),
        sa.PrimaryKeyConstraint("memory", "revision"),
    )
    op.create_table(
        "memory_sources",
        sa.Column("memory", Big, autoincrement=False, nullable=False),
        sa.Column("source_id", Words, nullable=False),
        sa.PrimaryKeyConstraint("memory", "source_id"),
    )
    op.create_index("memory_sources_by_source", "memory_sources", ["source_id"], unique=False)
    op.create_table(
        "memory_statistics",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("memory_id", Words, nullable=False),
        sa.Column("accesses", Big, autoincrement=False, nullable=False),
        sa.Column("last_accessed", Big, autoincrement=False, nullable=True),
        sa.Column("last_verified", Big, autoincrement=False, nullable=True),
        sa.Column("utility", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "memory_id"),
    )
    op.create_table(
        "memory_vectors",
        sa.Column("memory", Big, autoincrement=False, nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("memory"),
    )
    op.create_table(
        "model_calls",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("call_id", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("prompt", Words, nullable=False),
        sa.Column("model", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("calls", Big, autoincrement=False, nullable=False),
        sa.Column("tokens_in", Big, autoincrement=False, nullable=False),
        sa.Column("tokens_out", Big, autoincrement=False, nullable=False),
        sa.Column("tokens_cached", Big, autoincrement=False, nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "call_id"),
    )
    op.create_index("model_calls_by_run", "model_calls", ["tenant", "run_id"], unique=False)
    op.create_index("model_calls_by_time", "model_calls", ["tenant", "at"], unique=False)
    op.create_table(
        "offered",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("agent", Words, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "run_id", "agent"),
    )
    op.create_table(
        "outcomes",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("by", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "run_id", "by"),
    )
    op.create_table(
        "places",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("place", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant"),
    )
    op.create_table(
        "policy_journal",
        sa.Column("revision", Big, autoincrement=False, nullable=False),
        sa.Column("lines", Words, nullable=True),
        sa.PrimaryKeyConstraint("revision"),
    )
    op.create_table(
        "policy_lines",
        sa.Column("kind", Words, nullable=False),
        sa.Column("position", Big, autoincrement=False, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("kind", "position"),
    )
    op.create_table(
        "policy_state",
        sa.Column("number", Big, autoincrement=False, nullable=False),
        sa.Column("revision", Big, autoincrement=False, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "postings",
        sa.Column("term", Big, autoincrement=False, nullable=False),
        sa.Column("key", Big, autoincrement=False, nullable=False),
        sa.Column("memory", Big, autoincrement=False, nullable=False),
        sa.Column("count", Big, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("term", "key", "memory"),
        sqlite_with_rowid=False,
    )
    op.create_index("postings_by_memory", "postings", ["memory"], unique=False)
    op.create_table(
        "recalls",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("principal", Words, nullable=False),
        sa.Column("acting_user", Words, nullable=True),
        sa.Column("session", Words, nullable=True),
        sa.Column("run_id", Words, nullable=True),
        sa.Column("query", Words, nullable=False),
        sa.Column("top_scores", Words, nullable=False),
        sa.Column("offered", Words, nullable=False),
        sa.Column("revision", Big, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index("recalls_by_tenant", "recalls", ["tenant", "number"], unique=False)
    op.create_table(
        "review_answers",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("name", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "run_id", "name"),
    )
    op.create_table(
        "reviews",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("kind", Words, nullable=False),
        sa.Column("digest", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "run_id", "kind", "digest"),
    )
    op.create_table(
        "revoked_tickets",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("ticket_id", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "ticket_id"),
    )
    op.create_table(
        "run_entries",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("agent", Words, nullable=False),
        sa.Column("session", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "agent", "session", "run_id"),
    )
    op.create_table(
        "runs",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("task_type", Words, nullable=False),
        sa.Column("started_at", Big, autoincrement=False, nullable=False),
        sa.Column("closed_at", Big, autoincrement=False, nullable=True),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("tenant", "run_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("runs_by_start", "runs", ["tenant", "started_at", "run_id"], unique=False)
    op.create_table(
        "tenants",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("tenant"),
    )
    op.create_table(
        "terms",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("term", Words, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("tenant", "term"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "window_lines",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("principal", Words, nullable=False),
        sa.Column("session", Words, nullable=False),
        sa.Column("line", Words, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "window_lines_by_session",
        "window_lines",
        ["tenant", "principal", "session", "number"],
        unique=False,
    )
    op.create_table(
        "working_states",
        sa.Column("tenant", Words, nullable=False),
        sa.Column("run_id", Words, nullable=False),
        sa.Column("agent", Words, nullable=False),
        sa.Column("record", Words, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "run_id", "agent"),
    )
