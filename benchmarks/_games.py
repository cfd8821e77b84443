"""How often do sampled 95 % intervals hold the true value? Counted over games of five kinds.

Thirteen players, so that the truth is known from the full table while values are sampled as they
are beyond twelve: exact and noisy, weighted votes, diminishing returns, unanimity, interactions,
and coin-tossed outcomes of two culprits. Sampling stops where its rule says so.
"""

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_ray.core.attribution.sampling import (
    SamplingRule,
    coalitions,
    contributions,
    estimated,
    orders,
    settled,
)
from hindsight_ray.core.attribution.shapley import shapley

KINDS = ("vote", "diminishing", "unanimity", "interactions", "coin")
PLAYERS = 13
RULE = SamplingRule(batches_max=40)


@dataclass(frozen=True, slots=True)
class Counted:
    """Intervals of players whose sampled contributions varied, and how many held the truth."""

    held: int
    intervals: int
    stopped_early: int
    games: int


def coverage(games: int, seed: int) -> dict[str, Counted]:
    """Coverage by kind of game. Players that never varied are left out: they would flatter it."""
    found = {kind: Counted(0, 0, 0, 0) for kind in KINDS}
    for game in range(games):
        kind = KINDS[game % len(KINDS)]
        values, noise = _game(kind, np.random.default_rng([seed, game]))
        held, intervals, early = _sampled(values, noise, seed, game)
        old = found[kind]
        found[kind] = Counted(
            old.held + held, old.intervals + intervals, old.stopped_early + early, old.games + 1
        )
    return found


def _game(kind: str, rng: np.random.Generator) -> tuple[NDArray[np.float64], float | None]:
    """The true values, and the noise of an evaluation; None for a coin with that chance of 1."""
    masks = np.arange(1 << PLAYERS)
    there = ((masks[:, None] >> np.arange(PLAYERS)) & 1).astype(float)
    weights = rng.random(PLAYERS)
    if kind == "vote":
        quota = weights.sum() * rng.uniform(0.4, 0.7)
        return (there @ weights > quota).astype(float), 0.0
    if kind == "diminishing":
        return 1 - np.exp(-3 * (there @ weights) / weights.sum()), 0.3
    if kind == "unanimity":
        needed = rng.choice(PLAYERS, rng.integers(2, 5), replace=False)
        return there[:, needed].all(axis=1).astype(float), 0.2
    if kind == "interactions":
        pairs = rng.normal(size=(PLAYERS, PLAYERS)) * 0.3
        values = there @ rng.normal(size=PLAYERS) + ((there @ pairs) * there).sum(axis=1)
        return values / np.abs(values).max(), 0.2
    culprits = rng.choice(PLAYERS, 2, replace=False)
    return np.where(there[:, culprits].any(axis=1), 0.1, 0.9), None


def _sampled(
    values: NDArray[np.float64], noise: float | None, seed: int, game: int
) -> tuple[int, int, int]:
    samples: list[list[float]] = []
    low, high = np.inf, -np.inf
    batch = 0
    while True:
        drawn = orders(PLAYERS, batch, RULE, lambda pair: random.Random(f"{seed}/{game}/{pair}"))
        for at, order in enumerate(drawn):
            rng = np.random.default_rng([seed, game, batch, at])
            asked = coalitions(order)
            true = values[list(asked)]
            if noise is None:
                got = (rng.random(len(asked)) < true).astype(float)
            else:
                got = true + noise * rng.normal(size=len(asked))
            low, high = min(low, got.min()), max(high, got.max())
            samples.append(contributions(order, dict(zip(asked, got.tolist(), strict=True))))
        batch += 1
        if batch >= RULE.batches_min:
            estimate = estimated(samples, high - low)
            if batch >= RULE.batches_max or settled(estimate, RULE, high - low):
                break
    varied = np.array(samples).std(axis=0) > 1e-9
    held = (np.abs(estimate.values - shapley(values)) <= estimate.half) & varied
    return int(held.sum()), int(varied.sum()), int(batch < RULE.batches_max)
