"""In which order memories answer a question: fusion of the routes, and features that nudge it.

Reciprocal-rank fusion (Cormack, Clarke and Buettcher 2009) with a small constant, since routes are
at most a few dozen rows long: with the customary 60 a row that is poor on two routes beats the
best row of one. Every share is rounded to a multiple of 2^-40, so the contributions of a hit sum
to its score exactly, in any order.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hindsight_ray.core.retention import last_use, recency, retention
from hindsight_ray.domain.hit import Contribution, Hit, Route
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory, MemoryStatistics

FUSION_CONSTANT = 10
ROUTE_WEIGHTS: dict[Route, float] = {"vector": 0.55, "keyword": 0.3, "recent": 0.15}
RETENTION_WEIGHT = 0.06
RECENCY_WEIGHT = 0.02
RECENCY_WEIGHT_ASKED = 0.1  # the question asks for what came last
UTILITY_WEIGHT = 0.15  # what credit proved outweighs a place or two on a route
VERIFIED_WEIGHT = 0.02
OUTDATED_PENALTY = -0.1
_RETENTION_MOST = 2.0  # above that, more accesses no longer help
_GRID = 2.0**40
_STEP_BELOW = 2.0**-20  # how far an outdated row stays below what superseded it


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that some route returned: its rank on each (1 is best) and its statistics."""

    memory: Memory
    routes: Mapping[Route, int]
    similarity: float | None = None
    statistics: MemoryStatistics = field(default_factory=MemoryStatistics)
    in_place_of: Mapping[Route, int] = field(default_factory=dict[Route, int])
    """The ranks of an outdated row that this one superseded, if no route returned this one."""


@dataclass(slots=True)
class Ranked:
    """A candidate with its score and the features that sum to it. Becomes a `Hit` if answered:
    most candidates are not, and values that people see cost more to make."""

    candidate: Candidate
    shares: dict[str, float]
    score: float

    @property
    def memory(self) -> Memory:
        return self.candidate.memory

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        return tuple(Contribution(feature=name, value=v) for name, v in self.shares.items())

    def hit(self, memory: Memory) -> Hit:
        """The hit, with the memory as its reader may have it."""
        return Hit(
            memory=memory,
            score=self.score,
            routes=dict(self.candidate.routes),
            contributions=self.contributions,
            similarity=self.candidate.similarity,
            untrusted=not memory.source.trusted,
        )


def ranked(
    candidates: Iterable[Candidate],
    now: datetime,
    *,
    newest: bool = False,
    episodes: bool = True,
) -> tuple[Ranked, ...]:
    """Score and order all candidates, best first, ties by id. `newest` weighs recency more.

    Where nobody asks for `episodes`, all but the best of them come after what was distilled: each
    review leaves one that says its run's goal again, and a question about the task would be
    answered with nothing but these.
    """
    found = {c.memory.id: _scored(c, now, newest=newest) for c in candidates}
    _put_below_superseders(found)
    if not episodes:
        _put_after_distilled(found.values())
    return tuple(sorted(found.values(), key=_place))


def limited_by_author(
    found: Sequence[Ranked], shared: Callable[[Memory], bool], k: int, *, episodes: bool = True
) -> tuple[tuple[Ranked, ...], int]:
    """At most `k` of them, at most one from each unreviewed author in shared scopes; and how many
    of the best were left out for their author.

    Where nobody asks for `episodes`, an author's one place is not taken by an episode from what
    else they said.
    """
    kept: list[Ranked] = []
    heard: set[str] = set()
    hidden = 0

    def limited(memory: Memory) -> bool:
        return memory.source.reviewed_by is None and shared(memory)

    others = [] if episodes else [one.memory for one in found if not is_episode(one.memory)]
    distilled = {_author(memory) for memory in others if limited(memory)}
    for one in found:
        if len(kept) == k:
            break
        memory = one.memory
        if limited(memory):
            author = _author(memory)
            if author in heard or (author in distilled and is_episode(memory)):
                hidden += 1
                continue
            heard.add(author)
        kept.append(one)
    return tuple(kept), hidden


def is_episode(memory: Memory) -> bool:
    """Whether it says what happened on a day, rather than what was distilled from it."""
    return memory.layer == "episodic"


def fusion_share(route: Route, rank: int) -> float:
    """What a rank on a route adds: the route's weight at rank 1, less and less below."""
    return _exact(ROUTE_WEIGHTS[route] * (FUSION_CONSTANT + 1) / (FUSION_CONSTANT + rank))


def _scored(candidate: Candidate, now: datetime, *, newest: bool) -> Ranked:
    memory, statistics = candidate.memory, candidate.statistics
    kept = min(retention(memory, statistics, now), _RETENTION_MOST) / _RETENTION_MOST
    fresh = recency(memory.created_at if newest else last_use(memory, statistics), now)
    shares = {
        f"{route} rank": fusion_share(route, rank) for route, rank in candidate.routes.items()
    }
    shares["retention"] = _exact(RETENTION_WEIGHT * kept)
    shares["recency"] = _exact((RECENCY_WEIGHT_ASKED if newest else RECENCY_WEIGHT) * fresh)
    shares["utility"] = _exact(UTILITY_WEIGHT * statistics.utility)
    if candidate.in_place_of:
        places = candidate.in_place_of.items()
        shares["supersedes"] = math.fsum(fusion_share(route, rank) for route, rank in places)
    if statistics.last_verified is not None:
        shares["verified"] = _exact(VERIFIED_WEIGHT * recency(statistics.last_verified, now))
    if memory.status == "outdated":
        shares["outdated"] = _exact(OUTDATED_PENALTY)
    return Ranked(candidate, shares, math.fsum(shares.values()))


def _put_below_superseders(found: Mapping[MemoryUuid, Ranked]) -> None:
    """Lower each outdated row below what superseded it, along whole chains."""
    done: set[MemoryUuid] = set()

    def settle(name: MemoryUuid, trail: frozenset[MemoryUuid]) -> Ranked:
        one = found[name]
        above = one.memory.superseded_by
        if name in done or above is None or above not in found or above in trail:
            return one
        better = settle(above, trail | {name})
        if one.score >= better.score:
            one.shares["superseded"] = _exact(better.score - one.score - _STEP_BELOW)
            one.score = math.fsum(one.shares.values())
        done.add(name)
        return one

    for name in sorted(found):
        settle(name, frozenset())


def _put_after_distilled(found: Iterable[Ranked]) -> None:
    """Lower each episode but the best below everything else, in their order."""
    every = sorted(found, key=_place)
    dated = [one for one in every if is_episode(one.memory)]
    if len(dated) == len(every):
        return
    floor = min(one.score for one in every if not is_episode(one.memory))
    for one in dated[1:]:
        if one.score >= floor:
            one.shares["episode"] = _exact(floor - one.score - _STEP_BELOW)
            one.score = math.fsum(one.shares.values())
        floor = one.score


def _place(one: Ranked) -> tuple[float, str]:
    return -one.score, one.memory.id


def _author(memory: Memory) -> str:
    source = memory.source
    return f"agent:{source.agent}" if source.agent is not None else f"user:{source.user}"


def _exact(value: float) -> float:
    return round(value * _GRID) / _GRID
