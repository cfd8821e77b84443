"""Who is told of each call at the door: when it came, how it ended, never what it said."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, Protocol

Doing = Literal["admitting", "embedding", "store", "ledger"]
DOINGS: tuple[Doing, ...] = ("admitting", "embedding", "store", "ledger")


@dataclass(slots=True)
class Seen:
    """What is known of one call so far. No text, no id of a memory, no name of a caller."""

    verb: str
    tenant: str = ""  # empty until the ticket was verified
    revision: int | None = None  # of the policy that the answer names
    decided_at: int = 0  # the latest revision that this process has read; 0 before the first
    degraded: tuple[str, ...] = ()
    spent_s: dict[Doing, float] = field(default_factory=dict[Doing, float])


class Watch(Protocol):
    """Watches calls from their beginning to their end."""

    def request(self, verb: str) -> AbstractContextManager[Seen]:
        """A call of this verb, for as long as the context lasts; left by the error it raised."""
        ...


@dataclass(slots=True)
class Timed:
    """A call whose parts are timed, by the clock of whoever watches it."""

    seen: Seen
    clock_s: Callable[[], float]
    under_way: list["spent_on"] = field(default_factory=list["spent_on"])  # the oldest first
    since_s: float = 0.0  # when the oldest became it


IN_HAND: ContextVar[Timed | None] = ContextVar("in_hand", default=None)


class spent_on:  # noqa: N801 - reads as what it is used for: `with spent_on("ledger"):`
    """Count what the context takes to this part of the call in hand; costs nothing without one.

    A moment is counted once, for what is under way the longest: a deciding that reads the ledger
    is deciding, and of two parts beside each other the later has what is left when the earlier
    has ended. So the parts of a call never come to more than the call.
    """

    __slots__ = ("_doing", "_timed")

    def __init__(self, doing: Doing) -> None:
        self._doing: Doing = doing

    def __enter__(self) -> None:
        self._timed = timed = IN_HAND.get()
        if timed is not None:
            if not timed.under_way:
                timed.since_s = timed.clock_s()
            timed.under_way.append(self)

    def __exit__(self, *_: object) -> None:
        timed = self._timed
        if timed is not None:
            if timed.under_way[0] is self:
                now_s, spent = timed.clock_s(), timed.seen.spent_s
                spent[self._doing] = spent.get(self._doing, 0.0) + now_s - timed.since_s
                timed.since_s = now_s
            timed.under_way.remove(self)
