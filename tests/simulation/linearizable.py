"""Whether a recorded history of reads, grants and revokes is one that a single policy could give.

Pure: it looks at begin, end and revision of each call, as a clock that all processes share saw
them. Begin and end bracket the call, so what it did happened somewhere in between.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Call:
    """One call: `changed` says what a change did, `shown` whether a read gave the shared rows."""

    begin: int
    end: int
    revision: int
    changed: Literal["shared", "revoked"] | None = None
    shown: bool | None = None


def faults(calls: Sequence[Call]) -> list[str]:
    """What cannot be; nothing for a history that is linearizable."""
    return [*_stale(calls), *_early(calls), *_backwards(calls), *_untrue(calls)]


def _stale(calls: Sequence[Call]) -> Iterator[str]:
    """A call that began after a change had returned knows at least its revision."""
    changes = sorted((c for c in calls if c.changed), key=lambda c: c.end)
    for call in calls:
        known = [change.revision for change in changes if change.end < call.begin]
        if known and call.revision < max(known):
            yield f"{call} was decided before revision {max(known)}, which had returned"


def _early(calls: Sequence[Call]) -> Iterator[str]:
    """Nobody knows a change that has not begun."""
    changes = [call for call in calls if call.changed]
    for call in calls:
        begun = [change.revision for change in changes if change.begin < call.end]
        later = [change.revision for change in changes if change.begin > call.end]
        if later and call.revision >= min(later) and call.revision not in begun:
            yield f"{call} knows revision {min(later)}, which had not begun"


def _backwards(calls: Sequence[Call]) -> Iterator[str]:
    """Of two calls one after the other the later never knows less."""
    newest = 0
    by_end = sorted(calls, key=lambda c: c.end)
    place = 0
    for call in sorted(calls, key=lambda c: c.begin):
        while place < len(by_end) and by_end[place].end < call.begin:
            newest = max(newest, by_end[place].revision)
            place += 1
        if call.revision < newest:
            yield f"{call} knows less than a call that had returned, at {newest}"


def _untrue(calls: Sequence[Call]) -> Iterator[str]:
    """Rows are shown exactly if the last change up to the call's revision was a grant."""
    changes = sorted((c for c in calls if c.changed), key=lambda c: c.revision)
    for call in calls:
        if call.shown is None:
            continue
        before = [change for change in changes if change.revision <= call.revision]
        granted = bool(before) and before[-1].changed == "shared"
        if call.shown != granted:
            yield f"{call} shows {call.shown} where the policy says {granted}"
