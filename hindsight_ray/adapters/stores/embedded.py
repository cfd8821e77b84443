"""Exact vector search over the readable rows, with vectors from the ledger's own file.

Each process keeps a tenant's vectors in one matrix with the columns that filters look at beside
it. Before every search the columns are brought to the change number that the caller's transaction
sees, so the answer is that of the snapshot, whoever wrote and from whichever process.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from sqlalchemy import bindparam, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql.keys import pinned_space
from hindsight_ray.adapters.ledger.sql.ledger import SqlUnit
from hindsight_ray.adapters.ledger.sql.memories import change_number, unit_vector
from hindsight_ray.adapters.ledger.sql.schema import (
    audience_keys,
    memories,
    memory_labels,
    memory_vectors,
)
from hindsight_ray.adapters.stores.columns import Columns, Ints, Row, View
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import Near, RowFilter
from hindsight_ray.errors import InvalidVector
from hindsight_ray.ports import Unit, Vector

_TENANTS_KEPT = 32
_ROUNDING = 1e-5  # more than the float32 products of one pair differ by, in whichever place
_GATHER_BELOW = 0.3  # share of rows under which copying them costs less than multiplying all

_m = memories.c
_CHANGED_ROWS = (
    select(
        _m.number, _m.memory_id, _m.revision, _m.change, audience_keys.c.key, _m.scope, _m.status,
        _m.type, _m.layer, _m.task_type, _m.created_at, _m.expires_at, memory_vectors.c.vector,
    )
    .join(audience_keys, audience_keys.c.number == _m.key)
    .outerjoin(memory_vectors, memory_vectors.c.memory == _m.number)
    .where(_m.tenant == bindparam("tenant"), _m.change > bindparam("after"))
    .order_by(_m.change)
)  # fmt: skip
_CHANGED_LABELS = (
    select(memory_labels.c.memory, memory_labels.c.label)
    .join(memories, _m.number == memory_labels.c.memory)
    .where(_m.tenant == bindparam("tenant"), _m.change > bindparam("after"))
)


class EmbeddedStore:
    """`MemoryStore` over the vectors in the ledger's database."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._columns: OrderedDict[str, Columns] = OrderedDict()

    async def nearest(
        self, unit: Unit, row_filter: RowFilter, vector: Vector, *, limit: int
    ) -> Sequence[Near]:
        """The nearest rows; equal similarities by memory id, whatever else the tenant holds."""
        if not isinstance(unit, SqlUnit):
            raise TypeError("the embedded store reads the file of the SQL ledger's own unit")
        asked = unit_vector(vector)
        if row_filter.empty or limit < 1:
            return ()
        private = unit.work.changed_memories
        return await unit.work.do(self._nearest, row_filter, asked, limit, private)

    async def close(self) -> None:
        with self._guard:
            self._columns.clear()

    def _nearest(
        self,
        connection: Connection,
        row_filter: RowFilter,
        asked: Vector,
        limit: int,
        private: bool,
    ) -> list[Near]:
        pinned = pinned_space(connection)
        if pinned is None:
            return []
        if len(asked) != pinned[1]:
            raise InvalidVector(
                f"`vector` has {len(asked)} numbers; this home's space has {pinned[1]}",
                dimension=pinned[1],
            )
        base, changed, since = self._views(connection, row_filter.tenant, pinned[1], private)
        mask = base.passing(row_filter)
        if since:
            mask &= ~np.isin(base.column("number"), since)
        found = _best(base, np.flatnonzero(mask), asked, limit)
        if changed is not None:
            found += _best(changed, np.flatnonzero(changed.passing(row_filter)), asked, limit)
        found.sort(key=lambda near: (-near.similarity, near.ref.id))
        return found[:limit]

    def _views(
        self, connection: Connection, tenant: str, dimension: int, private: bool
    ) -> tuple[View, View | None, list[int]]:
        """What this transaction sees: a shared view, what changed since it, whose rows those are.

        The shared columns move on only by what is committed. A transaction that has changed
        memories itself, or whose snapshot is older than the columns, gets the difference beside
        them, so that it neither shows its rows to others nor sees theirs.
        """
        change = change_number(connection, tenant)
        with self._guard:
            columns = self._of(tenant, dimension)
            base = columns.base(change)
            if base is not None and base == columns.last != change and not private:
                columns.apply(_changed(connection, tenant, base), change)
                base = change
            shared = columns.view(base or 0)
        if base == change:
            return shared, None, []
        rows = _changed(connection, tenant, base or 0)
        changed = Columns(dimension)
        changed.apply(rows, change)
        return shared, changed.view(change), [row.number for row in rows]

    def _of(self, tenant: str, dimension: int) -> Columns:
        columns = self._columns.get(tenant)
        if columns is None:
            columns = self._columns[tenant] = Columns(dimension)
            while len(self._columns) > _TENANTS_KEPT:
                self._columns.popitem(last=False)
        self._columns.move_to_end(tenant)
        return columns


def _changed(connection: Connection, tenant: str, after: int) -> list[Row]:
    """The tenant's memories whose last change is later than `after`, as they are now."""
    asked = {"tenant": tenant, "after": after}
    labels: dict[int, list[str]] = {}
    for number, label in connection.execute(_CHANGED_LABELS, asked):
        labels.setdefault(number, []).append(label)
    return [
        Row(
            row.number,
            row.memory_id,
            row.revision,
            row.change,
            row.key,
            row.scope,
            row.status,
            row.type,
            row.layer,
            row.task_type,
            row.created_at,
            row.expires_at,
            tuple(labels.get(row.number, ())),
            None if row.vector is None else np.frombuffer(row.vector, dtype=np.float32),
        )
        for row in connection.execute(_CHANGED_ROWS, asked)
    ]


def _best(view: View, rows: Ints, asked: Vector, limit: int) -> list[Near]:
    """The best `limit` of these rows, and no fewer for being equal to others.

    A float32 product depends in its last digits on where a row stands in the matrix, so it only
    selects candidates; their order comes from sums in float64, row by row.
    """
    if not len(rows):
        return []
    if len(rows) < len(view.matrix) * _GATHER_BELOW:
        rough = view.matrix[rows] @ asked
    else:
        rough = (view.matrix @ asked)[rows]
    if len(rows) > limit:
        edge = np.partition(rough, len(rows) - limit)[len(rows) - limit]
        rows = rows[rough >= edge - _ROUNDING]
    exact = (view.matrix[rows].astype(np.float64) * asked).sum(axis=1)
    revisions = view.column("revision")
    found = [
        Near(
            ref=MemoryRef(id=MemoryUuid(view.ids[int(row)]), revision=int(revisions[row])),
            similarity=min(1.0, max(-1.0, float(similarity))),
        )
        for row, similarity in zip(rows, exact, strict=True)
    ]
    found.sort(key=lambda near: (-near.similarity, near.ref.id))
    return found[:limit]
