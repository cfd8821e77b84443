"""How far may a mean be off? 95 % intervals of means of independent samples.

Student's t on the samples, and never narrower than what so few samples can say at all: where none
of m samples showed a thing that happens with probability p, p may still be as large as 3/m. A
player that was never seen to matter in 64 permutations is therefore not said to be exactly idle.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from hindsight_ray.core.attribution.shapley import Values

Z95 = 1.959963984540054
_T95 = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)


@dataclass(frozen=True, slots=True)
class Means:
    """Means of columns with the half-widths of their 95 % intervals."""

    values: Values
    half: Values
    samples: int


def t95(freedom: int) -> float:
    """The two-sided 95 % quantile of Student's t; above ten degrees by Cornish and Fisher."""
    if freedom < 1:
        return math.inf
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z, v = Z95, float(freedom)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    )


def means(samples: Values, spread: float) -> Means:
    """Means over the rows of `samples`, shape (m, n). `spread` bounds how far samples may lie.

    The floor adds to the variance what one unseen sample at the spread's far end would: with m
    samples that is spread²/m, which fades against any variance that was seen.
    """
    count = len(samples)
    middle = samples.mean(axis=0)
    if count < 2:
        return Means(middle, middle * 0.0 + math.inf, count)
    variance = samples.var(axis=0, ddof=1)
    floor = (spread / count) ** 2
    half = np.maximum(t95(count - 1) * np.sqrt(variance / count), 0.0)
    return Means(middle, np.sqrt(half**2 + floor), count)


def family_factor(count: int) -> float:
    """How much wider `count` intervals must be for all to hold at once 95 % of the time.

    After Bonferroni, for a statement about any of them; each interval by itself is not widened.
    """
    return NormalDist().inv_cdf(1 - 0.025 / max(count, 1)) / Z95
