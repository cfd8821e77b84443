"""Statements that run thousands of times: compiled once, then said to the driver without detours.

Looking a statement up, copying its parameters and wrapping its rows takes SQLAlchemy several times
what SQLite takes to answer. Here a statement is text and an order of parameters after its first
use; rows are the driver's own tuples. Errors are SQLAlchemy's, as everywhere else.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ClauseElement
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.sql.compiler import SQLCompiler

from hindsight_ray.adapters.ledger.sql import dialect

Bound = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Text:
    """A statement in one database's words."""

    sql: str
    names: Sequence[str]  # of its parameters, in order, where the driver goes by place
    constants: Bound  # of the statement itself


class Ready:
    """One statement, for columns that need no care between the driver and their reader.

    `columns` are those that an INSERT without values is given.
    """

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = None if columns is None else list(columns)
        self._texts: dict[str, _Text] = {}

    def rows(self, connection: Connection, bound: Bound) -> list[tuple[Any, ...]]:
        """All rows of a SELECT, or of what RETURNING returns."""
        text = self._text(connection)
        raw = connection.connection.driver_connection
        if isinstance(raw, sqlite3.Connection):
            return _said(connection, raw, text, bound).fetchall()
        return dialect.plain_rows(connection.exec_driver_sql(text.sql, {**text.constants, **bound}))

    def row(self, connection: Connection, bound: Bound) -> tuple[Any, ...] | None:
        """The first row, or None."""
        found = self.rows(connection, bound)
        return found[0] if found else None

    def value(self, connection: Connection, bound: Bound) -> Any:
        """The first row's first column, or None."""
        found = self.rows(connection, bound)
        return found[0][0] if found else None

    def run(self, connection: Connection, bound: Bound) -> None:
        """Carry out what returns no rows."""
        text = self._text(connection)
        raw = connection.connection.driver_connection
        if isinstance(raw, sqlite3.Connection):
            _said(connection, raw, text, bound)
        else:
            connection.exec_driver_sql(text.sql, {**text.constants, **bound}).close()

    def _text(self, connection: Connection) -> _Text:
        spoken = connection.dialect
        return self._texts.get(spoken.name) or self._compiled(spoken)

    def _compiled(self, spoken: Dialect) -> _Text:
        done = self._statement.compile(dialect=spoken, column_keys=self._columns)
        assert isinstance(done, SQLCompiler)  # noqa: S101 - what is said here is no DDL
        given = {name: bind.value for bind, name in done.bind_names.items() if not bind.required}
        for name in self._columns or ():
            given.pop(name, None)
        text = _Text(done.string, done.positiontup or (), given)
        self._texts[spoken.name] = text
        return text


def _said(
    connection: Connection, raw: sqlite3.Connection, text: _Text, bound: Bound
) -> sqlite3.Cursor:
    if text.constants:
        bound = {**text.constants, **bound}
    values = [bound[name] for name in text.names]
    try:
        return raw.execute(text.sql, values)
    except sqlite3.Error as error:
        raise dialect.as_any_other(connection, text.sql, error) from error
