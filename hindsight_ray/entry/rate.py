"""How often one ticket may search, and how often write, at a door. Pure: the time is given.

Kept at the doors and not in the library: a program that holds the memory in its own hands paces
itself.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Self

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import InvalidInput, RateLimited

TICKETS_REMEMBERED_MAX = 10_000


class Allowance:
    """A token bucket per ticket: `per_s` calls a second, bursts of as many, nothing queued."""

    def __init__(self, per_s: float, what: str = "search") -> None:
        self._what = what
        self._per_s = per_s
        self._burst = max(1.0, per_s)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # ticket: (left, at_s)

    def take_rest(self, ticket_id: str, now_s: float, calls: int) -> None:
        """Count all but the first of `calls` that come at once; the first was taken.

        More than a burst is `InvalidInput`: waiting would not help.
        """
        if calls > self._burst:
            raise InvalidInput(
                f"{calls} are more than one ticket may ask at once; send at most {self._burst:g}"
            )
        self.take(ticket_id, now_s, calls - 1)

    def take(self, ticket_id: str, now_s: float, calls: int = 1) -> None:
        """Count calls at `now_s` (steady seconds). Raises `RateLimited`, counting nothing."""
        left, at_s = self._left.pop(ticket_id, (self._burst, now_s))
        now_s = max(now_s, at_s)  # whatever the clock does, time is counted once
        left = min(self._burst, left + (now_s - at_s) * self._per_s)
        allowed = left >= calls
        self._left[ticket_id] = (left - calls if allowed else left, now_s)
        while len(self._left) > TICKETS_REMEMBERED_MAX:
            self._left.popitem(last=False)
        if not allowed:
            retry_after_s = round((calls - left) / self._per_s + 0.0005, 3)
            raise RateLimited(
                f"`{self._what}` is limited to {self._per_s:g} a second for one ticket;"
                f" retry_after_s={retry_after_s}",
                retry_after_s=retry_after_s,
            )


@dataclass(frozen=True, slots=True)
class Rates:
    """How many searches and how many changes a second one ticket has."""

    searches_per_s: float
    writes_per_s: float

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those that the settings of a memory allow."""
        return cls(settings.searches_per_s, settings.writes_per_s)


class Paces:
    """Both allowances of each ticket at one door: of searches, and of everything else."""

    def __init__(self, rates: Rates) -> None:
        self._searches = Allowance(rates.searches_per_s, "search")
        self._writes = Allowance(rates.writes_per_s, "write")

    def take(self, ticket_id: str, kind: type[c.Command], now_s: float) -> None:
        """Count a call before it is read: a bad one counts too. Raises `RateLimited`."""
        searches = issubclass(kind, c.Search | c.SearchMany)
        (self._searches if searches else self._writes).take(ticket_id, now_s)

    def take_rest(self, ticket_id: str, command: c.Command, now_s: float) -> None:
        """Count the further searches of a call for several. Raises `RateLimited`."""
        if isinstance(command, c.SearchMany) and len(command.searches) > 1:
            self._searches.take_rest(ticket_id, now_s, len(command.searches))
