"""What differs between SQL databases: transactions, upserts, long lists, and what errors mean."""

import functools
import sqlite3
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Self, TypeVar, cast

from sqlalchemy import (
    BigInteger,
    Engine,
    Select,
    Table,
    Text,
    column,
    create_engine,
    event,
    select,
)
from sqlalchemy.dialects.sqlite import Insert
from sqlalchemy.engine import Connection, CursorResult
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.sql.expression import cast as sql_cast
from sqlalchemy.sql.functions import GenericFunction

from hindsight_ray.adapters.ledger.sql.server import Server
from hindsight_ray.errors import Busy, HindsightError, HomeInvalid, StorageFailed

_APPLICATION = 0x68726D31  # "hrm1", in the header of a home's database file
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def engine_of(where: Path | Server, *, lock_wait_s: float) -> Engine:
    """An engine over a file, or over a server."""
    if isinstance(where, Path):
        return sqlite_engine(where, lock_wait_s=lock_wait_s)
    return _postgres().postgres_engine(where, lock_wait_s=lock_wait_s)


def _postgres() -> ModuleType:
    from hindsight_ray.adapters.ledger.sql import postgres  # noqa: PLC0415 - with its driver, 0.1 s

    return postgres


def sqlite_engine(file: Path, *, lock_wait_s: float) -> Engine:
    """An engine over one file. Each connection has one user at a time, and begins on request."""

    def connect() -> sqlite3.Connection:
        raw = sqlite3.connect(
            file,
            timeout=lock_wait_s,
            isolation_level=None,  # `begin` says when, and with which lock
            cached_statements=512,
            check_same_thread=False,  # its lane sees to it that one uses it at a time
        )
        _refuse_foreign(raw)
        set_up(raw)
        return raw

    engine = create_engine("sqlite+pysqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        write, waits = connection.info.get("write", False), connection.info.get("waits", True)
        said = "BEGIN IMMEDIATE" if write else "BEGIN"
        raw = cast(sqlite3.Connection, connection.connection.driver_connection)
        try:  # by hand: it is in every search and every write
            if write:
                with _without_waiting(raw, lock_wait_s):
                    _begin_locked(raw, said, lock_wait_s if waits else 0.0)
            else:
                raw.execute(said).close()
        except sqlite3.Error as error:
            raise as_any_other(connection, said, error) from error

    return engine


def set_up(raw: sqlite3.Connection) -> None:
    """How a home's file is used: its log, how surely a commit is kept, and memory to work in."""
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "cache_size=-16384",
        "temp_store=MEMORY",
        "mmap_size=268435456",
    ):
        raw.execute(f"PRAGMA {pragma}").close()


def in_process(engine: Engine) -> bool:
    """Whether statements are answered in this process, in microseconds, and by no server."""
    return engine.dialect.name == "sqlite"


@contextmanager
def _without_waiting(raw: sqlite3.Connection, usual_s: float) -> Generator[None]:
    raw.execute("PRAGMA busy_timeout=0").close()
    try:
        yield
    finally:
        raw.execute(f"PRAGMA busy_timeout={int(usual_s * 1000)}").close()


def _begin_locked(raw: sqlite3.Connection, said: str, wait_s: float) -> None:
    """Get the one writer's lock, asking anew every 2 ms.

    The driver's own wait asks ever more seldom, every 100 ms in the end, and hardly ever finds the
    lock free where other processes write one transaction after the other.
    """
    until = time.monotonic() + wait_s
    while True:
        try:
            raw.execute(said).close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() >= until:
                raise
            threading.Event().wait(0.002)  # this thread alone
        else:
            return


def begin(connection: Connection, *, write: bool, waits: bool = True) -> None:
    """Start a transaction: a snapshot for reading, the one writer's lock for writing."""
    connection.info["write"], connection.info["waits"] = write, waits
    connection.begin()


def begin_unless_locked(connection: Connection) -> bool:
    """Start the writer's transaction on a file if nobody has its lock, and say so; never waits."""
    try:
        begin(connection, write=True, waits=False)
    except OperationalError as error:
        if _is_busy(error):
            return False
        raise
    return True


def undone(connection: Connection) -> bool:
    """Whether the database has rolled the open transaction back by itself.

    SQLite does so when the disk is full or fails; what follows would be committed row by row.
    """
    raw = connection.connection.driver_connection
    return isinstance(raw, sqlite3.Connection) and not raw.in_transaction


