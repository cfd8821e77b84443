"""What a process that ends leaves unshipped: said and counted, since nobody is there to ask.

Leaving a run or closing the client ships everything. A process that does neither ships what it
has time for in the background; the rest was never acknowledged, and is not lost silently.
"""

import atexit
import sys
import weakref
from collections.abc import Iterable
from typing import Protocol


class Unshipped(Protocol):
    """A run that this process records in."""

    @property
    def id(self) -> str: ...

    @property
    def unshipped(self) -> int: ...


_watched: weakref.WeakSet[Unshipped] = weakref.WeakSet()


def watch(run: Unshipped) -> None:
    """Say at the process's end how many events of this run it leaves behind, if any."""
    _watched.add(run)


def told(runs: Iterable[Unshipped]) -> str:
    """What is left behind in these runs, in one line; "" for nothing."""
    left = [(run.id, count) for run in runs if (count := run.unshipped)]
    if not left:
        return ""
    total = sum(count for _, count in left)
    which = ", ".join(f"{count} of run {name}" for name, count in sorted(left)[:_NAMED_MAX])
    more = "" if len(left) <= _NAMED_MAX else f" and {len(left) - _NAMED_MAX} more runs"
    return (
        f"hindsight-ray: this process ends with {total} recorded events that were not shipped and"
        f" are lost: {which}{more}; leave runs, or close the client"
    )


_NAMED_MAX = 5


@atexit.register
def _say() -> None:
    said = told(tuple(_watched))
    if said:
        print(said, file=sys.stderr)  # noqa: T201 - logging may have been shut down by now
