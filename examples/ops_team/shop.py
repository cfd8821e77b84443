"""The shop that breaks: real state, and tools that fail for reasons one can learn.

Every call takes minutes, and while the checkout is slow every minute loses orders. The tools'
habits never change; what changes from incident to incident is the faulty release.
"""

import random
from dataclasses import dataclass, field

MINUTES_LOST_IN_FULL = 60
ORDERS_PER_MINUTE = 4


@dataclass(frozen=True)
class Call:
    """A tool call that an agent may try."""

    tool: str
    arguments: dict[str, str | int] = field(default_factory=dict)

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in sorted(self.arguments.items()))
        return f"{self.tool}({inside})"


@dataclass(frozen=True)
class Reply:
    """What a tool answered: `ok` is its status, `text` what it said."""

    ok: bool
    text: str
    error: str = ""


class Shop:
    """One incident, from the alarm to the all-clear."""

    def __init__(self, seed: int) -> None:
        self.release = random.Random(seed).randint(20, 99)  # noqa: S311 - a story, no secret
        self.minutes = 0
        self.orders_lost = 0
        self.failed_calls = 0
        self.faulty_release_live = True
        self.prices_stale = True
        self.confirmed = False

    @property
    def outcome(self) -> float:
        """1 less the share of an hour that customers could not buy; 0 if it was never confirmed."""
        lost = min(self.minutes, MINUTES_LOST_IN_FULL) / MINUTES_LOST_IN_FULL
        return round(1.0 - lost, 4) if self.confirmed else 0.0

    def call(self, call: Call) -> Reply:
        """Do what a tool does, and let the time it takes go by."""
        tools = {
            "metrics.query": self._query,
            "logs.search": self._logs,
            "deploy.rollback": self._rollback,
            "deploy.restart": self._restart,
            "cache.flush": self._flush,
            "monitor.check": self._check,
        }
        reply = tools[call.tool](call.arguments)
        spent = 2 if reply.ok else 6
        self.minutes += spent
        self.failed_calls += not reply.ok
        if self.faulty_release_live or self.prices_stale:
            self.orders_lost += spent * ORDERS_PER_MINUTE
        return reply

    def _query(self, arguments: dict[str, str | int]) -> Reply:
        if arguments["window"] != "15m":
            return Reply(False, "the window is longer than raw points are kept", "WindowTooLong")
        return Reply(True, f"p95 of checkout rose with release {self.release}")

    def _logs(self, arguments: dict[str, str | int]) -> Reply:
        return Reply(False, f"{arguments['level']} logs are archived after an hour", "LogsArchived")

    def _rollback(self, arguments: dict[str, str | int]) -> Reply:
        if arguments.get("change") != "emergency":
            return Reply(
                False, "a change freeze is on; name a change that may pass", "ChangeFreeze"
            )
        self.faulty_release_live = False
        return Reply(True, f"release {self.release} is out of service")

    def _restart(self, _arguments: dict[str, str | int]) -> Reply:
        return Reply(False, "pods of this release crash at start", "CrashLoop")

    def _flush(self, arguments: dict[str, str | int]) -> Reply:
        if arguments["region"] != "eu-west-1":
            return Reply(False, "that is not a region code", "UnknownRegion")
        self.prices_stale = False
        return Reply(True, "prices are fresh")

    def _check(self, arguments: dict[str, str | int]) -> Reply:
        if arguments["path"] != "/checkout":
            return Reply(False, "this page answers without the database", "ShallowCheck")
        if self.faulty_release_live or self.prices_stale:
            return Reply(False, "customers still cannot buy", "StillBroken")
        self.confirmed = True
        return Reply(True, "customers can buy again")
