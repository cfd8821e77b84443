"""How does a parallel environment of PettingZoo's family become one whose runs can be replayed?

Its agents decide in rounds: each names what it goes for, then a controller moves all of them for
some cycles. Those choices are the decisions that are recorded; a state is the environment after the
choices so far. Everything random in it is drawn from the seed, the cycle and the agent, so that a
replay that starts later draws what the run drew.
"""

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import hindsight_ray as hr

Choice = str
Observed = Mapping[str, Any]  # by agent


@dataclass(frozen=True, slots=True)
class Game:
    """What is particular to one environment. All of it are functions of a module: they travel."""

    name: str
    make: Callable[[], Any]  # a parallel environment
    act: Callable[[Any, Choice], int]  # what an agent sees, its choice: the action of one cycle
    choose: Callable[[str, Sequence[str]], Choice]  # agent, texts of memories: its own policy
    baseline: Callable[[str, str], Choice]  # agent, policy; raises `InvalidInput` if unknown
    score: Callable[[Any], float]  # the environment at its end: -1 to 1
    rounds: int = 2
    cycles: int = 12  # in a round
    slips: float = 0.0  # how often an agent's action is a random one


@dataclass(slots=True)
class Episode:
    """A game under way: choices of this round that wait for the others, and what is seen."""

    game: Game
    seed: int
    world: Any = None
    seen: Observed = field(default_factory=dict)
    waiting: dict[str, Choice] = field(default_factory=dict)
    cycle: int = 0

    def __post_init__(self) -> None:
        self.world = self.game.make()
        self.seen, _ = self.world.reset(seed=self.seed)

    @property
    def agents(self) -> list[str]:
        return list(self.world.possible_agents)

    @property
    def digest(self) -> str:
        """Equal exactly for equal states."""
        seen = [np.asarray(self.seen[agent], dtype=np.float64).tobytes() for agent in self.agents]
        told = repr((self.cycle, sorted(self.waiting.items()))).encode()
        return hashlib.sha256(b"|".join([told, *seen])).hexdigest()[:32]

    def decide(self, agent: str, choice: Choice, *, seed: int | None = None) -> None:
        """Take a choice; once all have chosen, play the round."""
        self.waiting[agent] = choice
        if len(self.waiting) == len(self.agents):
            for _ in range(self.game.cycles):
                self._cycle(self.seed if seed is None else seed)
            self.waiting = {}

    def _cycle(self, seed: int) -> None:
        actions: dict[str, int] = {}
        for agent in self.agents:
            actions[agent] = self.game.act(self.seen[agent], self.waiting[agent])
            draw = random.Random(f"{seed}/{self.cycle}/{agent}")  # noqa: S311 - a simulation
            if draw.random() < self.game.slips:
                actions[agent] = draw.randrange(int(self.world.action_space(agent).n))
        self.seen, *_ = self.world.step(actions)
        self.cycle += 1


@dataclass(frozen=True, slots=True)
class Replayable:
    """`hr.Environment` of one recorded run of a game."""

    game: Game
    seed: int
    events: tuple[hr.Event, ...]

    @property
    def name(self) -> str:
        return f"{self.game.name} 1, {self.game.slips:g} slips"

    @property
    def deterministic(self) -> bool:
        return self.game.slips == 0

    def restore(self, prefix: Sequence[hr.Event]) -> hr.Restored:
        episode = Episode(self.game, self.seed)
        for event in prefix:
            if event.kind == "decision":
                episode.decide(str(event.agent), event.summary)
        return hr.Restored(episode, episode.digest)

    def redecide(self, event: hr.Event, policy: str) -> object:
        return self.game.baseline(str(event.agent), policy)

    def continue_(self, state: Any, seed: int, script: hr.Script) -> float:
        made = state.cycle // self.game.cycles * len(state.agents) + len(state.waiting)
        decisions = [event for event in self.events if event.kind == "decision"]
        for event in decisions[made:]:
            name, agent = str(event.event_id), str(event.agent)
            choice = event.summary
            if name in script.redecided:
                choice = str(script.redecided[name])
            elif script.memory.changed(name):
                texts = [text for _, text in script.memory.offered(name)]
                choice = self.game.choose(agent, texts)
            state.decide(agent, choice, seed=seed)
        return self.game.score(state.world)
