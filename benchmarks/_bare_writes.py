"""What the driver alone takes for the very rows that writes made, a commit for each write.

The database is copied before the writes; afterwards what each of them added is read from the one
and put into the other, by prepared statements in one transaction each, under the same pragmas. So
the same pages are touched in the same order, and nothing is decided, compared or encoded.
"""

import pathlib
import sqlite3
import time
from collections.abc import Sequence
from typing import Any

from hindsight_ray.adapters.ledger.sql import dialect

Statements = list[tuple[str, list[tuple[Any, ...]]]]
_OF_MEMORY = (("memory_revisions", "memory"), ("memory_vectors", "memory"), ("postings", "memory"))


def copied(database: pathlib.Path, to: pathlib.Path) -> pathlib.Path:
    """A copy of the database as it is now."""
    with sqlite3.connect(database) as source, sqlite3.connect(to) as target:
        source.backup(target)
    source.close()
    target.close()
    return to


def written_rows(written: pathlib.Path, before: pathlib.Path) -> list[Statements]:
    """What each memory that came since the copy was made brought along, in their order."""
    with sqlite3.connect(written) as source:
        (last,) = _first(before, "SELECT coalesce(max(number), 0) FROM memories")
        (terms,) = _first(before, "SELECT coalesce(max(number), 0) FROM terms")
        (entries,) = _first(before, "SELECT coalesce(max(number), 0) FROM audit")
        asked = "SELECT number FROM memories WHERE number > ? ORDER BY number"
        writes: list[Statements] = []
        for (number,) in source.execute(asked, (last,)).fetchall():
            statements, terms, entries = _of_one(source, number, terms, entries)
            writes.append(statements)
    source.close()
    return writes


def bare_commits(database: pathlib.Path, writes: Sequence[Statements]) -> list[float]:
    """Seconds of putting each write's rows into the copy, a commit each."""
    raw = sqlite3.connect(database, isolation_level=None, cached_statements=512)
    dialect.set_up(raw)
    taken: list[float] = []
    for statements in writes:
        start = time.perf_counter()
        raw.execute("BEGIN IMMEDIATE")
        for sql, rows in statements:
            raw.executemany(sql, rows)
        raw.execute("COMMIT")
        taken.append(time.perf_counter() - start)
    raw.close()
    return taken


def _of_one(
    source: sqlite3.Connection, number: int, terms: int, entries: int
) -> tuple[Statements, int, int]:
    """The rows that came with one memory, and the last term and audit entry among them."""
    (last,) = source.execute(
        "SELECT coalesce(max(term), 0) FROM postings WHERE memory = ?", (number,)
    ).fetchone()
    found = [
        _rows(source, "terms", "number > ? AND number <= ?", (terms, last)),
        _rows(source, "memories", "number = ?", (number,)),
        *(_rows(source, table, f"{column} = ?", (number,)) for table, column in _OF_MEMORY),
    ]
    tenant, change, name = source.execute(
        "SELECT tenant, change, memory_id FROM memories WHERE number = ?", (number,)
    ).fetchone()
    found.append(
        _rows(source, "commands", "receipt LIKE '%' || ? || '%'", (name,))  # which names the memory
    )
    found.append(_rows(source, "audit", "number = ?", (entries + 1,)))
    found.append(("UPDATE change_numbers SET change = ? WHERE tenant = ?", [(change, tenant)]))
    for table, keys in (("audit_heads", ("tenant", "writer")), ("audit_seals", ("tenant",))):
        found.append(_replaced(source, table, keys, tenant))
    return found, max(terms, last), entries + 1


def _rows(
    source: sqlite3.Connection, table: str, where: str, bound: tuple[Any, ...]
) -> tuple[str, list[tuple[Any, ...]]]:
    found = source.execute(f"SELECT * FROM {table} WHERE {where}", bound)  # noqa: S608 - constants
    places = ", ".join("?" * len(found.description))
    return f"INSERT INTO {table} VALUES ({places})", found.fetchall()  # noqa: S608 - constants


def _replaced(
    source: sqlite3.Connection, table: str, keys: Sequence[str], tenant: str
) -> tuple[str, list[tuple[Any, ...]]]:
    """The one row that every write brings up to date."""
    found = source.execute(f"SELECT * FROM {table} WHERE tenant = ?", (tenant,))  # noqa: S608
    names = [column[0] for column in found.description]
    sets = ", ".join(f"{name} = ?" for name in names if name not in keys)
    where = " AND ".join(f"{key} = ?" for key in keys)
    row = dict(zip(names, found.fetchone(), strict=True))
    bound = [row[name] for name in names if name not in keys] + [row[key] for key in keys]
    return f"UPDATE {table} SET {sets} WHERE {where}", [tuple(bound)]  # noqa: S608 - constants


def _first(database: pathlib.Path, sql: str) -> tuple[int]:
    with sqlite3.connect(database) as source:
        found = source.execute(sql).fetchone()
    source.close()
    return (int(found[0]),)
