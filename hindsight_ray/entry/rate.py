"""How often one ticket may search, and how often write, at a door. Pure: the time is given.

Kept at the doors and not in the library: a program that holds the memory in its own hands paces
itself.
"""

from collections import OrderedDict

from hindsight_ray.errors import RateLimited

TICKETS_REMEMBERED_MAX = 10_000


class Allowance:
    """A token bucket per ticket: `per_s` calls a second, bursts of as many, nothing queued."""

    def __init__(self, per_s: float, what: str = "search") -> None:
        self._what = what
        self._per_s = per_s
        self._burst = max(1.0, per_s)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # ticket: (left, at_s)

    def take(self, ticket_id: str, now_s: float) -> None:
        """Count one call at `now_s` (steady seconds). Raises `RateLimited`, counting nothing."""
        left, at_s = self._left.pop(ticket_id, (self._burst, now_s))
        now_s = max(now_s, at_s)  # whatever the clock does, time is counted once
        left = min(self._burst, left + (now_s - at_s) * self._per_s)
        allowed = left >= 1.0
        self._left[ticket_id] = (left - 1.0 if allowed else left, now_s)
        while len(self._left) > TICKETS_REMEMBERED_MAX:
            self._left.popitem(last=False)
        if not allowed:
            retry_after_s = round((1.0 - left) / self._per_s + 0.0005, 3)
            raise RateLimited(
                f"`{self._what}` is limited to {self._per_s:g} a second for one ticket;"
                f" retry_after_s={retry_after_s}",
                retry_after_s=retry_after_s,
            )
