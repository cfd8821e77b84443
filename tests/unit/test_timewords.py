"""What a question says about time."""

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_ray.core.timewords import TimeReading, read_time

NOW = datetime(2026, 11, 30, 5, 30, tzinfo=UTC)  # a Monday
TODAY = datetime(2026, 11, 30, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    "question", ["what failed last time", "上次是怎么做的", "前回のエラー", "the latest incident"]
)
def test_last_time_asks_for_what_came_last(question: str) -> None:
    assert read_time(question, NOW) == TimeReading(newest=True)


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("errors yesterday", TODAY - DAY, TODAY),
        ("昨天的错误", TODAY - DAY, TODAY),
        ("昨日のエラー", TODAY - DAY, TODAY),
        ("today", TODAY, TODAY + DAY),
        ("last week", TODAY - 7 * DAY, TODAY),
        ("上周的发布", TODAY - 7 * DAY, TODAY),
        ("先週の失敗", TODAY - 7 * DAY, TODAY),
        ("last month", datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)),
        ("3 days ago", TODAY - 3 * DAY, TODAY - 2 * DAY),
        ("三天前3天前", TODAY - 3 * DAY, TODAY - 2 * DAY),
        ("the past 2 weeks", TODAY - 14 * DAY, TODAY + DAY),
        ("on 2026-03-02", datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)),
        ("2026年3月2日", datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)),
        ("12月24日の件", datetime(2025, 12, 24, tzinfo=UTC), datetime(2025, 12, 25, tzinfo=UTC)),
    ],
)
def test_a_named_time_becomes_a_window(question: str, since: datetime, until: datetime) -> None:
    reading = read_time(question, NOW)
    assert (reading.since, reading.until) == (since, until)


@pytest.mark.parametrize(
    "question", ["roll back the release", "2026-13-45", "2026-02-30", "999 99 9", "9999-12-31"]
)
def test_what_names_no_time_gives_none(question: str) -> None:
    assert not read_time(question, NOW).says_something
