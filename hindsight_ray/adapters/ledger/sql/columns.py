"""One tenant's memories as columns of numbers, each row valid from one change to another.

Kept apart from SQL and threads so that its one promise can be read at a glance: `view(change)` of
a change that was synchronised shows exactly the rows that were current then, also after later
changes have been applied.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_ray.adapters.ledger.sql.schema import FORGOTTEN, micros
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.ports import Vector

_NEVER = np.iinfo(np.int64).max
_POINTS_KEPT = 64
_DEAD_MIN = 1_024
_GONE = 1 << 62  # the place of what was forgotten: kept, since an earlier view may still ask

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Row:
    """A memory as its last change left it. `vector` is None where another store keeps it."""

    number: int
    memory_id: str
    revision: int
    change: int
    key: str
    scope: str
    status: str
    type: str
    layer: str
    task_type: str | None
    created_at: int
    expires_at: int | None
    length: int
    labels: Sequence[str]
    vector: Vector | None


_COLUMNS = (
    "number", "revision", "begins", "ends", "key", "scope", "status", "type", "layer",
    "task_type", "created_at", "expires_at", "length",
)  # fmt: skip
_COLUMN = {name: index for index, name in enumerate(_COLUMNS)}


@dataclass(frozen=True, slots=True)
class View:
    """The rows at one change: numbers, one matrix row each, and what their words are."""

    change: int
    numbers: Ints  # shape (columns, rows)
    matrix: Vector  # shape (rows, dimension)
    ids: Sequence[str]
    words: dict[str, int]
    labelled: dict[str, list[int]]
    places: Mapping[int, int]  # number of a memory: its row, or a later one it has moved to

    def place(self, number: int) -> int:
        """The row of a memory at this change, -1 if it has none."""
        place = self.places.get(number, -1)
        if place >= len(self.matrix):  # it has changed since: look for the row it had
            then = np.flatnonzero(
                (self.column("number") == number) & (self.column("begins") <= self.change)
            )
            place = int(then[-1]) if len(then) else -1
        return place

    def column(self, name: str) -> Ints:
        return self.numbers[_COLUMN[name]]

    def passing(self, row_filter: RowFilter) -> Bools:
        """Which rows pass the filter at this change."""
        mask = (self.column("begins") <= self.change) & (self.column("ends") > self.change)
        mask &= self.column("expires_at") > micros(row_filter.now)
        for name, allowed in (
            ("key", row_filter.keys),
            ("scope", row_filter.scopes),
            ("type", row_filter.types),
            ("layer", row_filter.layers),
            ("status", row_filter.statuses),
        ):
            if allowed is not None:
                mask &= self._among(name, allowed)
        if row_filter.task_type is not None:
            wanted = self.words.get(row_filter.task_type, -2)
            mask &= (self.column("task_type") == wanted) | (self.column("task_type") == -1)
        if row_filter.since is not None:
            mask &= self.column("created_at") >= micros(row_filter.since)
        if row_filter.until is not None:
            mask &= self.column("created_at") < micros(row_filter.until)
        for label in row_filter.denied_labels:
            rows = [row for row in tuple(self.labelled.get(label, ())) if row < len(mask)]
            mask[rows] = False
        return mask

    def _among(self, name: str, allowed: Iterable[str]) -> Bools:
        codes = [code for word in allowed if (code := self.words.get(word)) is not None]
        if len(codes) == 1:
            return self.column(name) == codes[0]
        table = np.zeros(len(self.words) + 1, dtype=np.bool_)
        table[codes] = True
        return table[self.column(name)]


class Columns:
    """The growing columns of one tenant. Not safe for threads: its owner holds a lock."""

    def __init__(self, dimension: int) -> None:
        self._numbers: Ints = np.empty((len(_COLUMNS), 0), dtype=np.int64)
        self._matrix: Vector = np.empty((0, dimension), dtype=np.float32)
        self._rows = 0
        self._dead = 0
        self._ids: list[str] = []
        self._words: dict[str, int] = {}
        self._labelled: dict[str, list[int]] = {}
        self._place: dict[int, int] = {}  # number of a memory: its current row
        self._points: list[int] = [0]  # changes at which the view is exact

    @property
    def dimension(self) -> int:
        return self._matrix.shape[1]

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return self._rows * (len(_COLUMNS) + self.dimension)

    @property
    def last(self) -> int:
        """The last change that was applied."""
        return self._points[-1]

    def base(self, change: int) -> int | None:
        """The latest change, not after `change`, whose view is exact; None if it was let go."""
        index = bisect_right(self._points, change)
        return self._points[index - 1] if index else None

    def apply(self, rows: Sequence[Row], change: int) -> None:
        """Bring the columns from `last` to `change` by the rows that changed between."""
        self._reserve(self._rows + len(rows))
        for row in rows:
            place = self._place.get(row.number, _GONE)
            if place != _GONE:
                self._numbers[_COLUMN["ends"], place] = row.change
                self._dead += 1
            if row.status != FORGOTTEN:
                self._add(row)
            elif place != _GONE:
                self._place[row.number] = _GONE
        if change > self.last:
            self._points.append(change)
        del self._points[:-_POINTS_KEPT]
        if self._dead > max(_DEAD_MIN, self._rows // 2):
            self._compact()

    def view(self, change: int) -> View:
        """The rows at an exact change; stays what it is while more are applied."""
        return View(
            change,
            self._numbers[:, : self._rows],
            self._matrix[: self._rows],
            self._ids,
            self._words,
            self._labelled,
            self._place if change == self.last else self._places_at(change),
        )

    def _places_at(self, change: int) -> dict[int, int]:
        begins = self._numbers[_COLUMN["begins"], : self._rows]
        ends = self._numbers[_COLUMN["ends"], : self._rows]
        rows = np.flatnonzero((begins <= change) & (ends > change))
        numbers = self._numbers[_COLUMN["number"], rows]
        return dict(zip(numbers.tolist(), rows.tolist(), strict=True))

    def _add(self, row: Row) -> None:
        place = self._rows
        self._numbers[:, place] = (
            row.number,
            row.revision,
            row.change,
            _NEVER,
            self._word(row.key),
            self._word(row.scope),
            self._word(row.status),
            self._word(row.type),
            self._word(row.layer),
            -1 if row.task_type is None else self._word(row.task_type),
            row.created_at,
            _NEVER if row.expires_at is None else row.expires_at,
            row.length,
        )
        self._matrix[place] = 0.0 if row.vector is None else row.vector
        self._ids.append(row.memory_id)
        for label in row.labels:
            self._labelled.setdefault(label, []).append(place)
        self._place[row.number] = place
        self._rows += 1

    def _word(self, word: str) -> int:
        return self._words.setdefault(word, len(self._words))

    def _reserve(self, rows: int) -> None:
        """Grow into new arrays, by half at least; views of the old ones stay valid."""
        room = self._matrix.shape[0]
        if rows <= room:
            return
        room = max(rows, room + room // 2)
        numbers = np.empty((len(_COLUMNS), room), dtype=np.int64)
        numbers[:, : self._rows] = self._numbers[:, : self._rows]
        matrix = np.empty((room, self._matrix.shape[1]), dtype=np.float32)
        matrix[: self._rows] = self._matrix[: self._rows]
        self._numbers, self._matrix = numbers, matrix

    def _compact(self) -> None:
        """Drop the rows that no longer count, and with them every earlier exact change."""
        live = np.flatnonzero(self._numbers[_COLUMN["ends"], : self._rows] == _NEVER)
        new_place = {int(old): new for new, old in enumerate(live)}
        self._numbers = self._numbers[:, live]
        self._matrix = self._matrix[live]
        self._ids = [self._ids[old] for old in live]
        self._labelled = {
            label: [new_place[row] for row in rows if row in new_place]
            for label, rows in self._labelled.items()
        }
        self._place = {
            number: new_place[row] for number, row in self._place.items() if row != _GONE
        }
        self._rows, self._dead = len(live), 0
        self._points = self._points[-1:]
