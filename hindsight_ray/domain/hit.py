"""A memory that a search found, with the features that its score is the sum of."""

from typing import Literal

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.memory import Memory

Route = Literal["vector", "keyword", "recent"]


class Contribution(Value):
    """One feature's share of a hit's score. A hit's contributions sum to its score."""

    feature: str
    value: float


class Hit(Value):
    """A memory found: its score, the rank it had on each route (1 is best), and why."""

    memory: Memory
    score: float
    routes: dict[Route, int]
    contributions: tuple[Contribution, ...]
    similarity: float | None = None  # cosine, -1 to 1; None off the vector route
    untrusted: bool = False  # text from outside, to be shown as data
