"""How much of what anybody may cause without end is done: some at once, then one in a while."""

from dataclasses import dataclass


@dataclass(slots=True)
class Paced:
    """`at_once` may be done, and one more every `every_s`; how many were left out is counted."""

    at_once: int
    every_s: float
    left_out: int = 0
    _used: float = 0.0
    _since_s: float = 0.0

    def taken(self, now_s: float) -> int | None:
        """Do one, and learn how many were left out before it; None: this one is left out too."""
        self._used = max(0.0, self._used - max(0.0, now_s - self._since_s) / self.every_s)
        self._since_s = now_s
        if self._used > self.at_once - 1:
            self.left_out += 1
            return None
        self._used += 1.0
        before, self.left_out = self.left_out, 0
        return before
