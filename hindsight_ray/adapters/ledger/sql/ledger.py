"""The ledger over one SQL database: opening it, and its units of work."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import inspect, select, update
from sqlalchemy.engine import Connection

from hindsight_ray import ports
from hindsight_ray.adapters.ledger.sql import copying, dialect, migrations
from hindsight_ray.adapters.ledger.sql.apart import MemoriesApart, Opened, SqlIntents
from hindsight_ray.adapters.ledger.sql.asking import SqlAsking
from hindsight_ray.adapters.ledger.sql.audit import Chains, SqlAudit
from hindsight_ray.adapters.ledger.sql.beside import SqlBeside
from hindsight_ray.adapters.ledger.sql.commands import SqlCommands, SqlRecalls
from hindsight_ray.adapters.ledger.sql.connection import Lanes, Work
from hindsight_ray.adapters.ledger.sql.credits import SqlCredits
from hindsight_ray.adapters.ledger.sql.elsewhere import SqlElsewhere
from hindsight_ray.adapters.ledger.sql.keys import KnownKeys, SqlKeys, SqlSpaces
from hindsight_ray.adapters.ledger.sql.memories import SqlMemories
from hindsight_ray.adapters.ledger.sql.outcomes import SqlLayers, SqlOutcomes, SqlReviews
from hindsight_ray.adapters.ledger.sql.policy import SqlPolicy
from hindsight_ray.adapters.ledger.sql.privacy import SqlPrivacy
from hindsight_ray.adapters.ledger.sql.rows import KnownRows
from hindsight_ray.adapters.ledger.sql.runs import SqlRuns
from hindsight_ray.adapters.ledger.sql.schema import SCHEMA_OLDEST, SCHEMA_VERSION, facts, metadata
from hindsight_ray.adapters.ledger.sql.scopes import KnownScopes
from hindsight_ray.adapters.ledger.sql.series import KnownSeries
from hindsight_ray.adapters.ledger.sql.server import Server
from hindsight_ray.adapters.ledger.sql.stats import SqlStats
from hindsight_ray.adapters.ledger.sql.upkeep import SqlUpkeep
from hindsight_ray.errors import HomeInvalid

READERS = 8  # connections of one process that read; one more writes
_IDENTITY = "memory"  # among the facts
WRITER = "home"  # of the audit, where a process has no name of its own


@dataclass(frozen=True, slots=True)
class Known:
    """What this process keeps of the database between transactions."""

    rows: KnownRows
    keys: KnownKeys = field(default_factory=KnownKeys)
    scopes: KnownScopes = field(default_factory=KnownScopes)
    series: KnownSeries = field(default_factory=KnownSeries)


class SqlUnit:
    """One transaction, seen as the ledger's logs."""

    def __init__(
        self,
        work: Work,
        known: Known,
        chains: Chains,
        *,
        store_apart: bool = False,
    ) -> None:
        opened: Opened = {}
        self.work = work
        self.known_rows = known.rows
        self.runs: ports.RunLog = SqlRuns(work, known.series)
        self.outcomes: ports.OutcomeLog = SqlOutcomes(work)
        self.credits: ports.CreditLog = SqlCredits(work)
        self.reviews: ports.ReviewLog = SqlReviews(work)
        self.layers: ports.LayerLog = SqlLayers(work)
        self.commands: ports.CommandLog = SqlCommands(work)
        self.policy: ports.PolicyLog = SqlPolicy(work)
        self.audit: ports.AuditLog = SqlAudit(work, chains)
        self.recalls: ports.RecallLog = SqlRecalls(work)
        self.stats: ports.MemoryStats = SqlStats(work)
        self.privacy: ports.PrivacyLog = SqlPrivacy(work)
        self.keys: ports.AudienceKeys = SqlKeys(work, known.keys)
        self.memories: ports.Memories = (
            MemoriesApart(work, known.rows, known.scopes, opened)
            if store_apart
            else SqlMemories(work, known.rows)
        )
        self.intents: ports.IntentLog = SqlIntents(work, opened)
        self.spaces: ports.EmbeddingSpaces = SqlSpaces(work)
        self.asking: ports.AskingLog = SqlAsking(work)
        self.upkeep: ports.UpkeepLog = SqlUpkeep(work)
        self.beside: ports.VectorsBeside = SqlBeside(work)
        self.elsewhere: ports.SpacesApart = SqlElsewhere(work)

    def step(self) -> AbstractAsyncContextManager[None]:
        return self.work.step()


