"""Ask for replays: each once, those known from before not at all, results in order of asking.

Apart from the methods of attribution, which say what to replay and what it means.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hindsight_ray.core.attribution.environment import Replay, Request, request_key
from hindsight_ray.ports import Evaluations, TaskRunner

_KEEP_EVERY = 32  # outcomes between two durable writes: what a kill can cost


@dataclass(slots=True)
class Replays:
    """Replays of one run from one restored state, counted against a budget."""

    replay: Replay
    runner: TaskRunner
    kept: Evaluations
    budget: int
    spent: int = 0
    _base: str = ""
    _outcomes: dict[Request, float] = field(default_factory=dict[Request, float])

    def affords(self, requests: Sequence[Request]) -> bool:
        """Whether the budget covers these. What is known from before costs as much as a replay,
        so that a result never depends on what an earlier call has left in the cache."""
        return self.spent + len(self._new(requests)) <= self.budget

    async def outcomes(self, requests: Sequence[Request]) -> list[float]:
        """The outcome of each request. Raises what the environment raises."""
        new = self._new(requests)
        self.spent += len(new)
        if new:
            await self._find(new)
        return [self._outcomes[one] for one in requests]

    async def _find(self, new: Sequence[Request]) -> None:
        self._base = self._base or self.replay.key_base()
        keys = {one: request_key(self._base, one) for one in new}
        known = self.kept.known(keys.values())
        self._outcomes.update({one: known[key] for one, key in keys.items() if key in known})
        missing = [one for one in new if one not in self._outcomes]
        fresh: dict[str, float] = {}

        def done(at: int, outcome: float) -> None:
            fresh[keys[missing[at]]] = outcome
            if len(fresh) >= _KEEP_EVERY:
                self.kept.keep(fresh)
                fresh.clear()

        try:
            found = await self.runner.map(self.replay, missing, done=done)
        finally:
            self.kept.keep(fresh)
        self._outcomes.update(zip(missing, found, strict=True))

    def _new(self, requests: Sequence[Request]) -> list[Request]:
        return [one for one in dict.fromkeys(requests) if one not in self._outcomes]
