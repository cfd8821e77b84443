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
from hindsight_ray.domain.answer import Contribution, Hit, Route
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory, MemoryStatistics

FUSION_CONSTANT = 10
ROUTE_WEIGHTS: dict[Route, float] = {"vector": 0.55, "keyword": 0.3, "recent": 0.15}
RETENTION_WEIGHT = 0.06
RECENCY_WEIGHT = 0.02
RECENCY_WEIGHT_ASKED = 0.1  # the question asks for what came last
UTILITY_WEIGHT = 0.06
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


def ranked(
    candidates: Iterable[Candidate], now: datetime, *, newest: bool = False
) -> tuple[Hit, ...]:
    """Score and order all candidates, best first, ties by id. `newest` weighs recency more."""
    hits = {c.memory.id: _scored(c, now, newest=newest) for c in candidates}
    _put_below_superseders(hits)
    return tuple(sorted(hits.values(), key=lambda hit: (-hit.score, hit.memory.id)))


def limited_by_author(
    hits: Sequence[Hit], shared: Callable[[Memory], bool], k: int
) -> tuple[tuple[Hit, ...], int]:
    """At most `k` hits, at most one from each unreviewed author in shared scopes; how many of the
    best were left out for their author."""
    kept: list[Hit] = []
    heard: set[str] = set()
    hidden = 0
    for hit in hits:
        if len(kept) == k:
            break
        memory = hit.memory
        if memory.source.reviewed_by is None and shared(memory):
            author = _author(memory)
            if author in heard:
                hidden += 1
                continue
            heard.add(author)
        kept.append(hit)
    return tuple(kept), hidden


def fusion_share(route: Route, rank: int) -> float:
    """What a rank on a route adds: the route's weight at rank 1, less and less below."""
    return _exact(ROUTE_WEIGHTS[route] * (FUSION_CONSTANT + 1) / (FUSION_CONSTANT + rank))


def _scored(candidate: Candidate, now: datetime, *, newest: bool) -> Hit:
    memory, statistics = candidate.memory, candidate.statistics
    shares = [
        Contribution.model_construct(feature=f"{route} rank", value=fusion_share(route, rank))
        for route, rank in sorted(candidate.routes.items())
    ]
    kept = min(retention(memory, statistics, now), _RETENTION_MOST) / _RETENTION_MOST
    fresh = recency(memory.created_at if newest else last_use(memory, statistics), now)
    features = {
        "retention": RETENTION_WEIGHT * kept,
        "recency": (RECENCY_WEIGHT_ASKED if newest else RECENCY_WEIGHT) * fresh,
        "utility": UTILITY_WEIGHT * statistics.utility,
    }
    if candidate.in_place_of:
        ranks = candidate.in_place_of.items()
        features["supersedes"] = math.fsum(fusion_share(route, rank) for route, rank in ranks)
    if statistics.last_verified is not None:
        features["verified"] = VERIFIED_WEIGHT * recency(statistics.last_verified, now)
    if memory.status == "outdated":
        features["outdated"] = OUTDATED_PENALTY
    shares += [_share(feature, value) for feature, value in features.items()]
    return Hit.model_construct(
        memory=memory,
        score=math.fsum(share.value for share in shares),
        routes=dict(candidate.routes),
        contributions=tuple(shares),
        similarity=candidate.similarity,
        untrusted=not memory.source.trusted,
    )


def _put_below_superseders(hits: dict[MemoryUuid, Hit]) -> None:
    """Lower each outdated hit below what superseded it, along whole chains."""
    done: set[MemoryUuid] = set()

    def settle(name: MemoryUuid, trail: frozenset[MemoryUuid]) -> Hit:
        hit = hits[name]
        above = hit.memory.superseded_by
        if name in done or above is None or above not in hits or above in trail:
            return hit
        better = settle(above, trail | {name})
        if hit.score >= better.score:
            lower = _share("superseded", better.score - hit.score - _STEP_BELOW)
            shares = (*hit.contributions, lower)
            score = math.fsum(share.value for share in shares)
            hit = hit.model_copy(update={"contributions": shares, "score": score})
            hits[name] = hit
        done.add(name)
        return hit

    for name in sorted(hits):
        settle(name, frozenset())


def _author(memory: Memory) -> str:
    source = memory.source
    return f"agent:{source.agent}" if source.agent is not None else f"user:{source.user}"


def _share(feature: str, value: float) -> Contribution:
    return Contribution.model_construct(feature=feature, value=_exact(value))


def _exact(value: float) -> float:
    return round(value * _GRID) / _GRID
