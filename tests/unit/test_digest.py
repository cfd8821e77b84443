"""Digests of whatever a tool takes and gives: the same for the same, with bounded work."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.digest import bounded_canonical, bounded_digest, digest

_plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**63)
    | st.floats(allow_nan=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner, max_size=5)
    ),
    max_leaves=30,
)


def bounded(value: Any) -> str:
    return bounded_digest(*bounded_canonical(value))


@given(_plain)
@settings(max_examples=200)
def test_a_small_value_has_the_digest_of_its_canonical_form(value: Any) -> None:
    assert bounded(value) == digest(value)


def test_the_order_of_keys_does_not_matter_and_that_of_items_does() -> None:
    assert bounded({"a": 1, "b": 2}) == bounded({"b": 2, "a": 1})
    assert bounded([1, 2]) != bounded([2, 1])


@pytest.mark.parametrize(
    "huge",
    [
        "x" * 10_000_000,
        b"x" * 10_000_000,
        list(range(1_000_000)),
        {str(n): n for n in range(100_000)},
        {"rows": ["x" * 1_000] * 1_000},
        10**6_000,
    ],
    ids=["text", "bytes", "list", "keys", "rows", "integer"],
)
def test_of_a_huge_value_only_a_part_is_looked_at_and_the_digest_says_so(huge: Any) -> None:
    text, cut = bounded_canonical(huge)
    assert cut
    assert len(text) < 200_000
    assert bounded_digest(text, cut).startswith("~")


def test_huge_values_of_other_size_have_other_digests() -> None:
    assert bounded("x" * 1_000_000) != bounded("x" * 1_000_001)
    assert bounded(list(range(10_000))) != bounded(list(range(10_001)))


class _Odd:
    def __str__(self) -> str:
        return "odd"


def test_what_json_does_not_know_counts_by_its_text() -> None:
    circular: list[Any] = []
    circular.append(circular)
    for value in (_Odd(), {"k": _Odd()}, {1: "one", None: 2}, {1, 2}, math.inf, math.nan, b"\xff",
                  "\ud800", circular, object):  # fmt: skip
        assert len(bounded(value)) in (64, 65)
    assert bounded(_Odd()) == bounded("odd")
