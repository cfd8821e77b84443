"""Shapley, Banzhaf and Owen values of games whose answers are known."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
import pytest

from hindsight_ray.core.attribution.owen import owen
from hindsight_ray.core.attribution.shapley import banzhaf, joined, quotient, shapley, union_masks
from hindsight_ray.errors import InvalidInput

Worth = Callable[[frozenset[int]], float]


def table(players: int, worth: Worth) -> np.ndarray:
    """The game's values by coalition number."""
    return np.array(
        [
            float(worth(frozenset(p for p in range(players) if mask >> p & 1)))
            for mask in range(1 << players)
        ]
    )


def by_orders(players: int, worth: Worth) -> list[Fraction]:
    """Shapley values from the definition: the mean over every order, in whole fractions."""
    found = [Fraction(0)] * players
    for order in permutations(range(players)):
        before: frozenset[int] = frozenset()
        for player in order:
            after = before | {player}
            found[player] += Fraction(worth(after)) - Fraction(worth(before))
            before = after
    return [sum_ / factorial(players) for sum_ in found]


def by_orders_of_unions(unions: list[list[int]], worth: Worth) -> list[Fraction]:
    """Owen values from the definition: orders in which every union stands together."""
    players = sum(map(len, unions))
    found = [Fraction(0)] * players
    count = 0
    for outer in permutations(unions):
        inner: list[list[int]] = [[]]
        for union in outer:
            inner = [done + list(own) for done in inner for own in permutations(union)]
        for order in inner:
            count += 1
            before: frozenset[int] = frozenset()
            for player in order:
                after = before | {player}
                found[player] += Fraction(worth(after)) - Fraction(worth(before))
                before = after
    return [sum_ / count for sum_ in found]


def test_of_a_unanimity_game_its_carriers_share_equally_and_others_get_exactly_nothing() -> None:
    values = shapley(table(6, lambda s: float({1, 3, 4} <= s)))
    assert values == pytest.approx([0, 1 / 3, 0, 1 / 3, 1 / 3, 0], abs=1e-12)
    assert values[0] == values[2] == values[5] == 0.0


def test_of_the_airport_game_each_pays_its_part_of_every_piece_of_runway_it_uses() -> None:
    costs = [1.0, 2.0, 4.0, 8.0, 8.0]
    values = shapley(table(5, lambda s: max((costs[p] for p in s), default=0.0)))
    pieces = [(1.0, 5), (1.0, 4), (2.0, 3), (4.0, 2)]
    sums = np.cumsum([piece / users for piece, users in pieces])
    assert values == pytest.approx([*sums, sums[-1]], abs=1e-12)


def test_of_a_weighted_vote_the_known_indices_come_out() -> None:
    """[4; 3, 2, 1, 1]: Shapley and Shubik's own example of a vote."""
    weights = [3, 2, 1, 1]
    game = table(4, lambda s: float(sum(weights[p] for p in s) >= 4))
    assert shapley(game) == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6], abs=1e-12)
    assert banzhaf(game) == pytest.approx([6 / 8, 2 / 8, 2 / 8, 2 / 8], abs=1e-12)


def test_of_the_glove_game_the_scarce_glove_is_worth_two_thirds() -> None:
    game = table(3, lambda s: float(0 in s and bool(s & {1, 2})))
    assert shapley(game) == pytest.approx([2 / 3, 1 / 6, 1 / 6], abs=1e-12)


def test_of_an_additive_game_everyone_gets_their_own() -> None:
    own = [0.25, -1.0, 3.5, 0.0, 0.125]
    game = table(5, lambda s: sum(own[p] for p in sorted(s)))
    for value in (shapley, banzhaf):
        assert value(game) == pytest.approx(own, abs=1e-12)
    assert owen(game, [[0, 3], [1], [2, 4]]) == pytest.approx(own, abs=1e-12)


def test_of_a_symmetric_game_everyone_gets_the_same() -> None:
    game = table(8, lambda s: len(s) ** 2 / 64)
    assert shapley(game) == pytest.approx([1 / 8] * 8, abs=1e-12)


@pytest.mark.parametrize("players", range(1, 8))
def test_values_equal_the_mean_over_every_order(players: int) -> None:
    draw = random.Random(players)
    worths = [draw.randint(-1000, 1000) for _ in range(1 << players)]

    def worth(s: frozenset[int]) -> float:
        return worths[sum(1 << p for p in s)]

    expected = [float(value) for value in by_orders(players, worth)]
    assert shapley(table(players, worth)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "unions", [[[0, 1], [2, 3, 4]], [[4, 0], [1], [3, 2]], [[0, 1, 2, 3, 4]], [[0], [1], [2], [3]]]
)
def test_owen_values_equal_the_mean_over_orders_that_keep_unions_together(
    unions: list[list[int]],
) -> None:
    players = sum(map(len, unions))
    draw = random.Random(players)
    worths = [draw.randint(-100, 100) for _ in range(1 << players)]

    def worth(s: frozenset[int]) -> float:
        return worths[sum(1 << p for p in s)]

    expected = [float(value) for value in by_orders_of_unions(unions, worth)]
    assert owen(table(players, worth), unions) == pytest.approx(expected, abs=1e-9)


def test_banzhaf_is_the_mean_of_all_marginal_contributions() -> None:
    draw = random.Random(3)
    worths = [draw.random() for _ in range(1 << 5)]
    expected = [
        sum(worths[m | 1 << p] - worths[m] for m in range(1 << 5) if not m >> p & 1) / 16
        for p in range(5)
    ]
    assert banzhaf(np.array(worths)) == pytest.approx(expected, abs=1e-12)


def test_the_quotient_game_values_unions_as_one_player_each() -> None:
    values = np.arange(32, dtype=float)
    game = quotient(values, [[0, 4], [1], [2, 3]])
    assert list(game) == [0, 17, 2, 19, 12, 29, 14, 31]


def test_unions_must_divide_the_players() -> None:
    for unions in ([[0, 1]], [[0, 1], [1, 2]], [[0, 1, 2], []]):
        with pytest.raises(InvalidInput, match="unions"):
            union_masks(3, unions)


def test_a_table_that_is_no_game_is_refused() -> None:
    for values in ([0.0] * 3, [], [0.0, float("nan")], [0.0, float("inf")]):
        with pytest.raises(InvalidInput, match="values"):
            shapley(np.array(values))
    assert list(shapley(np.array([2.0]))) == []


def test_subsets_of_coalitions_are_numbered_like_subsets() -> None:
    assert list(joined([0b011, 0b100])) == [0, 0b011, 0b100, 0b111]


def test_twenty_tabulated_players_sum_to_what_is_shared() -> None:
    values = np.random.default_rng(1).random(1 << 20)
    assert float(shapley(values).sum()) == pytest.approx(float(values[-1] - values[0]), abs=1e-9)


def test_weights_of_coalition_sizes_sum_to_one() -> None:
    """The weight of each size, times how many coalitions have it, is the same for every size."""
    for players in range(1, 15):
        weights = [1 / (players * comb(players - 1, k)) for k in range(players)]
        assert sum(
            weights[len(s)] for k in range(players) for s in combinations(range(players - 1), k)
        ) == pytest.approx(1.0)
