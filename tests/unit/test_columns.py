"""The columns of one tenant: exact views at the changes that were applied, old ones included."""

import numpy as np

from hindsight_ray.adapters.ledger.sql.columns import Columns, Row
from hindsight_ray.adapters.ledger.sql.schema import FORGOTTEN
from tests.records import rows


def _row(number: int, change: int, *, revision: int = 1, status: str = "active") -> Row:
    return Row(
        number=number, memory_id=f"m{number}", revision=revision, change=change, key="k",
        scope="global", status=status, type="fact", layer="semantic", task_type=None,
        created_at=0, expires_at=None, length=1, labels=("x",) if number % 2 else (),
        vector=np.array([float(number), 1.0], dtype=np.float32),
    )  # fmt: skip


def _seen(columns: Columns, change: int, **narrowed: object) -> set[tuple[str, int]]:
    view = columns.view(change)
    passing = np.flatnonzero(view.passing(rows(**narrowed)))
    for row in passing:
        assert view.place(int(view.column("number")[row])) == row
    return {(view.ids[row], int(view.column("revision")[row])) for row in passing}


def test_an_earlier_view_stays_what_it_was() -> None:
    columns = Columns(2)
    columns.apply([_row(1, 1), _row(2, 2)], 2)
    early = columns.view(2)
    columns.apply([_row(1, 3, revision=2), _row(2, 4, status=FORGOTTEN), _row(3, 5)], 5)
    assert _seen(columns, 2) == {("m1", 1), ("m2", 1)}
    assert _seen(columns, 5) == {("m1", 2), ("m3", 1)}
    assert int(early.passing(rows()).sum()) == 2
    assert early.place(1) == 0
    assert early.place(3) == -1


def test_the_base_of_a_change_is_the_last_exact_one_before_it() -> None:
    columns = Columns(2)
    columns.apply([_row(1, 3)], 3)
    columns.apply([_row(1, 9, revision=2)], 9)
    assert [columns.base(change) for change in (0, 2, 3, 8, 9, 10)] == [0, 0, 3, 3, 9, 9]


def test_rows_that_no_longer_count_are_dropped_in_time_and_nothing_else() -> None:
    columns = Columns(2)
    columns.apply([_row(number, number) for number in range(1, 11)], 10)
    change = 10
    for revision in range(2, 302):
        changed = [_row(n, change + n, revision=revision) for n in range(1, 11)]
        change += 10
        columns.apply(changed, change)
    view = columns.view(change)
    assert len(view.matrix) < 1_200
    assert _seen(columns, change) == {(f"m{n}", 301) for n in range(1, 11)}
    assert _seen(columns, change, denied_labels=frozenset({"x"})) == {
        (f"m{n}", 301) for n in range(2, 11, 2)
    }
    live = np.flatnonzero(view.passing(rows()))
    assert sorted(view.matrix[live, 0].tolist()) == [float(n) for n in range(1, 11)]
    assert columns.base(5) is None  # let go: whoever stands there reads its own rows


def test_points_are_bounded() -> None:
    columns = Columns(2)
    for change in range(1, 500):
        columns.apply([_row(change, change)], change)
    assert columns.base(400) is None
    assert columns.base(499) == 499
