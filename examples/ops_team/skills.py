"""What the agents know how to try, and how advice from memory changes the order they try it in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from examples.ops_team.shop import Call


@dataclass(frozen=True)
class Skill:
    """A piece of the job: who does it, and the calls that agent would try, in that order."""

    agent: str
    task: str
    tools: tuple[str, ...]

    def options(self, release: int) -> tuple[Call, ...]:
        return _OPTIONS[self.task](release)


FIND_CAUSE = Skill(
    "investigator", "find out what made checkout slow", ("metrics.query", "logs.search")
)
REMOVE_RELEASE = Skill(
    "executor", "take the faulty release out of service", ("deploy.rollback", "deploy.restart")
)
FRESH_PRICES = Skill("executor", "clear stale prices from the cache", ("cache.flush",))
CONFIRM = Skill("planner", "confirm that customers can buy", ("monitor.check",))

TOOLS = ("metrics.query", "logs.search", "deploy.rollback", "deploy.restart", "cache.flush",
         "monitor.check")  # fmt: skip

_OPTIONS = {
    FIND_CAUSE.task: lambda _release: (
        Call("metrics.query", {"window": "24h"}),
        Call("logs.search", {"level": "debug"}),
        Call("metrics.query", {"window": "15m"}),
    ),
    REMOVE_RELEASE.task: lambda release: (
        Call("deploy.rollback", {"release": release}),
        Call("deploy.restart", {"service": "checkout"}),
        Call("deploy.rollback", {"release": release, "change": "emergency"}),
    ),
    FRESH_PRICES.task: lambda _release: (
        Call("cache.flush", {"region": "EU"}),
        Call("cache.flush", {"region": "europe"}),
        Call("cache.flush", {"region": "eu-west-1"}),
    ),
    CONFIRM.task: lambda _release: (
        Call("monitor.check", {"path": "/health"}),
        Call("monitor.check", {"path": "/checkout"}),
    ),
}

_RECOMMENDED = re.compile(r"you should|use instead|instead", re.IGNORECASE)


def by_advice(options: Sequence[Call], advice: Sequence[str]) -> list[Call]:
    """Return the options in the order that the advice suggests; without any, as they are.

    An option rises by the words it shares with what a piece of advice recommends and sinks by
    those it shares with what the advice warns of. Ties keep the agent's own order.
    """

    def support(option: Call) -> float:
        words = _words(str(option))
        gain = 0.0
        for text in advice:
            warned, recommended = _halves(text)
            gain += _share(words, recommended) - _share(words, warned)
        return gain

    return sorted(options, key=lambda option: -support(option))


def _halves(text: str) -> tuple[set[str], set[str]]:
    """The words of what a piece of advice warns of, and of what it recommends."""
    cut = _RECOMMENDED.search(text)
    if cut is None:
        return set(), _words(text)
    return _words(text[: cut.start()]), _words(text[cut.end() :])


def _share(words: set[str], among: set[str]) -> float:
    return len(words & among) / len(words)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[\w./-]*[\w/]", text.lower()))
