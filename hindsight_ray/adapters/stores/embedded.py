"""Exact vector search over the readable rows, with vectors from the ledger's own file.

The rows and their vectors are the ledger's columns in this process, at the caller's snapshot; so
the answer is that of the transaction, whoever wrote and from whichever process.
"""

from collections.abc import Sequence

import numpy as np
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql.keys import pinned_space
from hindsight_ray.adapters.ledger.sql.ledger import SqlUnit
from hindsight_ray.adapters.ledger.sql.memories import unit_vector
from hindsight_ray.adapters.ledger.sql.nearness import best
from hindsight_ray.adapters.ledger.sql.rows import KnownRows
from hindsight_ray.adapters.stores.moved import moved
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import Near, RowFilter
from hindsight_ray.errors import InvalidVector
from hindsight_ray.ports import Placed, StoredObject, Unit, Vector


class EmbeddedStore:
    """`MemoryStore` over the vectors in the ledger's database: it has nothing to be told.

    `model` is whose vectors it is asked about; None asks about whatever space there is.
    """

    def __init__(self, model: str | None = None) -> None:
        self._model = model

    @property
    def shares_ledger(self) -> bool:
        return True

    @property
    def life(self) -> int:
        return 0

    async def check(self, *, surely: bool = False) -> None:
        """The ledger itself says whether it takes anything."""

    async def check_space(self, unit: Unit) -> None:
        """The ledger refuses vectors of another space, and keeps what has none."""

    async def nearest(
        self, unit: Unit, row_filter: RowFilter, vector: Vector, *, limit: int
    ) -> Sequence[Near]:
        """The nearest rows; equal similarities by memory id, whatever else the tenant holds.

        Raises `SpaceMismatch` once the home has been moved to another model: spaces never mix.
        """
        if not isinstance(unit, SqlUnit):
            raise TypeError("the embedded store reads the file of the SQL ledger's own unit")
        asked = unit_vector(vector)
        if row_filter.empty or limit < 1:
            return ()
        light = unit.known_rows.light(row_filter.tenant)
        return await (unit.work.brief if light else unit.work.do)(
            _nearest,
            unit.known_rows,
            row_filter,
            asked,
            limit=limit,
            private=unit.work.changed_memories,
            model=self._model,
        )

    async def lacks(self, place: str) -> bool:  # noqa: ARG002 - it has no places
        return False

    async def put(self, objects: Sequence[StoredObject]) -> None:
        """Committed with the ledger already."""

    async def delete(self, gone: Sequence[Placed]) -> None:
        """Likewise."""

    async def held(
        self,
        place: str,  # noqa: ARG002 - it has no places
        *,
        after: MemoryRef | None = None,  # noqa: ARG002
        limit: int | None = None,  # noqa: ARG002
    ) -> Sequence[MemoryRef]:
        return ()

    async def leave(self, place: str) -> None:
        """There are no places here."""

    async def close(self) -> None:
        """Nothing is held here: the ledger owns the file."""


def _nearest(
    connection: Connection,
    known: KnownRows,
    row_filter: RowFilter,
    asked: Vector,
    *,
    limit: int,
    private: bool,
    model: str | None,
) -> list[Near]:
    pinned = None if model is None else pinned_space(connection)
    if pinned is not None and pinned[0] != model:
        raise moved(model, pinned[0], pinned_dimension=pinned[1])
    found: list[Near] = []
    for part in known.passing(connection, row_filter, private=private):
        dimension = part.view.matrix.shape[1]
        if dimension == 0:  # no vector has been put yet
            continue
        if len(asked) != dimension:
            raise InvalidVector(
                f"`vector` has {len(asked)} numbers; this home's space has {dimension}",
                dimension=dimension,
            )
        found += best(part.view, np.flatnonzero(part.mask), asked, limit)
    found.sort(key=lambda near: (-near.similarity, near.ref.id))
    return found[:limit]
