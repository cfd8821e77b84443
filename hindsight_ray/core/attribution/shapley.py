"""Who contributed how much to a game whose every coalition's value is known? Shapley and Banzhaf.

A game of n players is an array of 2^n values; coalition S is the number whose bit i is set for
each player i in S. Marginal contributions are differences of two halves of one reshaped view, so
a player whose presence changes nothing gets exactly 0, and 20 players take a fraction of a second.
"""

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from hindsight_ray.errors import InvalidInput

Values = NDArray[np.float64]
TABULATED_PLAYERS_MAX = 24  # 2^24 values are 128 MiB


def players_of(values: Values) -> int:
    """How many players a table of values is about. Raises `InvalidInput` unless it is 2^n."""
    size = len(values)
    count = size.bit_length() - 1
    if values.ndim != 1 or count < 0 or size != 1 << count or count > TABULATED_PLAYERS_MAX:
        raise InvalidInput(
            f"`values` has shape {values.shape}; a game of n players is 2^n values in one row,"
            f" n at most {TABULATED_PLAYERS_MAX}",
            field="values",
        )
    if not np.isfinite(values).all():
        raise InvalidInput("`values` holds NaN or infinity", field="values")
    return count


def shapley(values: Values) -> Values:
    """The Shapley value of each player (Shapley 1953). It sums to v(all) - v(nobody)."""
    count = players_of(values)
    if count == 0:
        return np.zeros(0)
    by_size = np.array([1.0 / (count * comb(count - 1, size)) for size in range(count)])
    weights = by_size[sizes(1 << (count - 1))]
    return np.array([weights @ marginals(values, player) for player in range(count)])


def banzhaf(values: Values) -> Values:
    """The Banzhaf value (Banzhaf 1965): the plain mean of a player's marginal contributions.

    It need not sum to v(all) - v(nobody).
    """
    return np.array(
        [float(np.mean(marginals(values, player))) for player in range(players_of(values))]
    )


def marginals(values: Values, player: int) -> Values:
    """v(S with the player) - v(S) for every S without, in order of S with the bit left out."""
    halves = values.reshape(-1, 2, 1 << player)
    return (halves[:, 1, :] - halves[:, 0, :]).ravel()


def sizes(count: int) -> NDArray[np.intp]:
    """How many players the coalitions 0 … count-1 have."""
    return np.bitwise_count(np.arange(count, dtype=np.uint32)).astype(np.intp)


def quotient(values: Values, unions: Sequence[Sequence[int]]) -> Values:
    """The game in which each union of players joins or stays away as one (Owen 1977)."""
    masks = union_masks(players_of(values), unions)
    return values[joined(masks)]


def union_masks(count: int, unions: Sequence[Sequence[int]]) -> list[int]:
    """The coalition that each union is. Raises `InvalidInput` unless they divide the players."""
    members = sorted(player for union in unions for player in union)
    if members != list(range(count)) or not all(unions):
        raise InvalidInput(
            f"`unions` must name each of {count} players once and none may be empty", field="unions"
        )
    return [sum(1 << player for player in union) for union in unions]


def joined(masks: Sequence[int]) -> NDArray[np.int64]:
    """For each subset of these disjoint coalitions, by number, the coalition of them together."""
    found = np.zeros(1, dtype=np.int64)
    for mask in masks:
        found = np.concatenate([found, found | mask])
    return found
