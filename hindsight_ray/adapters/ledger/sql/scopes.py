"""The vectors of the scopes that this process writes to most, where another store searches.

Each write asks what its scope holds that is like it. A server takes milliseconds to say so; one
product of a matrix that lies here takes a fraction of one. A scope is read into memory once asking
elsewhere has cost as much as reading it does, so scopes that come and go are left to the server;
what is kept at once is bounded, and what was asked longest ago goes first.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from sqlalchemy import bindparam, func, literal, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql.columns import Columns
from hindsight_ray.adapters.ledger.sql.keys import pinned_space
from hindsight_ray.adapters.ledger.sql.nearness import best
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.rows import AGE, change_number, changed_in, light
from hindsight_ray.adapters.ledger.sql.schema import memories
from hindsight_ray.domain.rows import NearAt, RowFilter
from hindsight_ray.ports import Vector

NUMBERS_MAX = 16_000_000  # in all scopes together: 64 MB
SCOPE_MAX = 8_000_000  # in one of them
ROWS_PER_ASKING = 500  # are read in the time that a server takes to answer
_COUNTED = 1_024  # scopes whose askings are remembered

_SIZE = Ready(
    select(func.count()).select_from(
        select(literal(1))
        .where(
            memories.c.tenant == bindparam("tenant"),
            memories.c.scope == bindparam("scope"),
        )
        .limit(bindparam("limit"))
        .subquery()
    )
)
_Key = tuple[str, str, str, int, int]  # tenant, scope, model, dimension, age


class KnownScopes:
    """The columns, with vectors, of the scopes that were asked about last.

    A transaction that has changed memories may not ask: what it has not committed is not here.
    """

    def __init__(self, *, numbers_max: int = NUMBERS_MAX, scope_max: int = SCOPE_MAX) -> None:
        self._numbers_max = numbers_max
        self._scope_max = scope_max
        self._guard = threading.Lock()
        self._columns: OrderedDict[_Key, Columns] = OrderedDict()
        self._askings: OrderedDict[_Key, int] = OrderedDict()

    def nearest(
        self, connection: Connection, row_filter: RowFilter, asked: Sequence[Vector], limit: int
    ) -> NearAt | None:
        """The nearest rows of the filter's one scope; None if it is not kept here.

        They are those of the snapshot or of a change shortly before it, which the answer names.
        """
        (scope,) = row_filter.scopes or ("",)
        space = pinned_space(connection)
        if space is None:
            return None
        change = change_number(connection, row_filter.tenant)
        key = (row_filter.tenant, scope, *space, change // AGE)
        with self._guard:
            columns = self._of(connection, key)
            base = None if columns is None else columns.base(change)
            if columns is None or base is None:
                return None
            if base == columns.last != change:
                rows = changed_in(connection, row_filter.tenant, scope, base)
                columns.apply(rows, change)
                base = change
                self._let_go()
            view = columns.view(base)
        passing = np.flatnonzero(view.passing(row_filter))
        return NearAt(base, [best(view, passing, one, limit) for one in asked])

    def light(self, row_filter: RowFilter) -> bool:
        """Whether looking through the filter's one scope is no job for a thread."""
        (scope,) = row_filter.scopes or ("",)
        named = (row_filter.tenant, scope)
        return light(self._guard, self._columns, lambda key: key[:2] == named)

    def _of(self, connection: Connection, key: _Key) -> Columns | None:
        columns = self._columns.get(key)
        if columns is None and self._is_worth_reading(connection, key):
            columns = self._columns[key] = Columns(key[3])
        if columns is not None:
            self._columns.move_to_end(key)
        return columns

    def _is_worth_reading(self, connection: Connection, key: _Key) -> bool:
        tenant, scope, _, dimension, _ = key
        asked = self._askings.pop(key, 0) + 1
        self._askings[key] = asked
        if len(self._askings) > _COUNTED:
            self._askings.popitem(last=False)
        rows_max = asked * ROWS_PER_ASKING
        if rows_max * dimension > self._scope_max:
            return False
        size = _SIZE.value(connection, {"tenant": tenant, "scope": scope, "limit": rows_max + 1})
        return bool(size <= rows_max)

    def _let_go(self) -> None:
        """Keep within bounds; whoever is let go begins to count anew."""
        for key in [key for key, kept in self._columns.items() if kept.size > self._scope_max]:
            del self._columns[key]
        while sum(kept.size for kept in self._columns.values()) > self._numbers_max:
            key, _ = self._columns.popitem(last=False)
            self._askings.pop(key, None)
