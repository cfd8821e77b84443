"""The whole ledger as files and back: every row of one snapshot, the same for every database.

Vectors are rows of the ledger, also where a store apart searches them. So one snapshot holds both,
consistent with each other; when it is put back, each memory gets an intent, and the store is told
from there, in a place of its own, as it is told of any change.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import LargeBinary, Select, Table, func, insert, literal, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, ProgrammingError

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.elsewhere import NOTED
from hindsight_ray.adapters.ledger.sql.schema import (
    SCHEMA_VERSION,
    facts,
    intents,
    memories,
    memory_vectors,
    metadata,
    places,
)
from hindsight_ray.errors import HomeInvalid, InvalidImport

MANIFEST = "manifest.json"
_FORMAT = 1
_ONCE = "filled by"  # who has filled the ledger, until they know that they have
_ROWS = 1_000  # read and written at a time
# What reading a line, or putting it into a table, raises where it is no row of that table.
_NO_ROWS = (
    ValueError, TypeError, LookupError, ArithmeticError, RecursionError,
    IntegrityError, DataError, ProgrammingError, InterfaceError,
)  # fmt: skip
_NOT_COPIED = frozenset({intents.name, places.name})  # of a store that is not copied


def copy_out(connection: Connection, folder: Path) -> dict[str, int]:
    """Write each table to a file of JSON lines, then the manifest; how many rows each has."""
    counts: dict[str, int] = {}
    digests: dict[str, str] = {}
    for table in _tables():
        path = folder / f"{table.name}.jsonl"
        counts[table.name], digests[table.name] = _write(connection, table, path)
    manifest = {
        "format": _FORMAT,
        "schema": SCHEMA_VERSION,
        "rows": counts,
        "sha256": digests,
    }
    draft = folder / f".{MANIFEST}"
    draft.write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    draft.replace(folder / MANIFEST)  # last: a copy without it is none
    return counts


def copy_in(
    connection: Connection, folder: Path, *, store_apart: bool, once: str
) -> dict[str, int]:
    """Fill an empty ledger from a copy, in the caller's transaction: all of it or nothing.

    Whoever was stopped before it heard of the commit says the same `once`, and nothing is done.

    Raises `InvalidImport` for a copy that is not whole or of another version, before any line of it
    is looked at, and for lines that are no rows; `HomeInvalid` if the ledger holds anything.
    """
    manifest = _manifest(folder)
    if connection.execute(_filled_by(once)).scalar_one_or_none():
        return dict(manifest["rows"])
    for table in _tables():
        _check(folder / f"{table.name}.jsonl", manifest["sha256"].get(table.name))
    _check_empty(connection)
    connection.execute(facts.delete())
    for table in _tables():
        path = folder / f"{table.name}.jsonl"
        try:
            count = _read(connection, table, path)
        except _NO_ROWS as error:
            raise InvalidImport(
                f"`{path}` holds a line that is no row of {table.name!r}: it was changed, and the"
                " manifest with it",
                path=str(path),
            ) from error
        if count != manifest["rows"].get(table.name):
            raise _changed(path)
    # A copy has places of its own: what the other's hold, or are to hold, is not its to leave.
    connection.execute(facts.delete().where(facts.c.name.in_([*NOTED, _ONCE])))
    connection.execute(facts.insert().values(name=_ONCE, value=once))
    if dialect.is_server(connection):
        _count_on(connection)
    if store_apart:
        _tell_all(connection)
    return dict(manifest["rows"])


def _check_empty(connection: Connection) -> None:
    for table in _tables():
        wanted = 2 if table is facts else 0  # its version, and what it is called
        if connection.execute(select(func.count()).select_from(table)).scalar_one() > wanted:
            raise HomeInvalid(
                f"`ledger` is not empty: there are rows in {table.name!r}; restore into a new home,"
                " and on a server into an empty database"
            )


def forget_once(connection: Connection) -> None:
    """Whoever filled the ledger knows by other means that it has."""
    connection.execute(facts.delete().where(facts.c.name == _ONCE))


def _filled_by(once: str) -> Select[tuple[str]]:
    return select(facts.c.value).where(facts.c.name == _ONCE, facts.c.value == once)


def _tables() -> Iterator[Table]:
    return (table for table in metadata.sorted_tables if table.name not in _NOT_COPIED)


def _write(connection: Connection, table: Table, path: Path) -> tuple[int, str]:
    digest, count = hashlib.sha256(), 0
    binary = [isinstance(column.type, LargeBinary) for column in table.columns]
    rows = connection.execution_options(yield_per=_ROWS).execute(
        select(table).order_by(*table.primary_key.columns)
    )
    with path.open("wb") as file:
        for row in rows:
            values = [_plain(v) if b else v for v, b in zip(row, binary, strict=True)]
            line = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            digest.update(line)
            file.write(line)
            count += 1
    return count, digest.hexdigest()


def _plain(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode("ascii")


def _check(path: Path, wanted: object) -> None:
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
            raise _changed(path)


def _changed(path: Path) -> InvalidImport:
    return InvalidImport(
        f"`{path}` is not what the manifest says: the copy was cut or changed", path=str(path)
    )


def _read(connection: Connection, table: Table, path: Path) -> int:
    """Put the file's rows into the table; how many."""
    names = [column.name for column in table.columns]
    binary = {i for i, c in enumerate(table.columns) if isinstance(c.type, LargeBinary)}
    rows, count = list[tuple[Any, ...]](), 0
    with path.open("rb") as file:
        for line in file:
            values = json.loads(line)
            for i in binary:
                values[i] = None if values[i] is None else base64.b64decode(values[i])
            rows.append(tuple(values))
            count += 1
            if len(rows) == _ROWS:
                dialect.insert_rows(connection, table, tuple(names), rows)
                rows = []
    dialect.insert_rows(connection, table, tuple(names), rows)
    return count


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        known = manifest["format"], manifest["schema"]
        manifest |= {name: dict(manifest[name]) for name in ("rows", "sha256")}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidImport(
            f"`{folder}` is no whole copy of a ledger: {error}", path=str(folder)
        ) from None
    if known != (_FORMAT, SCHEMA_VERSION):
        raise InvalidImport(
            f"`{folder}` has format and schema {known}, and this release reads"
            f" {(_FORMAT, SCHEMA_VERSION)}; restore it with the release that wrote it",
            path=str(folder),
        )
    missing = [t.name for t in _tables() if not (folder / f"{t.name}.jsonl").is_file()]
    if missing:
        raise InvalidImport(f"`{folder}` lacks {missing[0]}.jsonl", path=str(folder))
    return manifest


def _count_on(connection: Connection) -> None:
    """Have each numbered table go on after the highest number that was put in."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None or table.name in _NOT_COPIED:
            continue
        highest = select(func.coalesce(func.max(column), 0)).scalar_subquery()
        sequence = func.pg_get_serial_sequence(table.name, column.name)
        connection.execute(select(func.setval(sequence, highest + 1, text("false"))))


def _tell_all(connection: Connection) -> None:
    """Open an intent for every memory that has a vector: a fresh store knows of none."""
    told = (
        select(
            memories.c.tenant, memories.c.number, memories.c.revision, literal("put"),
            literal(0), literal(0),  # since 1970: nobody has it in hand
        )
        .join(memory_vectors, memory_vectors.c.memory == memories.c.number)
        .order_by(memories.c.number)
    )  # fmt: skip
    names = ["tenant", "memory", "revision", "kind", "at", "attempts"]
    connection.execute(insert(intents).from_select(names, told))
    for tenant in connection.execute(select(memories.c.tenant).distinct()).scalars().all():
        fresh = {"tenant": tenant, "place": f"t{secrets.token_hex(16)}"}
        connection.execute(places.insert(), fresh)
