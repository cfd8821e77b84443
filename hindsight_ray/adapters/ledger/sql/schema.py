"""Which tables the ledger has. Times are microseconds since 1970 in UTC; records are JSON text.

Columns beside a record exist to be searched by; the record alone is the truth. Memories, runs,
terms and audience keys have integer numbers of their own, since the tables that refer to them are
the large ones.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = 3  # the last step of `migrations`
SCHEMA_OLDEST = 2  # version 1 was never released
FORGOTTEN: Final = "forgotten"  # status of a tombstone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Whole microseconds since 1970 of an aware time."""
    return (moment - _EPOCH) // _MICROSECOND


def micros_or_none(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def moment(micros_utc: int) -> datetime:
    """The aware UTC time of a stored number."""
    return _EPOCH + timedelta(microseconds=micros_utc)


def moment_or_none(micros_utc: int | None) -> datetime | None:
    return None if micros_utc is None else moment(micros_utc)


metadata = MetaData()
Words = Text().with_variant(Text(collation="C"), "postgresql")  # ordered by code point everywhere
Big = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows only by plain INTEGER


def _number(name: str = "number") -> Column[int]:
    return Column(name, Big, primary_key=True, autoincrement=True)


def _text(name: str, *, key: bool = False, null: bool = False) -> Column[str]:
    return Column(name, Words, primary_key=key, nullable=null)


def _big(name: str, *, key: bool = False, null: bool = False) -> Column[int]:
    return Column(name, Big, primary_key=key, nullable=null, autoincrement=False)


facts = Table("facts", metadata, _text("name", key=True), _text("value"))

runs = Table(
    "runs",
    metadata,
    _number(),
    _text("tenant"),
    _text("run_id"),
    _text("task_type"),
    _big("started_at"),
    _big("closed_at", null=True),
    _text("record"),
    UniqueConstraint("tenant", "run_id"),
    Index("runs_by_start", "tenant", "started_at", "run_id"),
    sqlite_autoincrement=True,
)

run_entries = Table(
    "run_entries",
    metadata,
    _text("tenant", key=True),
    _text("agent", key=True),
    _text("session", key=True),  # "" for a ticket that names none
    _text("run_id", key=True),
)

events = Table(
    "events",
    metadata,
    _number(),
    _big("run"),
    _text("agent"),
    _text("incarnation"),
    _big("seq"),
    _text("tenant"),
    _text("event_id"),
    _big("at"),
    _text("record"),
    UniqueConstraint("run", "agent", "incarnation", "seq"),
    UniqueConstraint("tenant", "event_id"),
)

offered = Table(
    "offered",
    metadata,
    _text("tenant", key=True),
    _text("run_id", key=True),
    _text("agent", key=True),
    _text("record"),
)

annotations = Table(
    "annotations",
    metadata,
    _number(),
    _text("tenant"),
    _text("run_id"),
    _text("digest"),
    _text("record"),
    UniqueConstraint("tenant", "run_id", "digest"),
)

outcomes = Table(
    "outcomes",
    metadata,
    _text("tenant", key=True),
    _text("run_id", key=True),
    _text("by", key=True),
    _big("at"),
    _text("record"),
)

credit_records = Table(
    "credits",
    metadata,
    _text("tenant", key=True),
    _text("group", key=True),  # the run, or the task that compared runs share
    _text("method", key=True),
    _text("by", key=True),
    _text("run_id"),
    _big("at"),
    _text("record"),
    Index("credits_by_run", "tenant", "run_id"),
)

credit_memories = Table(
    "credit_memories",
    metadata,
    _text("tenant", key=True),
    _text("memory_id", key=True),
    _text("group", key=True),
    _text("method", key=True),
    _text("by", key=True),
)

reviews = Table(
    "reviews",
    metadata,
    _text("tenant", key=True),
    _text("run_id", key=True),
    _text("kind", key=True),
    _text("digest", key=True),
    _big("at"),
    _text("record"),
)

model_calls = Table(
    "model_calls",
    metadata,
    _text("tenant", key=True),
    _text("call_id", key=True),
    _text("run_id"),  # "" for a call that belongs to none
    _text("prompt"),
    _text("model"),  # "" until it is settled
    _big("at"),
    _big("calls"),
    _big("tokens_in"),
    _big("tokens_out"),
    _big("tokens_cached"),
    Column("cost_usd", Float, nullable=False),
    Index("model_calls_by_time", "tenant", "at"),
    Index("model_calls_by_run", "tenant", "run_id"),
)

review_answers = Table(
    "review_answers",
    metadata,
    _text("tenant", key=True),
    _text("run_id", key=True),
    _text("name", key=True),
    _big("at"),
    _text("record"),
)

failed_reviews = Table(
    "failed_reviews",
    metadata,
    _text("tenant", key=True),
    _text("run_id", key=True),
    _text("digest", key=True),
    _big("at"),
    _text("record"),
)

working_states = Table(
    "working_states",
    metadata,
    _text("tenant", key=True),
    _text("run_id", key=True),
    _text("agent", key=True),
    _text("record"),
)

window_lines = Table(
    "window_lines",
    metadata,
    _number(),
    _text("tenant"),
    _text("principal"),
    _text("session"),
    _text("line"),
    Index("window_lines_by_session", "tenant", "principal", "session", "number"),
    sqlite_autoincrement=True,
)

commands = Table(
    "commands",
    metadata,
    _text("tenant", key=True),
    _text("principal", key=True),
    _text("command_id", key=True),
    _text("digest"),
    _text("receipt"),
)

recalls = Table(
    "recalls",
    metadata,
    _number(),
    _text("tenant"),
    _big("at"),
    _text("principal"),
    _text("acting_user", null=True),
    _text("session", null=True),
    _text("run_id", null=True),
    _text("query"),
    _text("top_scores"),
    _text("offered"),
    _big("revision"),
    Index("recalls_by_tenant", "tenant", "number"),
    sqlite_autoincrement=True,
)

audience_keys = Table(
    "audience_keys",
    metadata,
    _number(),
    _text("tenant"),
    _text("key"),
    _text("audience"),
    UniqueConstraint("tenant", "key"),
    sqlite_autoincrement=True,
)

change_numbers = Table("change_numbers", metadata, _text("tenant", key=True), _big("change"))

memories = Table(
    "memories",
    metadata,
    _number(),
    _text("tenant"),
    _text("memory_id"),
    _big("revision"),
    _big("change"),
    _big("key"),  # number of the audience key
    _text("scope"),
    _text("status"),  # as in the record, or `forgotten`
    _text("type"),
    _text("layer"),
    _text("task_type", null=True),  # of an experience's scene
    _text("topic", null=True),
    _big("created_at"),
    _big("expires_at", null=True),
    _big("length"),  # in terms
    _text("record", null=True),  # None once forgotten
    UniqueConstraint("tenant", "memory_id"),
    Index("memories_by_change", "tenant", "change"),
    Index("memories_by_scope", "tenant", "scope", "change"),
    Index("memories_by_topic", "tenant", "topic"),
    # Covers what a filter looks at, so that statistics over the readable rows never touch a record.
    Index(
        "memories_by_key", "tenant", "key", "status", "created_at", "expires_at", "type", "layer",
        "task_type", "scope", "length",
    ),
    sqlite_autoincrement=True,
)  # fmt: skip

memory_revisions = Table(
    "memory_revisions",
    metadata,
    _big("memory", key=True),
    _big("revision", key=True),
    _big("at"),
    _text("by"),
    _text("why"),
    _text("status"),
    _text("record", null=True),
)

memory_labels = Table("memory_labels", metadata, _big("memory", key=True), _text("label", key=True))

memory_sources = Table(
    "memory_sources",
    metadata,
    _big("memory", key=True),
    _text("source_id", key=True),
    Index("memory_sources_by_source", "source_id"),
)

memory_vectors = Table(
    "memory_vectors", metadata, _big("memory", key=True), Column("vector", LargeBinary)
)

# Of a memory store apart from this database: what it has still to be told, and its own names.
intents = Table(
    "intents",
    metadata,
    _number(),
    _text("tenant"),
    _big("memory"),
    _big("revision"),
    _text("kind"),  # `put`, `drop`, or `aside` for what the store would not take
    _big("at"),
    _big("attempts"),
    _text("reason", null=True),
    Column("previous", LargeBinary),  # vector of the revision before, where the text has changed
    Index("intents_by_memory", "tenant", "memory"),
    sqlite_autoincrement=True,
)

places = Table("places", metadata, _text("tenant", key=True), _text("place"))

terms = Table(
    "terms",
    metadata,
    _number(),
    _text("tenant"),
    _text("term"),
    UniqueConstraint("tenant", "term"),
    sqlite_autoincrement=True,
)

postings = Table(
    "postings",
    metadata,
    _big("term", key=True),
    _big("key", key=True),
    _big("memory", key=True),
    _big("count"),
    Index("postings_by_memory", "memory"),
    sqlite_with_rowid=False,
)

memory_statistics = Table(
    "memory_statistics",
    metadata,
    _text("tenant", key=True),
    _text("memory_id", key=True),
    _big("accesses"),
    _big("last_accessed", null=True),
    _big("last_verified", null=True),
    Column("utility", Float, nullable=False),
)
