"""Which rows there are, kept in this process and brought to what a transaction sees.

Filtering thousands of rows in SQL costs milliseconds for each route of each search; as columns of
numbers it costs microseconds. The columns are only ever moved on by committed changes, in the order
of the tenant's change number, so what they answer is what the transaction's snapshot holds.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from sqlalchemy import bindparam, null, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql.columns import Bools, Columns, Row, View
from hindsight_ray.adapters.ledger.sql.keys import pinned_space
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import (
    audience_keys,
    change_numbers,
    memories,
    memory_labels,
    memory_vectors,
)
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.ports import Vector

_TENANTS_KEPT = 32
_LIGHT = 2_000_000  # numbers in columns: looking through them takes less than 1 ms
AGE = 1 << 40  # a tenant that was dropped and comes back counts its changes from the next one
_Space = tuple[str, int] | None
K = TypeVar("K")

_m = memories.c
_CHANGE = Ready(
    select(change_numbers.c.change).where(change_numbers.c.tenant == bindparam("tenant"))
)
_CHANGED = (
    select(
        _m.number, _m.memory_id, _m.revision, _m.change, audience_keys.c.key, _m.scope, _m.status,
        _m.type, _m.layer, _m.task_type, _m.created_at, _m.expires_at, _m.length,
        null().label("vector"),
    )
    .join(audience_keys, audience_keys.c.number == _m.key)
    .where(_m.tenant == bindparam("tenant"), _m.change > bindparam("after"))
    .order_by(_m.change)
)  # fmt: skip
_CHANGED_ROWS = (
    select(*_CHANGED.selected_columns[:-1], memory_vectors.c.vector)
    .join(audience_keys, audience_keys.c.number == _m.key)
    .outerjoin(memory_vectors, memory_vectors.c.memory == _m.number)
    .where(_m.tenant == bindparam("tenant"), _m.change > bindparam("after"))
    .order_by(_m.change)
)
_LABELS = (
    select(memory_labels.c.memory, memory_labels.c.label)
    .join(memories, _m.number == memory_labels.c.memory)
    .where(_m.tenant == bindparam("tenant"), _m.change > bindparam("after"))
)
_CHANGED_LABELS = Ready(_LABELS)
_OF_ROWS, _OF_ROWS_AND_VECTORS = Ready(_CHANGED), Ready(_CHANGED_ROWS)
_IN_SCOPE = _m.scope == bindparam("scope")
_OF_SCOPE = Ready(_CHANGED_ROWS.where(_IN_SCOPE))
_LABELS_OF_SCOPE = Ready(_LABELS.where(_IN_SCOPE))


@dataclass(frozen=True, slots=True)
class Passing:
    """Rows of one view, and which of them pass a filter."""

    view: View
    mask: Bools


class KnownRows:
    """The columns of the tenants that this process asked for last."""

    def __init__(self, *, vectors: bool = True) -> None:
        """Without `vectors`, which another store searches, the rows alone are kept."""
        self._vectors = vectors
        self._guard = threading.Lock()
        self._columns: OrderedDict[tuple[str, _Space, int], Columns] = OrderedDict()
        self._last: tuple[tuple[_Space, int, RowFilter], Passing] | None = None

    def passing(
        self, connection: Connection, row_filter: RowFilter, *, private: bool
    ) -> list[Passing]:
        """The rows that pass, in one part or two: shared rows, and those changed since.

        `private` says that the transaction has changed memories itself. Then, and where its
        snapshot is older than the columns, it gets the difference beside them: it neither shows
        its rows to others nor sees theirs.
        """
        tenant = row_filter.tenant
        change = change_number(connection, tenant)
        space = pinned_space(connection) if self._vectors else None
        with self._guard:
            columns = self._of(tenant, space, change // AGE, private=private)
            base = columns.base(change)
            if base is not None and base == columns.last != change and not private:
                columns.apply(self._changed(connection, tenant, base), change)
                base = change
            shared = columns.view(base or 0)
        if base == change:
            return [self._masked(shared, row_filter, space)]
        mask = shared.passing(row_filter)
        rows = self._changed(connection, tenant, base or 0)
        mask &= ~np.isin(shared.column("number"), [row.number for row in rows])
        since = Columns(columns.dimension)
        since.apply(rows, change)
        changed = since.view(change)
        return [Passing(shared, mask), Passing(changed, changed.passing(row_filter))]

    def light(self, tenant: str) -> bool:
        """Whether looking through the tenant's columns is no job for a thread."""
        return light(self._guard, self._columns, lambda key: key[0] == tenant)

    def _masked(self, view: View, row_filter: RowFilter, space: _Space) -> Passing:
        """The routes of one search ask with one filter: the last one's answer is kept."""
        last = self._last
        if last is not None and last[0] == (space, view.change, row_filter):
            return last[1]
        passing = Passing(view, view.passing(row_filter))
        self._last = ((space, view.change, row_filter), passing)
        return passing

    def _of(self, tenant: str, space: _Space, age: int, *, private: bool) -> Columns:
        """The tenant's columns in the space that the transaction sees: vectors never mix."""
        key = (tenant, space, age)
        columns = self._columns.get(key)
        if columns is None:
            columns = Columns(0 if space is None else space[1])
            if private:  # the space itself may be this transaction's alone
                return columns
            for old in [one for one in self._columns if one[0] == tenant and one[1] is None]:
                del self._columns[old]
            self._columns[key] = columns
            while len(self._columns) > _TENANTS_KEPT:
                self._columns.popitem(last=False)
        self._columns.move_to_end(key)
        return columns

    def _changed(self, connection: Connection, tenant: str, after: int) -> list[Row]:
        asked = _OF_ROWS_AND_VECTORS if self._vectors else _OF_ROWS
        return _changed(connection, tenant, after, asked)


