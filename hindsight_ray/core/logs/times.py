"""When did the steps of a log happen? Only what the log says itself; nothing is made up."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

_NAMES = ("timestamp", "created_at", "created", "time")
_SECONDS_MIN, _SECONDS_MAX = 1e9, 1e11  # since 1970; what is more is in milliseconds
_APART = timedelta(microseconds=1)  # steps of one moment keep their order


def said_at(turn: Mapping[str, object]) -> datetime | None:
    """The moment that a turn names: seconds or milliseconds since 1970, or ISO 8601 with a zone.

    A time without its zone is of any day's clock, and counts as none.
    """
    return next((at for name in _NAMES if (at := _moment(turn.get(name))) is not None), None)


def moments(said: Sequence[datetime | None], now: datetime) -> tuple[datetime, ...] | None:
    """A moment for each step, in their order; None where the log does not say.

    A step that names none is at that of the one before it. Times that go back, or that are still
    to come, are not those of these steps.
    """
    at = next((one for one in said if one is not None), None)
    if at is None:
        return None
    found: list[datetime] = []
    for one in said:
        if one is not None and one < at:
            return None
        at = at if one is None else one
        found.append(max(at, found[-1] + _APART) if found else at)
    return tuple(found) if found[-1] <= now else None


def _moment(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value.strip())
            return None if at.tzinfo is None else at.astimezone(UTC)
        seconds = float(value) if value < _SECONDS_MAX else value / 1_000
        return datetime.fromtimestamp(seconds, UTC) if seconds >= _SECONDS_MIN else None
    except (ValueError, OverflowError, OSError):
        return None
