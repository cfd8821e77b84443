"""How useful has a memory been, by the credit it got? One number from -1 to 1 that moves its rank.

Only replayed and statistical credit counts; structure and opinion say nothing about a memory's
worth. Each credit weighs by how narrow its interval is, and all of them are shrunk towards 0, the
worth of a memory nobody knows: the posterior mean of a normal prior (empirical Bayes in its
simplest form). A wide interval therefore moves little, and one run alone less than many. A run in
which a memory did nothing says nothing about what it does when it is followed.
"""

from collections.abc import Iterable

from hindsight_ray.core.attribution.intervals import Z95
from hindsight_ray.domain.credit import Credit

COUNTS = ("replayed", "statistical")
PRIOR_VARIANCE = 0.25  # how far memories' worths differ: most within ±1
RUN_VARIANCE = 0.25  # how far one memory's credit differs between runs, beyond its interval


def utility(credits_of_memory: Iterable[Credit]) -> float:
    """The memory's utility, -1 to 1; 0 without credit that counts. One credit for each run."""
    precision = 1.0 / PRIOR_VARIANCE
    weighted = 0.0
    for credit in credits_of_memory:
        counts = credit.evidence in COUNTS and credit.target.kind == "memory"
        if not counts or credit.effect == "idle":
            continue
        half = max(credit.high - credit.value, credit.value - credit.low, 0.0)
        weight = 1.0 / (RUN_VARIANCE + (half / Z95) ** 2)
        precision += weight
        weighted += weight * credit.value
    return min(max(weighted / precision, -1.0), 1.0)
