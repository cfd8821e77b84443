"""Retention by the formula, tiers at their edges, and what is due of a memory when."""

import math
from datetime import timedelta

import pytest

from hindsight_ray.core.least import least_kept
from hindsight_ray.core.lifecycle import Keeping, next_step, tier
from hindsight_ray.core.retention import last_use, recency, retention
from hindsight_ray.domain.memory import Memory, MemoryStatistics
from tests.records import memory_of
from tests.worlds import START

DAY = timedelta(days=1)
NEVER = MemoryStatistics()


def _memory(name: str = "m", **fields: object) -> Memory:
    base = {"created_at": START, "updated_at": START, "importance": 0.5, **fields}
    return memory_of(name).model_copy(update=base)


def _stats(**fields: object) -> MemoryStatistics:
    return MemoryStatistics.model_validate(fields)


@pytest.mark.covers("life.retention")
@pytest.mark.parametrize(
    ("importance", "accesses", "days", "expected"),
    [
        (0.5, 0, 0, 0.6 * 0.5 + 0.1),
        (0.5, 0, 30, 0.3 + 0.05),
        (0.5, 0, 60, 0.3 + 0.025),
        (1.0, 0, 0, 0.7),
        (0.0, 0, 0, 0.1),
        (0.0, 1, 0, 0.3 * math.log(2) + 0.1),
        (0.2, 9, 30, 0.12 + 0.3 * math.log(10) + 0.05),
        (1.0, 99, 3650, 0.6 + 0.3 * math.log(100) + 0.1 * 2.0 ** (-3650 / 30)),
    ],
)
def test_retention_is_the_formula(
    importance: float, accesses: int, days: int, expected: float
) -> None:
    memory = _memory(importance=importance)
    found = retention(memory, _stats(accesses=accesses), START + days * DAY)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.covers("life.retention")
def test_the_last_use_is_the_latest_of_created_accessed_and_verified() -> None:
    memory = _memory()
    accessed, verified = START + 5 * DAY, START + 7 * DAY
    assert last_use(memory, NEVER) == START
    assert last_use(memory, _stats(last_accessed=accessed)) == accessed
    assert last_use(memory, _stats(last_accessed=accessed, last_verified=verified)) == verified
    assert last_use(memory, _stats(last_accessed=START - DAY)) == START


@pytest.mark.covers("life.retention")
def test_a_clock_that_stands_behind_a_memory_counts_as_now() -> None:
    assert recency(START + 3 * DAY, START) == 1.0
    assert retention(_memory(), NEVER, START - 9 * DAY) == retention(_memory(), NEVER, START)
    assert tier(_memory(), NEVER, START - 400 * DAY) == "hot"


@pytest.mark.covers("life.tiers")
@pytest.mark.parametrize(
    ("age", "accesses", "expected"),
    [
        (timedelta(0), 0, "hot"),
        (30 * DAY, 0, "hot"),
        (30 * DAY + timedelta(microseconds=1), 0, "warm"),
        (90 * DAY, 0, "warm"),
        (90 * DAY + timedelta(microseconds=1), 0, "cold"),
        (90 * DAY + timedelta(microseconds=1), 1, "warm"),
        (9_000 * DAY, 1, "warm"),
    ],
)
def test_tiers_change_just_after_thirty_and_ninety_days(
    age: timedelta, accesses: int, expected: str
) -> None:
    statistics = _stats(accesses=accesses, last_accessed=START if accesses else None)
    assert tier(_memory(), statistics, START + age) == expected


@pytest.mark.covers("life.archive_first")
def test_nothing_is_let_go_that_was_not_archived_before() -> None:
    later = START + 4_000 * DAY
    keeping = Keeping(archived_days=1, expired_days=1)
    for status in ("active", "outdated", "pending", "quarantined"):
        for ends in (None, START + DAY):
            step = next_step(_memory(status=status, expires_at=ends), NEVER, later, keeping)
            assert step is None or step.do == "archive"


@pytest.mark.covers("life.archive_first")
def test_what_is_archived_is_let_go_after_its_days_and_never_by_default() -> None:
    away = _memory(status="archived", updated_at=START)
    spent = _memory(status="archived", updated_at=START, expires_at=START - DAY)
    edge = START + 30 * DAY
    assert next_step(away, NEVER, START + 9_999 * DAY, Keeping()) is None
    assert next_step(spent, NEVER, edge - timedelta(microseconds=1), Keeping()) is None
    step = next_step(spent, NEVER, edge, Keeping())
    assert step is not None
    assert step.do == "forget"


def test_what_waits_for_a_person_is_left_to_people() -> None:
    old = START + 900 * DAY
    assert next_step(_memory(status="pending"), NEVER, old, Keeping()) is None
    assert next_step(_memory(status="quarantined"), NEVER, old, Keeping()) is None
    assert next_step(_memory(status="outdated"), NEVER, old, Keeping()) is not None


@pytest.mark.covers("life.quota")
def test_the_lowest_retention_goes_first_and_ties_fall_to_the_outdated_and_the_older() -> None:
    poor, rich = _memory("poor", importance=0.1), _memory("rich", importance=0.9)
    twin, stale = _memory("twin"), _memory("stale", status="outdated")
    found = [(one, NEVER) for one in (rich, twin, stale, poor)]
    order = [one.id for one in least_kept(found, START, 4)]
    assert order == [poor.id, stale.id, twin.id, rich.id]
    assert [one.id for one in least_kept(reversed(found), START, 4)] == order
    assert least_kept(found, START, 0) == []
    used = [(poor, _stats(accesses=50)), (twin, NEVER)]
    assert [one.id for one in least_kept(used, START, 1)] == [twin.id]
