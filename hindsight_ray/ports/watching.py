"""Who is told of each call at the door: when it came, how it ended, never what it said."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
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


@dataclass(frozen=True, slots=True)
class Timed:
    """A call whose parts are timed, by the clock of whoever watches it."""

    seen: Seen
    clock_s: Callable[[], float]


IN_HAND: ContextVar[Timed | None] = ContextVar("in_hand", default=None)


class spent_on:  # noqa: N801 - reads as what it is used for: `with spent_on("ledger"):`
    """Count what the context takes to this part of the call in hand; costs nothing without one.

    What is asked within it is of this part: a deciding that reads the ledger is deciding. Parts
    that run beside each other are counted each.
    """

    __slots__ = ("_began_s", "_doing", "_timed", "_token")

    def __init__(self, doing: Doing) -> None:
        self._doing: Doing = doing

    def __enter__(self) -> None:
        self._timed = IN_HAND.get()
        if self._timed is not None:
            self._token: Token[Timed | None] = IN_HAND.set(None)
            self._began_s = self._timed.clock_s()

    def __exit__(self, *_: object) -> None:
        if self._timed is not None:
            spent = self._timed.seen.spent_s
            took_s = self._timed.clock_s() - self._began_s
            spent[self._doing] = spent.get(self._doing, 0.0) + took_s
            IN_HAND.reset(self._token)
