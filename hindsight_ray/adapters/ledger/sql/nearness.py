"""The nearest of many rows: exact, and in an order that does not depend on where they stand."""

import numpy as np

from hindsight_ray.adapters.ledger.sql.columns import Ints, View
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import Near
from hindsight_ray.ports import Vector

_ROUNDING = 1e-5  # more than the float32 products of one pair differ by, in whichever place
_GATHER_BELOW = 0.3  # share of rows under which copying them costs less than multiplying all


def best(view: View, rows: Ints, asked: Vector, limit: int) -> list[Near]:
    """The best `limit` of these rows, and no fewer for being equal to others.

    A float32 product depends in its last digits on where a row stands in the matrix, so it only
    selects candidates; their order comes from sums in float64, row by row.
    """
    if not len(rows):
        return []
    if len(rows) < len(view.matrix) * _GATHER_BELOW:
        rough = _products(view.matrix[rows], asked)
    else:
        rough = _products(view.matrix, asked)[rows]
    if len(rows) > limit:
        edge = np.partition(rough, len(rows) - limit)[len(rows) - limit]
        rows = rows[rough >= edge - _ROUNDING]
    exact = (view.matrix[rows].astype(np.float64) * asked).sum(axis=1).clip(-1.0, 1.0)
    # As Python's own numbers, each list at once: a tenth of the cost of taking them one by one.
    places: list[int] = rows.tolist()
    revisions: list[int] = view.column("revision")[rows].tolist()
    found = [
        Near(ref=MemoryRef(id=MemoryUuid(view.ids[row]), revision=revision), similarity=similarity)
        for row, revision, similarity in zip(places, revisions, exact.tolist(), strict=True)
    ]
    found.sort(key=lambda near: (-near.similarity, near.ref.id))
    return found[:limit]


def _products(matrix: Vector, asked: Vector) -> Vector:
    """Each row's product, in this thread alone.

    `@` takes no less where it has the machine to itself; where it has not, its threads wait for
    each other, many times as long as the product takes.
    """
    products: Vector = np.einsum("ij,j->i", matrix, asked)
    return products