def light(guard: threading.Lock, kept: Mapping[K, Columns], mine: Callable[[K], bool]) -> bool:
    """Whether the columns that are `mine` are kept, small and in nobody's hands.

    What others have changed since must still be read; that is as much as they wrote lately.
    """
    if not guard.acquire(blocking=False):
        return False
    try:
        sizes = [columns.size for key, columns in kept.items() if mine(key)]
    finally:
        guard.release()
    return bool(sizes) and max(sizes) <= _LIGHT


def change_number(connection: Connection, tenant: str) -> int:
    """The tenant's last change as this transaction sees it, 0 before the first."""
    return _CHANGE.value(connection, {"tenant": tenant}) or 0


def changed_in(connection: Connection, tenant: str, scope: str, after: int) -> list[Row]:
    """The memories of one scope whose last change is later than `after`, with their vectors."""
    asked = {"tenant": tenant, "after": after, "scope": scope}
    return _rows(connection, asked, _OF_SCOPE, _LABELS_OF_SCOPE)


def _changed(connection: Connection, tenant: str, after: int, statement: Ready) -> list[Row]:
    """The tenant's memories whose last change is later than `after`, as they are now."""
    asked = {"tenant": tenant, "after": after}
    return _rows(connection, asked, statement, _CHANGED_LABELS)


def _rows(
    connection: Connection, asked: Mapping[str, Any], of_rows: Ready, of_labels: Ready
) -> list[Row]:
    labels: dict[int, list[str]] = {}
    for number, label in of_labels.rows(connection, asked):
        labels.setdefault(number, []).append(label)
    of_columns = cast(Callable[..., Row], Row)  # the statement selects them in the row's order
    return [
        of_columns(*row[:-1], labels.get(row[0], ()), _vector(row[-1]))
        for row in of_rows.rows(connection, asked)
    ]


def _vector(stored: bytes | None) -> Vector | None:
    return None if stored is None else np.frombuffer(stored, dtype=np.float32)
