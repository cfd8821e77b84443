"""Which random numbers a seed stands for: the same wherever and whenever drawn."""

import random
from collections.abc import Callable


def drawn(seed: int | str) -> random.Random:
    """The generator of a seed."""
    return random.Random(f"hindsight/{seed}")  # noqa: S311 - repeatable by intent, no secret


def draws_of(seed: int) -> Callable[[int], random.Random]:
    """For each index a generator of its own, so that the order of drawing does not matter."""
    return lambda index: drawn(f"{seed}/{index}")
