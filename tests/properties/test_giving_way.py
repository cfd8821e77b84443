"""Which memories of a full scope give way: what is written counts against whoever wrote it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.least import Holder, Least, holder, least_kept, turns
from hindsight_ray.domain.memory import Memory, MemoryStatistics, Source
from tests.records import memory_of
from tests.worlds import START

NOW = START + timedelta(days=3)
STATISTICS = MemoryStatistics()
HELD = st.dictionaries(
    st.builds(Holder, st.integers(0, 3), st.sampled_from("abcdef")),
    st.integers(0, 12),
    max_size=12,
)
SIZES = st.dictionaries(st.sampled_from(["one", "two", "three", "four"]), st.integers(1, 9))
LIMITS = st.integers(0, 24)


@pytest.mark.covers("life.share")
@settings(max_examples=150)
@given(HELD, st.integers(0, 80), st.integers(0, 80))
def test_those_give_way_who_hold_the_most_of_the_lowest_rank(
    held: dict[Holder, int], count: int, fewer: int
) -> None:
    found = turns(held, count)
    assert len(found) == min(count, sum(held.values()))
    assert turns(held, min(fewer, count)) == found[: min(fewer, count)]
    left = Counter(held)
    for who in found:
        here = {other: number for other, number in left.items() if number > 0}
        assert who.rank == min(other.rank for other in here)
        assert here[who] == max(n for other, n in here.items() if other.rank == who.rank)
        left[who] -= 1


@pytest.mark.covers("life.share")
@settings(max_examples=150)
@given(SIZES, LIMITS, st.data())
def test_nobody_below_an_equal_share_loses_anything_to_what_others_wrote(
    sizes: dict[str, int], limit: int, data: st.DataObject
) -> None:
    there = [
        _memory(f"{agent} {n}", agent, importance=data.draw(st.sampled_from([0.0, 0.5, 1.0])))
        for agent, size in sizes.items()
        for n in range(size)
    ]
    lost = _lost(there, limit)
    assert sum(lost.values()) == max(len(there) - limit, 0)
    for agent in lost:
        assert sizes[agent] * len(sizes) > limit


@pytest.mark.covers("life.share")
@settings(max_examples=100)
@given(SIZES, LIMITS, st.integers(0, 9), st.booleans())
def test_an_owner_within_the_quota_loses_nothing_to_any_number_of_guests(
    sizes: dict[str, int], limit: int, own: int, accepted: bool
) -> None:
    scope = "agent:owner"
    source = {"agent": "guest", "reviewed_by": scope} if accepted else {"agent": "owner"}
    there = [_memory(f"own {n}", scope=scope, source=source, importance=0.0) for n in range(own)]
    there += [
        _memory(f"{agent} {n}", agent, scope=scope, importance=1.0, status=status)
        for agent, size in sizes.items()
        for n in range(size)
        for status in ("active", "pending")
    ]
    gone = {one.id for one in least_kept(_known(there), NOW, len(there) - limit)}
    assert sum(one.id in gone for one in there[:own]) == max(own - limit, 0)


@pytest.mark.covers("life.share", "life.quota_outside")
@settings(max_examples=100)
@given(SIZES, SIZES, LIMITS)
def test_text_from_outside_pushes_out_nothing_that_somebody_stood_by(
    said: dict[str, int], outside: dict[str, int], limit: int
) -> None:
    there = [_memory(f"{who} {n}", who) for who, size in said.items() for n in range(size)]
    doubtful = {"trusted": False, "kind": "tool"}
    there += [
        _memory(f"{who} tool {n}", source={"agent": who, **doubtful}, importance=1.0)
        for who, size in outside.items()
        for n in range(size)
    ]
    gone = least_kept(_known(there), NOW, len(there) - limit)
    stood_by = sum(said.values())
    assert sum(one.source.trusted for one in gone) == max(stood_by - limit, 0)


@pytest.mark.covers("life.share")
@settings(max_examples=60)
@given(SIZES, LIMITS, st.integers(1, 5))
def test_read_in_pages_the_same_ones_give_way(sizes: dict[str, int], limit: int, page: int) -> None:
    there = [
        _memory(f"{who} {n}", who, importance=n * 7 % 10 / 10)
        for who, size in sizes.items()
        for n in range(size)
    ]
    found = Least(NOW, len(there) - limit)
    for start in range(0, len(there), page):
        found.add(_known(there[start : start + page]))
    assert found.chosen() == least_kept(_known(there), NOW, len(there) - limit)


@pytest.mark.covers("life.share")
def test_a_user_s_scope_is_owned_by_the_user_and_by_who_acts_for_them() -> None:
    ranks = [
        holder(_memory("m", scope="user:alice", source=source)).rank
        for source in (
            {"user": "alice"}, {"agent": "one", "user": "alice"}, {"agent": "reviewer"},
            {"agent": "one"}, {"agent": "one", "user": "bob"}, {"user": "bob"},
        )
    ]  # fmt: skip
    assert ranks == [3, 3, 3, 1, 1, 1]


def _lost(there: Sequence[Memory], limit: int) -> Counter[str]:
    gone = least_kept(_known(there), NOW, len(there) - limit)
    return Counter(one.source.agent or "" for one in gone)


def _known(there: Sequence[Memory]) -> list[tuple[Memory, MemoryStatistics]]:
    return [(one, STATISTICS) for one in there]


def _memory(
    word: str, agent: str = "one", *, source: Mapping[str, object] | None = None, **fields: object
) -> Memory:
    given_source = {"kind": "agent", "weight": 0.6, **(source or {"agent": agent})}
    plain = memory_of(f"{word} {fields.get('status')}")
    return plain.model_copy(update={"source": Source.model_validate(given_source), **fields})