def broken(connection: Connection) -> bool:
    """Whether the open transaction would not be kept by a commit, however that ends."""
    return is_server(connection) and _postgres().broken(connection)


def is_server(connection: Connection) -> bool:
    """Whether the database is a server's, shared by processes of several machines."""
    return connection.dialect.name == "postgresql"


def overwrite_deleted(connection: Connection) -> None:
    """Have what is deleted from now on overwritten, where rows lie in a file of ours."""
    raw = connection.connection.driver_connection
    if isinstance(raw, sqlite3.Connection):
        raw.execute("PRAGMA secure_delete=ON").close()


def shrink(connection: Connection) -> None:
    """Write a file anew without its free pages, and empty its log. Raises `Busy`."""
    raw = connection.connection.driver_connection
    if not isinstance(raw, sqlite3.Connection):
        return
    try:
        raw.execute("VACUUM").close()
        (busy, _, _) = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        raise Busy(f"`ledger` is in use: {error}; try again") from error
    if busy:
        raise Busy("`ledger` is being read by another process, so its log stays; try again")


def server_keeps(connection: Connection) -> tuple[str, ...]:
    """What a server still holds of rows that were deleted, and until when, as it is set up."""
    return _postgres().keeps(connection) if is_server(connection) else ()


def _refuse_foreign(raw: sqlite3.Connection) -> None:
    """Before anything in the file is touched: a database of something else is none of ours."""
    (mark,) = raw.execute("PRAGMA application_id").fetchone()
    (tables,) = raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark not in (0, _APPLICATION) or (mark == 0 and tables):
        raise HomeInvalid("`ledger` is a database of something else; name another folder")


def mark_ours(connection: Connection) -> None:
    if not is_server(connection):
        connection.exec_driver_sql(f"PRAGMA application_id={_APPLICATION}")


class Upsert(Insert):
    """An INSERT that knows `on_conflict_do_update` and `on_conflict_do_nothing`.

    SQLite's, whose module is loaded anyway. PostgreSQL's compiler writes it down as it is, but for
    one thing that it asks of a clause: whether a constraint is named.
    """

    inherit_cache = True

    def on_conflict_do_nothing(self, *asked: Any, **how: Any) -> Self:
        return _unnamed(super().on_conflict_do_nothing(*asked, **how))

    def on_conflict_do_update(self, *asked: Any, **how: Any) -> Self:
        return _unnamed(super().on_conflict_do_update(*asked, **how))


U = TypeVar("U", bound=Upsert)


def _unnamed(put: U) -> U:
    clause = getattr(put, "_post_values_clause")  # noqa: B009 - there is no public way to it
    clause.constraint_target = None
    return put


def upsert(table: Table) -> Upsert:
    return Upsert(table)


class _Elements(GenericFunction[str]):
    """The elements of a JSON array, one row each, in the column `value`."""

    name = "json_each"
    inherit_cache = True


@compiles(_Elements, "postgresql")
def _elements_of_postgres(element: _Elements, compiler: SQLCompiler, **kw: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **kw)} AS JSON))"


class Listed(GenericFunction[str]):
    """A group's values as one text, with commas between them."""

    name = "group_concat"
    inherit_cache = True


@compiles(Listed, "postgresql")
def _listed_of_postgres(element: Listed, compiler: SQLCompiler, **kw: Any) -> str:
    return f"string_agg(CAST({compiler.process(element.clauses, **kw)} AS TEXT), ',')"


def members(bind: BindParameter[str]) -> Select[*tuple[Any, ...]]:
    """The texts of a JSON array as rows: one bind however long the list is."""
    return select(column("value", Text)).select_from(_Elements(bind).table_valued("value"))


def numbers(bind: BindParameter[str]) -> Select[*tuple[Any, ...]]:
    """The whole numbers of a JSON array as rows."""
    value = sql_cast(column("value", Text), BigInteger)
    return select(value).select_from(_Elements(bind).table_valued("value"))


@functools.lru_cache(maxsize=64)
def _bulk_sql(table: Table, columns: tuple[str, ...], dialect: Any) -> str:
    if dialect.name == "postgresql":
        return _bulk_of_arrays(table, columns, dialect)
    return str(table.insert().compile(dialect=dialect, column_keys=list(columns)))


