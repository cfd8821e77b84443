"""A memory's utility: what counts, how far it moves, and what moves nothing."""

import pytest

from hindsight_ray.core.attribution.utility import utility
from hindsight_ray.domain.credit import Credit, EvidenceClass, Target
from tests.trajectories import event_id


def credit(value: float, half: float = 0.0, evidence: EvidenceClass = "replayed") -> Credit:
    return Credit(
        target=Target(kind="memory", id=event_id("memory")),
        value=value,
        low=value - half,
        high=value + half,
        method="shapley",
        evidence=evidence,
    )


def test_a_memory_without_credit_has_no_utility() -> None:
    assert utility([]) == 0.0


@pytest.mark.covers("credit.utility")
@pytest.mark.parametrize("evidence", ["opinion", "structural"])
def test_opinion_and_structure_move_nothing(evidence: EvidenceClass) -> None:
    assert utility([credit(1.0, evidence=evidence)] * 20) == 0.0


def test_a_wide_interval_moves_less_than_a_narrow_one() -> None:
    narrow, wide = utility([credit(0.8, 0.1)]), utility([credit(0.8, 1.5)])
    assert 0 < wide < narrow < 0.8


def test_more_runs_that_agree_move_it_further_and_harm_moves_it_down() -> None:
    assert 0 > utility([credit(-0.6)]) > utility([credit(-0.6)] * 5) > -0.6
    assert utility([credit(0.6), credit(-0.6)]) == pytest.approx(0.0)


def test_it_stays_between_minus_one_and_one() -> None:
    assert utility([credit(2.0)] * 500) == 1.0


def test_runs_in_which_it_did_nothing_neither_clear_nor_praise_it() -> None:
    assert utility([credit(-0.6), *[credit(0.0)] * 20]) == utility([credit(-0.6)])
