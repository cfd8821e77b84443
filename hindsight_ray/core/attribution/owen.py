"""What does each player get where they come as unions: decisions as the decisions of agents?

Within the Owen value the unions share by the Shapley value of the quotient game, and each union's
part is shared inside it by what its members could have done with any set of the other unions.
"""

from collections.abc import Sequence
from math import comb

import numpy as np

from hindsight_ray.core.attribution.shapley import (
    Values,
    joined,
    players_of,
    sizes,
    union_masks,
)


def owen(values: Values, unions: Sequence[Sequence[int]]) -> Values:
    """The Owen value (Owen 1977): a union sums to its Shapley value in the quotient game."""
    masks = union_masks(players_of(values), unions)
    found = np.zeros(players_of(values))
    for at, union in enumerate(unions):
        others = joined(masks[:at] + masks[at + 1 :])
        outer = _weights(len(unions))
        inner = _weights(len(union))
        for player in union:
            own = joined([1 << member for member in union if member != player])
            without = others[:, None] | own[None, :]
            change = values[without | (1 << player)] - values[without]
            found[player] = outer @ change @ inner
    return found


def _weights(count: int) -> Values:
    """The Shapley weight of each set of the others, of whom there are `count` - 1."""
    by_size = np.array([1.0 / (count * comb(count - 1, size)) for size in range(count)])
    return by_size[sizes(1 << (count - 1))]
