"""What holds of every game, and what two other implementations say of it."""

import warnings
from typing import Any

import coopgame
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.attribution.owen import owen
from hindsight_ray.core.attribution.shapley import banzhaf, quotient, shapley

worths = st.floats(min_value=-100, max_value=100, allow_nan=False)


@st.composite
def games(draw: st.DrawFn, players: int | None = None) -> np.ndarray:
    count = draw(st.integers(min_value=1, max_value=7)) if players is None else players
    seed = draw(st.integers(min_value=0, max_value=2**32 - 1))
    some = draw(st.lists(worths, min_size=1, max_size=8))
    rng = np.random.default_rng(seed)
    return np.where(
        rng.random(1 << count) < 0.5, rng.choice(some, 1 << count), rng.normal(size=1 << count)
    )


@settings(max_examples=100)
@given(game=games())
def test_shapley_values_sum_to_what_the_players_achieve_together(game: np.ndarray) -> None:
    assert abs(shapley(game).sum() - (game[-1] - game[0])) < 1e-9


@settings(max_examples=60)
@given(game=games(players=5), data=st.data())
def test_players_who_can_stand_in_for_each_other_get_the_same(game: np.ndarray, data: Any) -> None:
    first, second = data.draw(st.permutations(range(5)))[:2]
    fair = game.copy()
    for mask in range(32):
        swapped = mask & ~(1 << first | 1 << second)
        swapped |= (mask >> first & 1) << second | (mask >> second & 1) << first
        fair[mask] = (game[mask] + game[swapped]) / 2
    for value in (shapley, banzhaf):
        found = value(fair)
        assert abs(found[first] - found[second]) < 1e-9


@settings(max_examples=60)
@given(game=games(players=5), player=st.integers(0, 4))
def test_a_player_that_changes_nothing_gets_exactly_nothing(game: np.ndarray, player: int) -> None:
    idle = np.array([game[mask & ~(1 << player)] for mask in range(32)])
    assert shapley(idle)[player] == 0.0
    assert banzhaf(idle)[player] == 0.0
    assert owen(idle, [[0, 1], [2], [3, 4]])[player] == 0.0


@settings(max_examples=60)
@given(one=games(players=5), other=games(players=5), factor=st.floats(-3, 3))
def test_values_are_linear_in_the_game(one: np.ndarray, other: np.ndarray, factor: float) -> None:
    for value in (shapley, banzhaf, lambda g: owen(g, [[0, 1], [2, 3], [4]])):
        together = value(one + factor * other)
        assert np.allclose(together, value(one) + factor * value(other), atol=1e-8)


@settings(max_examples=60)
@given(game=games(players=6))
def test_owen_values_of_a_union_sum_to_its_share_as_one_player(game: np.ndarray) -> None:
    unions = [[0, 5], [1, 2, 3], [4]]
    values, shares = owen(game, unions), shapley(quotient(game, unions))
    assert np.allclose([values[union].sum() for union in unions], shares, atol=1e-9)


@settings(max_examples=40)
@given(game=games())
def test_unions_of_one_or_of_all_give_the_shapley_value(game: np.ndarray) -> None:
    count = len(game).bit_length() - 1
    assert np.allclose(owen(game, [[p] for p in range(count)]), shapley(game), atol=1e-9)
    assert np.allclose(owen(game, [list(range(count))]), shapley(game), atol=1e-9)


@pytest.mark.covers("credit.exact")
@settings(max_examples=100)
@given(game=games())
def test_another_implementation_of_cooperative_games_agrees(game: np.ndarray) -> None:
    count = len(game).bit_length() - 1
    zeroed = game - game[0]  # it knows only games in which nobody achieves nothing
    oracle = coopgame.Game(zeroed[1:].tolist())
    unions = [[p for p in range(count) if p % 3 == k] for k in range(min(3, count))]
    assert np.allclose(shapley(game), coopgame.shapley(oracle), atol=1e-9)
    assert np.allclose(banzhaf(game), coopgame.banzhaf(oracle), atol=1e-9)
    assert np.allclose(owen(game, unions), coopgame.owen(oracle, unions), atol=1e-9)


@pytest.mark.covers("credit.exact")
def test_an_implementation_for_explaining_models_agrees() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that it loads
        import shapiq  # noqa: PLC0415 - seconds to import, for this test alone
    for players in range(2, 11):
        values = np.random.default_rng(players).normal(size=1 << players)
        powers = 1 << np.arange(players)
        computer = shapiq.ExactComputer(
            lambda coalitions, v=values, p=powers: v[np.atleast_2d(coalitions) @ p], players
        )
        theirs = computer("SV", order=1)
        found = [theirs[(player,)] for player in range(players)]
        assert np.allclose(shapley(values), found, atol=1e-9)
        theirs = computer("BV", order=1)
        assert np.allclose(banzhaf(values), [theirs[(p,)] for p in range(players)], atol=1e-9)
