"""Credit by replay: which coalitions to replay, when it is enough, and what came out as values.

One restored state for a whole game, so that every coalition is continued from the same point.
Everything is decided by counts and by values in order of index: how many workers replayed, and
what was known from before, changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hindsight_ray.core.attribution.environment import Change, Request
from hindsight_ray.core.attribution.intervals import Means, means
from hindsight_ray.core.attribution.owen import owen
from hindsight_ray.core.attribution.players import Player, change_of
from hindsight_ray.core.attribution.sampling import (
    Draws,
    SamplingRule,
    coalitions,
    contributions,
    orders,
    settled,
)
from hindsight_ray.core.attribution.shapley import Values, banzhaf, quotient, shapley
from hindsight_ray.core.digest import digest
from hindsight_ray.service.replays import Replays

TableMethod = Literal["banzhaf", "owen", "agents"]
EXACT_PLAYERS_MAX = 12
REPLICATES_PER_BATCH = 8
REPLICATES_MAX = 64


@dataclass(frozen=True, slots=True)
class Solved:
    """Values with half-widths for each player, and what the whole team and nobody achieved."""

    values: Values
    half: Values
    together: float
    nobody: float
    exact: bool
    samples: Values  # one row for each independent sample of all values
    tables: Values | None = None  # of an exact game: one row of 2^n values for each replicate


@dataclass(frozen=True, slots=True)
class Unsolved:
    """Why there are no values."""

    reason: str


def replicate_seed(seed: int, index: int) -> int:
    """The seed of the replicate with this index: the same for every coalition."""
    return int(digest([seed, index])[:12], 16)


async def exact(
    replays: Replays, players: Sequence[Player], seeds: Sequence[int], rule: SamplingRule
) -> Solved | Unsolved:
    """The Shapley value from all coalitions, once for each seed, in batches of seeds.

    A single seed stands for a deterministic environment, whose values have no interval.
    """
    changes = [change_of(players, mask) for mask in range(1 << len(players))]
    rows: list[list[float]] = []
    samples: list[Values] = []
    for first in range(0, len(seeds), REPLICATES_PER_BATCH):
        batch = seeds[first : first + REPLICATES_PER_BATCH]
        asked = [Request(change, seed) for seed in batch for change in changes]
        if not replays.affords(asked):
            break
        got = await replays.outcomes(asked)
        for n in range(len(batch)):
            rows.append(got[n * len(changes) : (n + 1) * len(changes)])
            samples.append(shapley(np.array(rows[-1])))
        if settled(_estimate(samples, rows), rule, _spread(rows)):
            break
    if not rows:
        least = len(changes) * min(len(seeds), REPLICATES_PER_BATCH)
        return Unsolved(_too_dear(replays, least, len(players)))
    estimate = _estimate(samples, rows)
    half = np.zeros(len(players)) if len(seeds) == 1 else estimate.half
    tables = np.array(rows)
    return Solved(
        values=estimate.values,
        half=half,
        together=float(tables[:, -1].mean()),
        nobody=float(tables[:, 0].mean()),
        exact=True,
        samples=np.array(samples),
        tables=tables,
    )


async def sampled(
    replays: Replays,
    players: Sequence[Player],
    seeds: Sequence[int],
    rule: SamplingRule,
    draws: Draws,
) -> Solved | Unsolved:
    """The Shapley value from random orders and their reverses, with its intervals.

    Each pair of orders has a seed of its own (in turn, if there are fewer), so that pairs are
    independent and the intervals hold the noise of the environment too.
    """
    count = len(players)
    samples: list[list[float]] = []
    ends: list[tuple[float, float]] = []
    low, high = np.inf, -np.inf
    for batch in range(rule.batches_max):
        drawn = orders(count, batch, rule, draws)
        at = batch * rule.pairs_per_batch
        asked = [
            (mask, Request(change_of(players, mask), seeds[(at + n) % len(seeds)]))
            for n, order in enumerate(drawn)
            for mask in coalitions(order)
        ]
        if not replays.affords([request for _, request in asked]):
            break
        got = await replays.outcomes([request for _, request in asked])
        low, high = min(low, *got), max(high, *got)
        for n, order in enumerate(drawn):
            mine = slice(n * 2 * count, (n + 1) * 2 * count)
            found = {m: v for (m, _), v in zip(asked[mine], got[mine], strict=True)}
            samples.append(contributions(order, found))
            ends.append((found[(1 << count) - 1], found[0]))
        enough = batch + 1 >= rule.batches_min
        if enough and settled(means(np.array(samples), high - low), rule, high - low):
            break
    if len(samples) < rule.batches_min * rule.pairs_per_batch:
        least = rule.batches_min * rule.pairs_per_batch * 2 * count
        return Unsolved(_too_dear(replays, least, count))
    estimate = means(np.array(samples), high - low)
    together, nobody = np.array(ends).mean(axis=0)
    return Solved(
        estimate.values, estimate.half, float(together), float(nobody), False, np.array(samples)
    )


async def left_out(
    replays: Replays, players: Sequence[Player], seeds: Sequence[int], rule: SamplingRule
) -> Solved | Unsolved:
    """Difference rewards (Wolpert and Tumer 2001): the outcome less that without one player.

    The same seeds with and without, so that chance they share cancels; in batches of seeds.
    """
    whole = (1 << len(players)) - 1
    changes = [change_of(players, whole & ~(1 << n)) for n in range(len(players))]
    together: list[float] = []
    rows: list[list[float]] = []
    for first in range(0, len(seeds), REPLICATES_PER_BATCH):
        batch = seeds[first : first + REPLICATES_PER_BATCH]
        asked = [Request(change, seed) for seed in batch for change in (Change(), *changes)]
        if not replays.affords(asked):
            break
        got = np.array(await replays.outcomes(asked)).reshape(len(batch), -1)
        together.extend(got[:, 0].tolist())
        rows.extend((got[:, :1] - got[:, 1:]).tolist())
        if len(rows) > 1 and settled(means(np.array(rows), _spread(rows)), rule, _spread(rows)):
            break
    if not rows:
        least = (len(players) + 1) * min(len(seeds), REPLICATES_PER_BATCH)
        return Unsolved(_too_dear(replays, least, len(players)))
    samples = np.array(rows)
    estimate = means(samples, _spread(rows))
    half = np.zeros(len(players)) if len(seeds) == 1 else estimate.half
    mean = float(np.mean(together))
    return Solved(estimate.values, half, mean, 0.0, True, samples)


def by_table(solved: Solved, method: TableMethod, unions: Sequence[Sequence[int]]) -> Solved:
    """Another value of the same exact game: `banzhaf`, `owen`, or `agents` (the quotient game)."""
    tables = solved.tables
    if tables is None:
        raise ValueError("`solved` holds no table of values")
    samples = np.array([_value(row, method, unions) for row in tables])
    return _resampled(solved, samples)


def _value(table: Values, method: TableMethod, unions: Sequence[Sequence[int]]) -> Values:
    if method == "banzhaf":
        return banzhaf(table)
    return owen(table, unions) if method == "owen" else shapley(quotient(table, unions))


def side_by_side(found: Sequence[Solved]) -> Solved:
    """Values that were found one player at a time. What all achieved is that of the first."""
    return Solved(
        values=np.concatenate([one.values for one in found]),
        half=np.concatenate([one.half for one in found]),
        together=found[0].together,
        nobody=0.0,
        exact=all(one.exact for one in found),
        samples=np.zeros((0, len(found))),
    )


def summed(solved: Solved, unions: Sequence[Sequence[int]]) -> Solved:
    """The values of each union's members added up, with intervals of the sums."""
    columns = [solved.samples[:, list(union)].sum(axis=1) for union in unions]
    return _resampled(solved, np.array(columns).T)


def _resampled(solved: Solved, samples: Values) -> Solved:
    spread = float(np.ptp(samples)) if samples.size else 0.0
    estimate = means(samples, spread)
    half = np.zeros(samples.shape[1]) if len(samples) == 1 else estimate.half
    return Solved(estimate.values, half, solved.together, solved.nobody, solved.exact, samples)


def _estimate(samples: Sequence[Values], rows: Sequence[Sequence[float]]) -> Means:
    return means(np.array(samples), _spread(rows))


def _spread(rows: Sequence[Sequence[float]]) -> float:
    return float(np.ptp(np.array(rows)))


def _too_dear(replays: Replays, least: int, players: int) -> str:
    return (
        f"{players} players need at least {least} replays, and the budget is {replays.budget};"
        " raise the budget or name fewer players"
    )
