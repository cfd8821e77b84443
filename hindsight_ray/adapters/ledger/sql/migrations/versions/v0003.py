"""Verdicts of samples, and vectors of another space than the one in use."""

import sqlalchemy as sa
from alembic import op

Words = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
Big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

revision = "3"
down_revision = "2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to version 3."""
    op.create_table(
        "sample_verdicts",
        sa.Column("number", Big, autoincrement=True, nullable=False),
        sa.Column("tenant", Words, nullable=False),
        sa.Column("memory_id", Words, nullable=False),
        sa.Column("revision", Big, autoincrement=False, nullable=False),
        sa.Column("scope", Words, nullable=False),
        sa.Column("verdict", Words, nullable=False),
        sa.Column("by", Words, nullable=False),
        sa.Column("at", Big, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index("sample_verdicts_by_time", "sample_verdicts", ["tenant", "at"], unique=False)
    op.create_table(
        "vectors_beside",
        sa.Column("model", Words, nullable=False),
        sa.Column("memory", Big, autoincrement=False, nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("model", "memory"),
    )
