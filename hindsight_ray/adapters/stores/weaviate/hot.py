"""Which places are kept hot: those used last, within a budget.

A place that is hot costs the server eight file descriptors, and a server that runs out of them
loses what it is given. A place that is let go wakes by itself when it is used again.

Each process has its share of what is allowed in all, and knows only what it uses itself. What
processes that have ended left hot is looked up once by each that follows, as soon as it uses a
few: what is hot beyond all that is allowed is let go. So there are never more than twice as many.
"""

from collections import OrderedDict
from collections.abc import Generator, Sequence
from contextlib import contextmanager

_SEVERAL = 10


class HotPlaces:
    """Counts who uses which place in this process, and says which to let go."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._users: OrderedDict[str, int] = OrderedDict()  # the place used longest ago first

    @contextmanager
    def used(self, place: str) -> Generator[None]:
        """Keep the place hot for as long as this lasts."""
        self._users[place] = self._users.get(place, 0) + 1
        self._users.move_to_end(place)
        try:
            yield
        finally:
            if place in self._users:
                self._users[place] -= 1

    def excess(self) -> Sequence[str]:
        """Places to let go now, a tenth of the budget at once, forgotten here already."""
        over = len(self._users) - self._budget
        if over <= 0:
            return ()
        idle = [place for place, users in self._users.items() if users == 0]
        chosen = idle[: over + self._budget // 10]
        for place in chosen:
            del self._users[place]
        return chosen

    @property
    def several(self) -> bool:
        """Whether this process uses so many that it matters what others have left."""
        return len(self._users) >= min(_SEVERAL, self._budget)

    def left(self, hot: Sequence[str], allowed: int) -> Sequence[str]:
        """Of the places that are hot on the server, those to let go: none that are used here."""
        unknown = [place for place in hot if place not in self._users]
        return unknown[: max(0, len(hot) - allowed)]

    def forget(self, place: str) -> None:
        self._users.pop(place, None)
