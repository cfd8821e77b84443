"""A PostgreSQL server as the ledger's database: its connections, transactions and errors.

Writers take one lock of the whole ledger before they read anything, so that they follow one another
as on SQLite: change numbers and the numbers of keys rise in the order of commits, which the caches
of every process rest on. Readers take no lock; each sees one snapshot.
"""

import re
import time
from typing import Any, cast

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from hindsight_ray.adapters.ledger.sql.server import ADDRESS_IS, Server
from hindsight_ray.errors import (
    Busy,
    HindsightError,
    HomeInvalid,
    InvalidSettings,
    StorageFailed,
    Unavailable,
)

Raw = psycopg.Connection[Any]

SERVER_MIN = 13
_CONNECT_WAIT_S = 4  # for each address that the host's name has; libpq tries them in turn
_HELD_S_MAX = 30  # a writer that is silent for longer inside a transaction has lost it
_LOCK = 0x68726D31  # of the ledger's one writer, among the advisory locks of the database

_BUSY = frozenset({"40001", "40P01", "55P03", "57014"})
_TOO_MANY = "53300"  # connections; libpq says it in words alone
_STORAGE = frozenset({"53100", "58030", "25006", "53200", "XX001", "XX002", "58000"})
_AWAY = ("08", "28", "3D", "57P")
_REFUSED = re.compile(r"authentication|password|pg_hba|role .* does not exist", re.IGNORECASE)
_STARTING = re.compile(r"starting up|shutting down|not yet accepting", re.IGNORECASE)
_FULL = re.compile(r"too many (clients|connections)|connection slots", re.IGNORECASE)
_SESSION = (
    "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS s(name, value)"
)


def address_of(server: Server) -> str:
    """`host:port/database`, without user or password."""
    known = _parts(server.dsn, server.named)
    host, port = known.get("host") or known.get("hostaddr"), known.get("port")
    return f"{host or 'localhost'}:{port or 5432}/{known.get('dbname') or ''}"


class _Impatient(psycopg.Connection[Any]):
    """A connection that breaks off where the server is silent for too long.

    A server that is stopped, or whose network swallows what is sent, keeps its socket open: without
    this, whoever asked would wait for ever.
    """

    silence_s = 0.0  # no end

    def wait(self, gen: PQGen[Any], *args: Any, **kwargs: Any) -> Any:
        return super().wait(self._breaking_off(gen) if self.silence_s else gen, *args, **kwargs)

    def _breaking_off(self, gen: PQGen[Any]) -> PQGen[Any]:
        try:
            wanted = next(gen)
            since = time.monotonic()
            while True:
                ready = yield wanted
                if ready:
                    since = time.monotonic()
                elif time.monotonic() - since > self.silence_s:
                    self.close()
                    raise psycopg.OperationalError(
                        f"the server has said nothing for {self.silence_s:g} s"
                    )
                wanted = gen.send(ready)
        except StopIteration as ended:
            return ended.value


def postgres_engine(server: Server, *, lock_wait_s: float) -> Engine:
    """An engine over one server. Each connection is for one thread, and begins only on request."""
    known = _parts(server.dsn, server.named)
    wait_s = min(int(known.get("connect_timeout") or _CONNECT_WAIT_S), _CONNECT_WAIT_S)
    choices: dict[str, Any] = {
        **known,
        "application_name": "hindsight_ray",
        "connect_timeout": wait_s,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
    }
    address = make_conninfo(**choices)
    session = {
        "synchronous_commit": "on",
        "lock_timeout": f"{max(1, int(lock_wait_s * 1000))}ms",
        "tcp_keepalives_idle": "5",
        "tcp_keepalives_interval": "2",
        "tcp_keepalives_count": "3",
        "idle_in_transaction_session_timeout": f"{_HELD_S_MAX}s",
        "client_min_messages": "warning",
    }

    def connect() -> Raw:
        raw = _Impatient.connect(address, autocommit=True)
        raw.silence_s = lock_wait_s + server.silence_s
        _refuse_unfit(raw, server)
        raw.execute(_SESSION, (list(session), list(session.values()))).close()
        raw.autocommit = False
        return raw

    engine = create_engine(
        URL.create("postgresql+psycopg", host=address_of(server)),  # for messages alone
        creator=connect,
        poolclass=NullPool,
    )

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        raw = _raw(connection)
        write = bool(connection.info.get("write", False))
        level = psycopg.IsolationLevel.READ_COMMITTED
        raw.isolation_level = level if write else psycopg.IsolationLevel.REPEATABLE_READ
        raw.read_only = not write
        if write:  # each statement after the lock sees all that earlier holders committed
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})").close()

    return engine


