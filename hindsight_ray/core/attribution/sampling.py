"""What do the players contribute where there are too many coalitions to try them all?

Random orders of the players, each with its reverse (antithetic: a player early in the one is late
in the other). Orders come in batches of fixed size; whether to go on is decided after each batch,
in order of index, by what the batches up to it showed. So neither the number of workers nor the
order in which they finish can change the result.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_ray.core.attribution.intervals import Means, means
from hindsight_ray.core.attribution.shapley import Values

Draws = Callable[[int], random.Random]  # the generator of the pair with this index
Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SamplingRule:
    """When to stop: at most `batches_max` batches, at least `batches_min`, and in between as soon
    as every interval's half-width is at most `half_width` of the difference to be shared."""

    pairs_per_batch: int = 16
    batches_min: int = 4
    batches_max: int = 64
    half_width: float = 0.05


def orders(players: int, batch: int, rule: SamplingRule, draws: Draws) -> list[Order]:
    """The orders of a batch; each stands for itself and its reverse."""
    first = batch * rule.pairs_per_batch
    found: list[Order] = []
    for index in range(first, first + rule.pairs_per_batch):
        order = list(range(players))
        draws(index).shuffle(order)
        found.append(tuple(order))
    return found


def coalitions(order: Order) -> tuple[int, ...]:
    """The coalitions to value for an order and its reverse, each once: 2n of them."""
    forward = _growing(order)
    backward = _growing(order[::-1])
    return tuple(dict.fromkeys(forward + backward))


def contributions(order: Order, value: Mapping[int, float]) -> list[float]:
    """What each player added, the mean over an order and its reverse; sums to v(all) - v(none)."""
    found = [0.0] * len(order)
    for one in (order, order[::-1]):
        steps = _growing(one)
        for at, player in enumerate(one):
            found[player] += (value[steps[at + 1]] - value[steps[at]]) / 2
    return found


def settled(estimate: Means, rule: SamplingRule, stake: float) -> bool:
    """Whether every interval is as narrow as the rule asks, `stake` being what is shared."""
    return bool(np.all(estimate.half <= rule.half_width * max(stake, 1e-12)))


def estimated(samples: Sequence[Sequence[float]], spread: float) -> Means:
    """Shapley values from the contributions of pairs, with their intervals."""
    table: Values = np.asarray(samples, dtype=np.float64)
    return means(table, spread)


def _growing(order: Order) -> tuple[int, ...]:
    steps = [0]
    for player in order:
        steps.append(steps[-1] | (1 << player))
    return tuple(steps)
