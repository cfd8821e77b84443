"""Ranking: contributions sum to the score, outdated stays below, authors are limited."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.ranking import Candidate, limited_by_author, ranked
from hindsight_ray.domain.hit import Route
from hindsight_ray.domain.memory import Memory, MemoryStatistics, Source

NOW = datetime(2026, 3, 2, tzinfo=UTC)
ROUTES: tuple[Route, ...] = ("vector", "keyword", "recent")


def _id(number: int) -> str:
    return str(UUID(int=number + 1, version=5))


def _memory(number: int, **fields: object) -> Memory:
    return Memory.model_validate(
        {
            "id": _id(number),
            "revision": 1,
            "tenant": "acme",
            "scope": "global",
            "audience": ("global",),
            "content": f"statement {number}",
            "type": "fact",
            "created_at": NOW - timedelta(days=number % 50),
            "updated_at": NOW,
            "source": Source(kind="agent", weight=0.6, agent=f"a{number % 3}"),
            "embedding_model": "m",
            **fields,
        }
    )


@st.composite
def _candidates(draw: st.DrawFn) -> list[Candidate]:
    count = draw(st.integers(1, 12))
    ranks: dict[Route, list[int]] = {
        route: draw(st.permutations(range(1, count + 1))) for route in ROUTES
    }
    found: list[Candidate] = []
    for number in range(count):
        on = draw(st.sets(st.sampled_from(ROUTES), min_size=1))
        newer = draw(st.none() | st.integers(0, count - 1))
        outdated = newer is not None and newer != number
        statistics = MemoryStatistics(
            accesses=draw(st.integers(0, 10_000)),
            last_accessed=draw(st.none() | st.just(NOW - timedelta(days=2))),
            last_verified=draw(st.none() | st.just(NOW - timedelta(days=5))),
            utility=draw(st.floats(-1, 1)),
        )
        memory = _memory(
            number,
            importance=draw(st.floats(0, 1)),
            status="outdated" if outdated else "active",
            superseded_by=_id(newer or 0) if outdated else None,
        )
        routes = {route: ranks[route][number] for route in sorted(on)}
        found.append(Candidate(memory, routes, 0.5, statistics))
    return found


@pytest.mark.covers("G6.score")
@settings(max_examples=200)
@given(_candidates(), st.booleans(), st.randoms(use_true_random=False))
def test_contributions_sum_to_the_score_exactly_in_any_order(
    candidates: Sequence[Candidate], newest: bool, random: object
) -> None:
    for hit in ranked(candidates, NOW, newest=newest):
        values = [share.value for share in hit.contributions]
        assert sum(values) == math.fsum(values) == sum(reversed(values)) == hit.score
        random.shuffle(values)  # type: ignore[attr-defined]
        assert sum(values) == hit.score


@settings(max_examples=200)
@given(_candidates())
def test_outdated_ranks_below_what_superseded_it(candidates: Sequence[Candidate]) -> None:
    hits = ranked(candidates, NOW)
    place = {hit.memory.id: number for number, hit in enumerate(hits)}
    newer = {hit.memory.id: hit.memory.superseded_by for hit in hits}

    def in_a_circle(name: str) -> bool:
        seen = {name}
        following = newer.get(name)
        while following is not None and following not in seen:
            seen.add(following)
            following = newer.get(following)
        return following is not None

    for name, above in newer.items():
        if above is not None and above in place and not in_a_circle(name):
            assert place[above] < place[name]


@settings(max_examples=100)
@given(_candidates(), st.randoms(use_true_random=False))
def test_order_does_not_depend_on_the_order_of_candidates(
    candidates: list[Candidate], random: object
) -> None:
    before = ranked(candidates, NOW)
    random.shuffle(candidates)  # type: ignore[attr-defined]
    assert ranked(candidates, NOW) == before


def test_the_best_of_one_route_beats_the_middle_of_two() -> None:
    best = Candidate(_memory(1, created_at=NOW), {"vector": 1})
    middling = Candidate(_memory(2, created_at=NOW), {"vector": 15, "keyword": 8})
    assert ranked([middling, best], NOW)[0].memory.id == best.memory.id


def test_a_useful_memory_moves_up_and_a_harmful_one_down() -> None:
    useful = Candidate(
        _memory(1, created_at=NOW), {"vector": 2}, statistics=MemoryStatistics(utility=1.0)
    )
    harmful = Candidate(
        _memory(2, created_at=NOW), {"vector": 1}, statistics=MemoryStatistics(utility=-1.0)
    )
    assert [hit.memory.id for hit in ranked([harmful, useful], NOW)] == [_id(1), _id(2)]


def test_one_hit_from_each_unreviewed_author_in_shared_scopes() -> None:
    numbers = [0, 3, 6, 1, 2]  # authors a0, a0, a0, a1, a2
    hits = ranked(
        [
            Candidate(_memory(number, created_at=NOW), {"vector": rank})
            for rank, number in enumerate(numbers, start=1)
        ],
        NOW,
    )
    kept, hidden = limited_by_author(hits, lambda _: True, 5)
    assert [hit.memory.source.agent for hit in kept] == ["a0", "a1", "a2"]
    assert hidden == 2
    kept, hidden = limited_by_author(hits, lambda _: False, 4)
    assert (len(kept), hidden) == (4, 0)


def test_reviewed_memories_are_not_limited_by_author() -> None:
    source = Source(kind="agent", weight=0.6, agent="a", reviewed_by="agent:curator")
    hits = ranked([Candidate(_memory(n, source=source), {"vector": n + 1}) for n in range(4)], NOW)
    assert len(limited_by_author(hits, lambda _: True, 5)[0]) == 4


def test_episodes_that_nobody_asks_for_leave_the_places_to_what_was_distilled() -> None:
    dated = [
        Candidate(_memory(n, created_at=NOW, layer="episodic", type="episode"), {"vector": n + 1})
        for n in range(4)
    ]
    distilled = [Candidate(_memory(n, created_at=NOW), {"vector": n + 1}) for n in range(4, 7)]
    asked = ranked([*dated, *distilled], NOW)
    assert [one.memory.id for one in asked] == [_id(n) for n in range(7)]
    hits = ranked([*dated, *distilled], NOW, episodes=False)
    assert [one.memory.id for one in hits] == [_id(n) for n in (0, 4, 5, 6, 1, 2, 3)]
    assert [one.score for one in hits] == sorted((one.score for one in hits), reverse=True)
    assert all(math.fsum(one.shares.values()) == one.score for one in hits)
    alone = ranked(dated, NOW, episodes=False)
    assert [one.memory.id for one in alone] == [_id(n) for n in range(4)]
