"""Ranking by comparable runs: formulas, ties, refusals and intervals."""

import random

import pytest

from hindsight_ray.core.attribution.compared import ALIKE, Comparison, compared
from hindsight_ray.core.attribution.spectrum import (
    Element,
    Formula,
    RunSpectrum,
    chance_on_top,
    fractional_ranks,
    normal_decision,
    run_spectrum,
    suspicions,
    too_few,
)
from hindsight_ray.core.report.supported import supported
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.run import Trajectory
from tests.trajectories import Story, event_id


def element(name: str) -> Element:
    return Element("decision", "ann", name)


def run(success: bool, *names: str) -> RunSpectrum:
    found = frozenset(map(element, names))
    return RunSpectrum(found, frozenset({"ann"}), success, 1.0 if success else -1.0)


RUNS = [
    run(False, "bad", "always", "late"),
    run(False, "bad", "always"),
    run(False, "bad", "always"),
    run(False, "other", "always"),
    run(True, "good", "always"),
    run(True, "good", "always", "late"),
    run(True, "good", "always"),
]


def ranked(formula: Formula = "ochiai", runs: list[RunSpectrum] = RUNS) -> list[str]:
    found = suspicions(runs, random.Random(1), formula=formula)
    return [one.element.key for one in found]


@pytest.mark.parametrize("formula", ["ochiai", "tarantula", "dstar"])
def test_what_only_failing_runs_have_comes_before_what_all_have(formula: Formula) -> None:
    order = ranked(formula)
    assert order.index("bad") < order.index("always") < order.index("good")


def test_ochiai_is_what_its_formula_says() -> None:
    found = {one.element.key: one for one in suspicions(RUNS, random.Random(1))}
    assert found["bad"].score == pytest.approx(3 / (4 * 3) ** 0.5)
    assert found["always"].score == pytest.approx(4 / (4 * 7) ** 0.5)
    assert (found["bad"].failures, found["bad"].successes) == (3, 0)


@pytest.mark.covers("credit.abstains")
@pytest.mark.parametrize(("failures", "successes"), [(2, 9), (9, 2), (0, 0)])
def test_fewer_than_three_of_either_outcome_say_nothing(failures: int, successes: int) -> None:
    runs = [run(False, "bad")] * failures + [run(True, "good")] * successes
    assert suspicions(runs, random.Random(1)) == ()
    reason = too_few(runs)
    assert reason is not None
    assert f"{successes} comparable runs succeeded and {failures} failed" in reason


def test_tied_elements_share_the_mean_of_their_places() -> None:
    assert fractional_ranks([0.5, 0.9, 0.5, 0.1]) == [2.5, 1.0, 2.5, 4.0]
    assert chance_on_top({"a": 0.5, "b": 0.5, "c": 0.1}, "a") == 0.5
    assert chance_on_top({"a": 0.5, "b": 0.5, "c": 0.1}, "b", places=2) == 1.0
    assert chance_on_top({"a": 0.5}, "missing") == 0.0


def test_runs_without_the_agent_neither_clear_nor_blame_what_it_decides() -> None:
    off = [
        RunSpectrum(frozenset(), frozenset({"ben"}), success, float(success))
        for success in (True, False) * 5
    ]
    before = {one.element: one.score for one in suspicions(RUNS, random.Random(1))}
    after = {one.element: one.score for one in suspicions(RUNS + off, random.Random(1))}
    assert before == after


def test_a_single_exposed_run_proves_little() -> None:
    rare = Element("decision", "zoe", "rare")
    once = RunSpectrum(frozenset({rare}), frozenset({"zoe"}), success=False, value=-1.0)
    found = {one.element: one.score for one in suspicions([*RUNS, once], random.Random(1))}
    assert found[rare] < found[element("bad")]