def _bulk_of_arrays(table: Table, columns: tuple[str, ...], dialect: Any) -> str:
    """One statement for any number of rows: a list for each column.

    In binary: as text, each quotation mark in a record would be marked one by one, in Python.
    """
    quote = dialect.identifier_preparer.quote
    kinds = [table.c[name].type.compile(dialect=dialect).split(" COLLATE")[0] for name in columns]
    names = ", ".join(quote(name) for name in columns)
    lists = ", ".join(f"%b::{kind}[]" for kind in kinds)
    return f"INSERT INTO {quote(table.name)} ({names}) SELECT * FROM unnest({lists})"  # noqa: S608


def insert_rows(
    connection: Connection, table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> None:
    """INSERT many rows in one round, without a value processor between them and the driver.

    `columns` must be in the table's order.
    """
    if not rows:
        return
    sql = _bulk_sql(table, columns, connection.dialect)
    raw = connection.connection.driver_connection
    if not isinstance(raw, sqlite3.Connection):
        connection.exec_driver_sql(sql, tuple(list(values) for values in zip(*rows, strict=True)))
        return
    try:
        raw.executemany(sql, rows)
    except sqlite3.Error as error:
        raise as_any_other(connection, sql, error) from error


def insert_or_none(
    connection: Connection, table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> bool:
    """INSERT all of these rows, or none where one of them is there already; whether it did.

    `table` numbers its rows in a column `number`.
    """
    if not is_server(connection):
        try:
            with attempt(connection):
                insert_rows(connection, table, columns, rows)
        except IntegrityError:
            return False
        return True
    # One round instead of three; what was inserted beside what was not is taken back.
    sql = f"{_bulk_sql(table, columns, connection.dialect)} ON CONFLICT DO NOTHING RETURNING number"
    lists = tuple(list(values) for values in zip(*rows, strict=True))
    numbers = [number for (number,) in plain_rows(connection.exec_driver_sql(sql, lists))]
    if len(numbers) == len(rows):
        return True
    name = connection.dialect.identifier_preparer.quote(table.name)
    undo = f"DELETE FROM {name} WHERE number = ANY(%s)"  # noqa: S608 - a table of ours
    connection.exec_driver_sql(undo, (numbers,)).close()
    return False


def as_any_other(connection: Connection, sql: str, error: sqlite3.Error) -> Exception:
    """SQLAlchemy's error of a statement that was said to the driver itself."""
    made = DBAPIError.instance(sql, None, error, sqlite3.Error, dialect=connection.dialect)
    return cast(Exception, made)


@contextmanager
def attempt(connection: Connection) -> Generator[None]:
    """A savepoint: left by an exception, what was done in it is undone, and no more."""
    savepoint(connection)
    try:
        yield
    except BaseException:
        if not undone(connection):
            to_savepoint(connection)
        raise
    release(connection)


def savepoint(connection: Connection) -> None:
    """Set a mark in the transaction. Marks nest; the latest is meant by the two below."""
    connection.exec_driver_sql("SAVEPOINT step").close()


def to_savepoint(connection: Connection) -> None:
    """Undo what came after the mark, and the mark."""
    connection.exec_driver_sql("ROLLBACK TO SAVEPOINT step").close()
    release(connection)


def release(connection: Connection) -> None:
    """Forget the mark: what came after it stays."""
    connection.exec_driver_sql("RELEASE SAVEPOINT step").close()


def plain_rows(result: CursorResult[*tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """All rows as the driver's own tuples: a third of the cost, for columns that need no care."""
    cursor = result.cursor
    if cursor is None:
        return []
    rows = cast(list[tuple[Any, ...]], cursor.fetchall())
    result.close()
    return rows


def translated(error: DBAPIError, engine: Engine) -> HindsightError | None:
    """The error a caller may handle, or None for what only a mistake of ours can cause."""
    if engine.dialect.name == "postgresql":
        return _postgres().translated(error, engine.url.host or "")
    if _is_busy(error):
        return Busy("`ledger` is locked by another writer for longer than `lock_wait_s`; try again")
    if getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
        return HomeInvalid("`ledger` is a file of something else; name another folder")
    if isinstance(error, OperationalError) or type(error.orig) is sqlite3.DatabaseError:
        name = getattr(error.orig, "sqlite_errorname", type(error.orig).__name__)
        return StorageFailed(
            f"`ledger` refused: {error.orig} ({name}); nothing was acknowledged."
            " Check free space, permissions and the disk",
            error=name,
        )
    return None


def _is_busy(error: DBAPIError) -> bool:
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in _BUSY
