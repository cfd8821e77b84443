"""The game of the example: three agents are to cover three landmarks (MPE's `simple_spread`)."""

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

import hindsight_ray as hr
from examples.cooperative.rounds import Game

AGENTS = 3
_NEAR = 0.2  # from a landmark: it is covered
_STAY, _LEFT, _RIGHT, _DOWN, _UP = range(5)
_LANDMARK = re.compile(r"landmark (\d)")


def make() -> Any:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it greets on import
    from mpe2 import simple_spread_v3  # noqa: PLC0415 - so that the rest works without it

    return simple_spread_v3.parallel_env(N=AGENTS, max_cycles=10_000, continuous_actions=False)


def act(seen: Any, choice: str) -> int:
    """Steer to the chosen landmark, braking on the way; `stay` where nothing is chosen.

    An agent sees its velocity, its position, and where the landmarks are from there.
    """
    target = _LANDMARK.search(choice)
    if target is None:
        return _STAY
    velocity, to = seen[0:2], seen[4 + 2 * int(target[1]) :][:2]
    wanted = np.asarray(to) - 0.6 * np.asarray(velocity)
    axis = int(np.abs(wanted).argmax())
    if abs(wanted[axis]) < 0.05:
        return _STAY
    forward = wanted[axis] > 0
    return (_RIGHT if forward else _LEFT) if axis == 0 else (_UP if forward else _DOWN)


def own_landmark(agent: str) -> str:
    return f"go to landmark {agent.rpartition('_')[2]}"


def choose(agent: str, texts: Sequence[str]) -> str:
    """What a memory advises; without one, the landmark with the agent's own number."""
    for text in texts:
        found = _LANDMARK.search(text)
        if found is not None:
            return f"go to landmark {found[1]}"
    return own_landmark(agent)


def baseline(agent: str, policy: str) -> str:
    if policy == "stay":
        return "stay"
    if policy == "own":
        return own_landmark(agent)
    raise hr.InvalidInput(f"`policy` {policy!r} is none of: stay, own", field="policy")


def score(world: Any) -> float:
    """From -1, no landmark covered, to 1, all are."""
    inner = world.unwrapped.world
    covered = [
        any(np.linalg.norm(agent.state.p_pos - mark.state.p_pos) < _NEAR for agent in inner.agents)
        for mark in inner.landmarks
    ]
    return 2.0 * sum(covered) / len(covered) - 1.0


SPREAD = Game("simple_spread", make, act, choose, baseline, score, rounds=2, cycles=25)