class SqlLedger:
    """Transactions on one database: many readers, each on a snapshot, and one writer at a time.

    With `store_apart` the memory store is elsewhere: changes of memories open intents, and vectors
    are kept for exact similarity and for what the store has not been told; in memory, those of a
    few scopes at most.
    """

    def __init__(
        self,
        where: Path | Server,
        *,
        lock_wait_s: float = 10.0,
        store_apart: bool = False,
        chains: Chains | None = None,
        readers: int = READERS,
    ) -> None:
        engine = dialect.engine_of(where, lock_wait_s=lock_wait_s)
        self._readers = Lanes(engine, size=readers, wait_s=lock_wait_s, name="ledger reader")
        self._writer = Lanes(engine, size=1, wait_s=lock_wait_s, name="ledger writer")
        self._known = Known(KnownRows(vectors=not store_apart))
        self._store_apart = store_apart
        self._in_file = isinstance(where, Path)
        self._chains = chains or Chains(WRITER, None)

    @classmethod
    async def open(
        cls,
        where: Path | Server,
        *,
        lock_wait_s: float = 10.0,
        store_apart: bool = False,
        chains: Chains | None = None,
        readers: int = READERS,
    ) -> "SqlLedger":
        """The ledger in a file or on a server, with its tables made if they are not there.

        Raises `HomeInvalid` for a database of something else, or of a newer release;
        `Unavailable` for a server that cannot be used.
        """
        ledger = cls(
            where,
            lock_wait_s=lock_wait_s,
            store_apart=store_apart,
            chains=chains,
            readers=readers,
        )
        try:
            async with ledger._unit(ledger._readers, write=False) as unit:
                ready = await unit.work.do(_is_ready)
            if not ready:
                async with ledger._unit(ledger._writer, write=True) as unit:
                    await unit.work.do(_make)
        except BaseException:
            await ledger.close()
            raise
        return ledger

    @classmethod
    async def is_begun(cls, server: Server) -> bool:
        """Whether a server's database holds a ledger. Makes none. Raises as `open` does."""
        ledger = cls(server, readers=1)
        try:
            async with ledger._unit(ledger._readers, write=False) as unit:
                return await unit.work.do(_version) > 0
        finally:
            await ledger.close()

    @property
    def in_file(self) -> bool:
        """Whether the database is a file beside which nothing else is kept of it."""
        return self._in_file

    async def shrink(self) -> None:
        """Give freed space back: no deleted byte stays in the file or its log. Raises `Busy`."""
        turn = self._writer.turn()
        try:
            lane = await turn.come()
            await asyncio.wrap_future(lane.submit(lane.alone, dialect.shrink))
        finally:
            turn.end(write=True)

    async def identity(self) -> str:
        """What this memory is called, in every copy of it: made with its tables."""
        async with self._unit(self._readers, write=False) as unit:
            return await unit.work.do(_identity)

    async def server_keeps(self) -> tuple[str, ...]:
        """What a server still holds of rows that were deleted, and until when, as it is set up."""
        async with self._unit(self._readers, write=False) as unit:
            return await unit.work.do(dialect.server_keeps)

    async def copy_out(self, folder: Path) -> dict[str, int]:
        """Write one snapshot of everything to files in `folder`; how many rows of each kind."""
        async with self._unit(self._readers, write=False) as unit:
            return await unit.work.do(copying.copy_out, folder)

    async def copy_in(self, folder: Path, once: str) -> dict[str, int]:
        """Fill this empty ledger with what `copy_out` wrote. All of it or nothing.

        Who says the same `once` again, not having heard that it was, does nothing more.
        Raises `InvalidImport`, `HomeInvalid` for a ledger that holds anything.
        """
        async with self._unit(self._writer, write=True) as unit:
            return await unit.work.do(
                copying.copy_in, folder, store_apart=self._store_apart, once=once
            )

    async def forget_once(self) -> None:
        """Nobody will say their `once` again."""
        async with self._unit(self._writer, write=True) as unit:
            await unit.work.do(copying.forget_once)

    def reading(self) -> AbstractAsyncContextManager[ports.Unit]:
        return self._unit(self._readers, write=False)

    def writing(self) -> AbstractAsyncContextManager[ports.Unit]:
        return self._unit(self._writer, write=True)

    async def close(self) -> None:
        await self._writer.close()
        await self._readers.close()

    @asynccontextmanager
    async def _unit(self, lanes: Lanes, *, write: bool) -> AsyncGenerator[SqlUnit]:
        work = Work(lanes, write=write)
        try:
            await work.begin()
            yield SqlUnit(work, self._known, self._chains, store_apart=self._store_apart)
            if write:
                await work.commit()
        finally:
            try:
                work.end()
            except BaseException:  # interrupted before it began
                work.end()
                raise


