"""Dividing an outcome so that the parts sum to it exactly, to the last bit and in any order."""

import math


def equal_shares(outcome: float, count: int) -> list[float]:
    """`count` shares that differ by at most one unit in the last place of `outcome`.

    The outcome is divided as a whole number of its units in the last place, so that every partial
    sum is representable and no rounding happens when the shares are added again.
    """
    if count < 1:
        raise ValueError("`count` must be at least 1")
    exponent = max(math.frexp(outcome)[1] - 53, -1074)
    units = abs(int(math.ldexp(outcome, -exponent)))
    sign = -1 if outcome < 0 else 1
    each, left = divmod(units, count)
    return [math.ldexp(sign * (each + (n < left)), exponent) for n in range(count)]
