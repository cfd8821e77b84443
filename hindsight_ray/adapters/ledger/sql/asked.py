"""Asking the same of many at once: a list of tuples goes to the database as rows of one question.

A list is one JSON text, so that a statement is the same however long it is. Each tuple comes with
its place in front, and answers are sorted by it. What is asked of a row stands in a subquery, which
looks it up by an index: a join would be planned by guesses of how long the list is.
"""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, bindparam, literal
from sqlalchemy import cast as sql_cast
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from hindsight_ray.adapters.ledger.sql import dialect

ASKED = dialect.members(bindparam("asked")).subquery()


def asked(rows: Sequence[tuple[Any, ...]]) -> dict[str, str]:
    """What a statement over `ASKED` is given."""
    return {"asked": json.dumps([(place, *row) for place, row in enumerate(rows)])}


def text(column: int) -> ColumnElement[str]:
    """A text of the asked row; its columns count from 1."""
    return _Element(ASKED.c.value, literal(f"$[{column}]"))


def number(column: int) -> ColumnElement[int]:
    """A whole number of the asked row; column 0 is its place."""
    return sql_cast(text(column), BigInteger)


class _Element(GenericFunction[str]):
    """The element of a JSON array at a path, `$[n]`."""

    name = "json_extract"
    inherit_cache = True


@compiles(_Element, "postgresql")
def _element_of_postgres(element: _Element, compiler: SQLCompiler, **kw: Any) -> str:
    array, path = element.clauses
    place = getattr(path, "value").strip("$[]")  # noqa: B009 - a literal's
    return f"(CAST({compiler.process(array, **kw)} AS JSON) ->> {place})"