def _is_ready(connection: Connection) -> bool:
    """Whether the tables are there, as this release has them."""
    return _version(connection) == SCHEMA_VERSION


def _version(connection: Connection) -> int:
    """The version that the ledger is at, 0 where there is none yet. Raises `HomeInvalid`."""
    if not connection.dialect.has_table(connection, facts.name):
        taken = set(inspect(connection).get_table_names()) & set(metadata.tables)
        if taken:
            raise _foreign(min(taken))
        return 0
    columns = inspect(connection).get_columns(facts.name)
    if {one["name"] for one in columns} != set(facts.c.keys()):
        raise _foreign(facts.name)
    found = connection.execute(
        select(facts.c.value).where(facts.c.name == "schema")
    ).scalar_one_or_none()
    if found is None or not found.isdigit():
        raise _foreign(facts.name)
    version = int(found)
    if version > SCHEMA_VERSION:
        raise HomeInvalid(
            f"`ledger` was written by a newer release (schema {version}; this one knows"
            f" {SCHEMA_VERSION}); upgrade hindsight-ray",
            schema=version,
        )
    if version < SCHEMA_OLDEST:
        raise HomeInvalid(
            f"`ledger` was written before the first release (schema {version}; the oldest that is"
            f" brought up is {SCHEMA_OLDEST}); begin a new home",
            schema=version,
        )
    return version


def _foreign(table: str) -> HomeInvalid:
    return HomeInvalid(
        f"`ledger` is a database of something else: it has a table {table!r} that is not ours;"
        " name another folder, database or schema",
        table=table,
    )


def _make(connection: Connection) -> None:
    """Make the tables, or bring those of an older release up, in the transaction of the writer."""
    version = _version(connection)
    if version == SCHEMA_VERSION:  # somebody else has been faster
        return
    if version:
        reached = migrations.bring_up(connection, version)
        there = facts.c.name == "schema"
        connection.execute(update(facts).where(there).values(value=str(reached)))
        _name_it(connection)
        return
    metadata.create_all(connection)
    dialect.mark_ours(connection)
    connection.execute(facts.insert().values(name="schema", value=str(SCHEMA_VERSION)))
    _name_it(connection)


def _name_it(connection: Connection) -> None:
    named = {"name": _IDENTITY, "value": secrets.token_hex(16)}
    connection.execute(dialect.upsert(facts).on_conflict_do_nothing(), named)


def _identity(connection: Connection) -> str:
    found = connection.execute(select(facts.c.value).where(facts.c.name == _IDENTITY))
    return found.scalar_one()