def test_the_bootstrap_is_the_same_for_the_same_seed_and_holds_the_score() -> None:
    one, again = (suspicions(RUNS, random.Random(5)) for _ in range(2))
    assert one == again
    for found in one:
        assert found.low <= found.score <= found.high
        if found.difference is not None:
            value, low, high = found.difference
            assert low <= value <= high


def test_what_every_run_has_makes_no_difference_that_could_be_seen() -> None:
    found = {one.element.key: one for one in suspicions(RUNS, random.Random(1))}
    assert found["always"].difference is None
    assert found["bad"].difference is not None
    assert found["bad"].difference[0] < 0


def test_only_elements_of_the_slice_are_ranked_where_one_is_given() -> None:
    within = frozenset([element("always"), element("good")])
    found = suspicions(RUNS, random.Random(1), within=within)
    assert [one.element.key for one in found] == ["always", "good"]


def test_wording_numbers_and_order_of_words_do_not_make_another_decision() -> None:
    assert normal_decision("I will roll back release 41") == normal_decision(
        "Rolling back the release 7"
    )
    assert normal_decision("roll back release 41") != normal_decision("deploy release 41")


def test_a_run_counts_each_decision_and_each_memory_used_once() -> None:
    story = Story()
    ref = MemoryRef(id=event_id("memory"), revision=1)
    story.decide("one", "Roll back release 41", used=[ref])
    story.decide("two", "roll back the release 40", used=[ref])
    story.decide("three", "Wait", agent="executor")
    found = run_spectrum(story.events, success=True, value=1.0)
    assert found.exposed == {"planner", "executor", ref.id}
    assert found.elements == {
        Element("decision", "planner", normal_decision("roll back release 9")),
        Element("decision", "executor", normal_decision("wait")),
        Element("memory", "", ref.id),
    }


def told(value: float, *decisions: str) -> Trajectory:
    story = Story("observed")
    for number, decision in enumerate(decisions):
        story.decide(f"d{number}", decision, causes=[f"d{number - 1}"] if number else [])
    return story.trajectory(value)


@pytest.mark.covers("credit.abstains")
@pytest.mark.parametrize("formula", ["ochiai", "tarantula", "dstar"])
def test_a_decision_that_is_the_same_whatever_came_of_it_is_not_blamed(formula: Formula) -> None:
    runs = tuple(told(value, "Toss the coin", "Look") for value in (1.0, -1.0) * 4)
    for run in runs[:2]:
        found = compared(Comparison(run, runs, {}), formula)
        assert found.credits == ()
        assert found.abstained is not None
        assert found.abstained.reason == ALIKE


@pytest.mark.covers("credit.abstains")
def test_of_a_run_only_what_failing_runs_have_oftener_is_blamed() -> None:
    """Neither what every run has, nor what the succeeding ones have oftener."""
    good, bad = ("Begin", "Ask first", "Wait"), ("Begin", "Guess", "Wait")
    runs = (*(told(1.0, *good) for _ in range(4)), *(told(-1.0, *bad) for _ in range(4)))
    found = compared(Comparison(runs[-1], runs, {}))
    assert [one.target.label for one in found.credits] == ["planner: Guess"]
    assert compared(Comparison(runs[0], runs, {})).abstained is not None
    once = told(-1.0, "Begin", "Ask first", "Guess", "Wait")
    found = compared(Comparison(once, (*runs, once), {}))
    assert [one.target.label for one in found.credits] == ["planner: Guess"]


def test_a_comparison_says_which_runs_it_is_over() -> None:
    good, bad = ("Begin", "Ask first"), ("Begin", "Guess")
    runs = (*(told(1.0, *good) for _ in range(4)), *(told(-1.0, *bad) for _ in range(4)))
    found = compared(Comparison(runs[-1], runs, {}))
    assert found.compared_runs == 8
    assert "compared: 8 runs of this task type and this very goal" in supported(found)
    few = compared(Comparison(runs[-1], runs[:5], {}))
    assert few.abstained is not None
    assert "the same task type and the same goal" in few.abstained.reason
