"""Which tables looking after memories needs: verdicts of samples, and vectors of another space.

Part of the ledger's one schema (`schema.py`), apart only for length.
"""

from sqlalchemy import Column, Index, LargeBinary, Table

from hindsight_ray.adapters.ledger.sql.schema import Big, Words, metadata


def _text(name: str, *, key: bool = False) -> Column[str]:
    return Column(name, Words, primary_key=key, nullable=False)


def _big(name: str, *, key: bool = False) -> Column[int]:
    return Column(name, Big, primary_key=key, nullable=False, autoincrement=False)


sample_verdicts = Table(
    "sample_verdicts",
    metadata,
    Column("number", Big, primary_key=True, autoincrement=True),
    _text("tenant"),
    _text("memory_id"),
    _big("revision"),
    _text("scope"),
    _text("verdict"),
    _text("by"),
    _big("at"),
    Index("sample_verdicts_by_time", "tenant", "at"),
    sqlite_autoincrement=True,
)

# A space that is being built, or the one that was in use before, until it is dropped.
vectors_beside = Table(
    "vectors_beside",
    metadata,
    _text("model", key=True),
    _big("memory", key=True),
    Column("vector", LargeBinary, nullable=False),
)