_KEEPS = """
SELECT current_setting('autovacuum'), current_setting('autovacuum_naptime'),
       current_setting('checkpoint_timeout'), current_setting('max_wal_size'),
       current_setting('wal_keep_size'), current_setting('archive_mode'),
       (SELECT count(*) FROM pg_replication_slots),
       pg_current_wal_lsn()::text
"""


def keeps(connection: Connection) -> tuple[str, ...]:
    """Where the server holds what was deleted until now, and for how long, by its own settings."""
    row = connection.exec_driver_sql(_KEEPS).one()
    vacuum, every, checkpoint, size, kept, archive, slots, until = (str(one) for one in row)
    after = (
        f"its autovacuum, which looks every {every}, has cleared their pages and later rows have"
        " been written over them (`VACUUM FULL` does so at once)"
    )
    if vacuum == "off":
        after = "somebody has run `VACUUM FULL`: its autovacuum is off"
    recycled = (
        "until those segments are recycled, after the next checkpoints (every"
        f" {checkpoint} at the latest; max_wal_size {size}, wal_keep_size {kept}, {slots}"
        " replication slots that may hold them longer)"
    )
    archived = "none are archived"
    if archive != "off":
        archived = f"archive_mode is {archive}: archived ones, as long as the archive keeps them"
    return (
        f"the server's freed row versions: until {after}",
        f"its write-ahead log up to {until}: {recycled}; {archived}",
        "standbys: as long as the server itself, as far as they have followed",
        "its backups and dumps: as long as they are kept; one put back is erased again on opening",
    )


def broken(connection: Connection) -> bool:
    """Whether a statement has failed and PostgreSQL would answer a COMMIT by rolling back."""
    return _raw(connection).info.transaction_status == TransactionStatus.INERROR


def _raw(connection: Connection) -> Raw:
    return cast(Raw, connection.connection.driver_connection)


def _parts(dsn: str, named: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(dsn))
    except psycopg.ProgrammingError:
        raise InvalidSettings(f"{named} is no PostgreSQL address, which is {ADDRESS_IS}") from None


def _refuse_unfit(raw: Raw, server: Server) -> None:
    address = address_of(server)
    version = raw.info.server_version // 10_000
    if version < SERVER_MIN:
        raw.close()
        raise Unavailable(
            f"`ledger` at {address} is PostgreSQL {version}; it needs {SERVER_MIN} or newer",
            address=address,
        )
    encoding = raw.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raw.close()
        raise HomeInvalid(
            f"`ledger` at {address} has the encoding {encoding}; create the database with"
            " `ENCODING 'UTF8' TEMPLATE template0`",
            address=address,
        )


def translated(error: DBAPIError, address: str) -> HindsightError | None:
    """The error a caller may handle, or None for what only a mistake of ours can cause."""
    cause = error.orig
    state = str(getattr(cause, "sqlstate", None) or "")
    where, said = f"`ledger` at {address}", _said(cause)
    if state in _BUSY:
        return Busy(f"{where} is taken by others: {said}; try again", error=state)
    if state == _TOO_MANY or (_unreached(cause, state) and _FULL.search(str(cause))):
        return Busy(
            f"{where} gives out no more connections: {said}; nothing was acknowledged. Raise its"
            " `max_connections`, or run fewer processes or `ledger_readers`; then try again",
            error=_TOO_MANY,
        )
    if state in _STORAGE:
        return StorageFailed(
            f"{where} refused: {said}; nothing was acknowledged. Check the server's disk and"
            " memory, and whether it is a standby",
            error=state,
        )
    if state == "25P02":
        return StorageFailed(
            f"{where} gave this transaction up after an earlier failure in it; nothing was"
            " acknowledged",
            error=state,
        )
    if state in ("42501", "3F000"):
        remedy = "Grant the role CREATE and USAGE on the schema"
    elif state.startswith(_AWAY) or error.connection_invalidated or _unreached(cause, state):
        remedy = _remedy(str(cause))
    else:
        return None
    return Unavailable(
        f"{where} cannot be used now: {said}; nothing was acknowledged. {remedy}", address=address
    )


def _unreached(cause: BaseException | None, state: str) -> bool:
    """Whether no connection came about or it broke: libpq gives such errors no code."""
    return not state and isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)


def _remedy(text: str) -> str:
    if _STARTING.search(text):
        return "The server is starting or stopping: try again in some seconds"
    if _REFUSED.search(text):
        return "Check the user and password in the variable that `postgres_dsn_env` names"
    return "Check that PostgreSQL runs there, and the variable that `postgres_dsn_env` names"


def _said(cause: BaseException | None) -> str:
    lines = str(cause).strip().splitlines()
    return lines[0].strip() if lines else type(cause).__name__
