"""What a question says about time: "last time", 上次, yesterday, a date.

Read by rules, in English, Chinese and Japanese, in the caller's time zone (UTC for now).
"""

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TimeReading:
    """`since` (included) to `until` (left out), where a question names a time; `newest` where it
    asks for what came last."""

    since: datetime | None = None
    until: datetime | None = None
    newest: bool = False

    @property
    def says_something(self) -> bool:
        return self.newest or self.since is not None


_NEWEST = re.compile(
    r"(?i)\blast time\b|\bmost recent(?:ly)?\b|\blatest\b|\bpreviously\b|\brecent(?:ly)?\b"
    r"|\bjust now\b|上次|上回|上一次|最近|刚才|剛才|最新|前回|この前|さっき"
)
_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_HAN_DATE = re.compile(r"(?:(\d{4})年)?(\d{1,2})月(\d{1,2})[日号號]")
_DAYS_AGO = re.compile(
    r"(?i)(?<!\d)(\d{1,3})\s{0,3}(days?|weeks?|天|日|周|週間?|星期)\s{0,3}(?:ago|前|之前|以前)"
)
_PAST = re.compile(
    r"(?i)(?:last|past|previous|最近|过去|過去)の?\s{0,3}(\d{1,3})\s{0,3}"
    r"(days?|weeks?|天|日間?|周|週間?|星期)"
)
_NAMED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\bday before yesterday\b|前天|一昨日|おととい"), "day-2"),
    (re.compile(r"(?i)\byesterday\b|昨天|昨日|昨晚"), "day-1"),
    (re.compile(r"(?i)\btoday\b|\bthis morning\b|今天|今日|今早"), "day-0"),
    (re.compile(r"(?i)\blast week\b|上周|上週|上星期|上个星期|先週"), "week-1"),
    (re.compile(r"(?i)\bthis week\b|本周|这周|這週|这星期|今週"), "week-0"),
    (re.compile(r"(?i)\blast month\b|上个月|上個月|上月|先月"), "month-1"),
    (re.compile(r"(?i)\bthis month\b|本月|这个月|這個月|今月"), "month-0"),
)


def read_time(question: str, now: datetime) -> TimeReading:
    """What `question` says about time, seen from `now`; the first form that fits counts."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    newest = bool(_NEWEST.search(question))
    for form in (_dated, _counted, _named):
        window = form(question, today)
        if window is not None:
            return TimeReading(window[0], window[1], newest)
    return TimeReading(newest=newest)


_Window = tuple[datetime, datetime]
_Form = Callable[[str, datetime], _Window | None]


def _dated(question: str, today: datetime) -> _Window | None:
    iso = _ISO.search(question)
    if iso:
        return _day_of(int(iso[1]), int(iso[2]), int(iso[3]))
    han = _HAN_DATE.search(question)
    if han is None:
        return None
    month, day = int(han[2]), int(han[3])
    if han[1]:
        return _day_of(int(han[1]), month, day)
    window = _day_of(today.year, month, day)
    if window is not None and window[0] > today:  # a date without a year lies in the past
        return _day_of(today.year - 1, month, day)
    return window


def _counted(question: str, today: datetime) -> _Window | None:
    past = _PAST.search(question)
    if past:
        return today - _span(past), today + _DAY
    ago = _DAYS_AGO.search(question)
    if ago is None:
        return None
    start = today - _span(ago)
    return start, start + _DAY


def _span(match: re.Match[str]) -> timedelta:
    weeks = match[2].lower().startswith(("week", "周", "週", "星"))
    return timedelta(days=int(match[1]) * (7 if weeks else 1))


def _named(question: str, today: datetime) -> _Window | None:
    for form, name in _NAMED:
        if form.search(question):
            unit, back = name.split("-")
            return _unit_back(unit, int(back), today)
    return None


def _unit_back(unit: str, back: int, today: datetime) -> _Window:
    if unit == "day":
        start = today - back * _DAY
        return start, start + _DAY
    if unit == "week":
        start = today - timedelta(days=today.weekday() + 7 * back)
        return start, start + 7 * _DAY
    start = today.replace(day=1)
    for _ in range(back):
        start = (start - _DAY).replace(day=1)
    return start, start + timedelta(days=calendar.monthrange(start.year, start.month)[1])


def _day_of(year: int, month: int, day: int) -> _Window | None:
    try:
        start = datetime(year, month, day, tzinfo=UTC)
        return start, start + _DAY
    except (ValueError, OverflowError):
        return None
