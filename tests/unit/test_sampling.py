"""Sampled Shapley values: orders, contributions, intervals and when to stop."""

import random

import numpy as np
import pytest

from benchmarks._games import coverage
from hindsight_ray.core.attribution.intervals import means, t95
from hindsight_ray.core.attribution.sampling import (
    SamplingRule,
    coalitions,
    contributions,
    estimated,
    orders,
    settled,
)
from hindsight_ray.core.attribution.shapley import shapley


def draws(index: int) -> random.Random:
    return random.Random(f"7/{index}")


def test_a_batch_is_the_same_whoever_draws_it_and_whenever() -> None:
    rule = SamplingRule(pairs_per_batch=4)
    later = orders(9, 2, rule, draws)
    assert orders(9, 0, rule, draws) != later
    assert orders(9, 2, rule, draws) == later
    assert all(sorted(order) == list(range(9)) for order in later)


def test_an_order_and_its_reverse_need_two_coalitions_for_each_player() -> None:
    asked = coalitions((2, 0, 1))
    assert len(asked) == len(set(asked)) == 6
    assert {0, 0b111, 0b100, 0b101, 0b010, 0b011} == set(asked)


def test_contributions_of_a_pair_sum_to_what_is_shared() -> None:
    values = np.random.default_rng(0).normal(size=1 << 6)
    order = (3, 1, 5, 0, 2, 4)
    found = contributions(order, {mask: float(values[mask]) for mask in coalitions(order)})
    assert sum(found) == pytest.approx(values[-1] - values[0])


def test_the_mean_over_every_order_is_the_shapley_value() -> None:
    values = np.random.default_rng(1).normal(size=1 << 3)
    known = {mask: float(value) for mask, value in enumerate(values)}
    every = [(0, 1, 2), (0, 2, 1), (1, 0, 2)]  # with their reverses these are all six
    samples = [contributions(order, known) for order in every]
    assert np.mean(samples, axis=0) == pytest.approx(shapley(values))


def test_quantiles_of_t_are_those_of_the_tables() -> None:
    for freedom, known in [(1, 12.706), (4, 2.776), (11, 2.201), (20, 2.086), (60, 2.0003)]:
        assert t95(freedom) == pytest.approx(known, abs=2e-3)
    assert t95(0) == float("inf")


def test_what_never_varied_keeps_an_interval_that_shrinks_with_the_number_of_samples() -> None:
    few, many = (means(np.zeros((m, 2)), 1.0) for m in (20, 200))
    assert few.half[0] == pytest.approx(1 / 20)
    assert many.half[0] == pytest.approx(1 / 200)
    assert np.isinf(means(np.zeros((1, 2)), 1.0).half).all()


def test_sampling_goes_on_until_every_interval_is_narrow_enough() -> None:
    rule = SamplingRule(half_width=0.05)
    wide = estimated([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], 1.0)
    narrow = estimated([[0.5, 0.5]] * 100, 1.0)
    assert not settled(wide, rule, 1.0)
    assert settled(narrow, rule, 1.0)


@pytest.mark.covers("credit.intervals")
def test_intervals_hold_the_true_value_about_as_often_as_they_say() -> None:
    counted = coverage(1_000, seed=11).values()
    share = sum(one.held for one in counted) / sum(one.intervals for one in counted)
    assert 0.93 <= share <= 0.98
    assert sum(one.stopped_early for one in counted) > 500  # the rule's stop is part of it
