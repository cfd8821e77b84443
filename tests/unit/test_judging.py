"""The three ways of asking a model who decided a failure, and what counts as its answer."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_ray.core.attribution.judging import (
    ASKED_MAX,
    Ask,
    Strategy,
    Verdict,
    judged,
    judging,
    why_no_question,
)
from hindsight_ray.core.shapes import CulpritAnswer, HalfAnswer, Shape, StepAnswer
from hindsight_ray.domain.run import Trajectory
from tests.trajectories import Story, event_id

_TOKENS = 8_000


def _failed_run(decisions: int = 9, **fields: Any) -> Trajectory:
    story = Story("observed")
    story.user("ask", "Please restore checkout")
    before = "ask"
    for number in range(decisions):
        agent = ("planner", "executor", "checker")[number % 3]
        before = story.decide(f"d{number}", f"choose number {number}", agent=agent, causes=[before])
    return story.trajectory(-1.0, **fields)


def _run(
    trajectory: Trajectory, strategy: Strategy, answer: Callable[[Ask], Shape]
) -> tuple[Verdict, list[Ask]]:
    asked: list[Ask] = []
    questions = judging(trajectory, [], strategy, tokens=_TOKENS)
    try:
        asked.append(next(questions))
        while True:
            asked.append(questions.send(answer(asked[-1])))
    except StopIteration as ended:
        return ended.value, asked


def _knowing(culprit: int) -> Callable[[Ask], Shape]:
    """A model that always knows: the decision with this number is event `e<culprit + 2>`."""

    def answer(asked: Ask) -> Shape:
        last = asked.told.rpartition("\n\n")[2]
        if asked.shape is CulpritAnswer:
            return CulpritAnswer(events=[f"e{culprit + 2}", "e3"], reason="it is")
        if asked.shape is StepAnswer:
            return StepAnswer(decisive=last.endswith(f" e{culprit + 2}"))
        first = re.findall(r"e(\d+)", last.splitlines()[0])
        return HalfAnswer(half="first" if culprit + 2 <= int(first[-1]) else "second")

    return answer


@pytest.mark.covers("judge.strategies")
@pytest.mark.parametrize("culprit", [0, 3, 8])
@pytest.mark.parametrize("strategy", ["all at once", "step by step", "binary search"])
def test_every_way_of_asking_finds_what_a_knowing_model_knows(
    strategy: Strategy, culprit: int
) -> None:
    verdict, asked = _run(_failed_run(), strategy, _knowing(culprit))
    assert verdict.events[0] == event_id(f"d{culprit}")
    most = {"all at once": 1, "step by step": culprit + 1, "binary search": 4}
    assert len(asked) <= most[strategy]


@pytest.mark.covers("judge.exact")
@pytest.mark.parametrize("said", ["e1", "e99", "the step e3", "e3x", "choose number 1", ""])
def test_an_answer_that_names_no_decision_exactly_is_an_abstention(said: str) -> None:
    run = _failed_run()
    verdict, _ = _run(run, "all at once", lambda _: CulpritAnswer(events=[said]))
    found = judged(run, {}, "all at once", verdict)
    assert found.credits == ()
    assert found.abstained is not None
    assert "the model named" in found.abstained.reason


@pytest.mark.covers("judge.opinion")
def test_an_opinion_orders_decisions_and_says_that_it_is_one() -> None:
    run = _failed_run()
    verdict = Verdict((event_id("d4"), event_id("d1")))
    found = judged(run, {}, "all at once", verdict)
    by_id = {one.target.id: one for one in found.credits}
    assert by_id[event_id("d4")].value == pytest.approx(-2 / 3)
    assert by_id[event_id("d1")].value == pytest.approx(-1 / 3)
    assert {(one.evidence, one.low, one.high) for one in found.credits} == {("opinion", -1.0, 0.0)}
    assert found.scale == "score"


def test_prompts_stay_within_their_limit_however_long_the_run() -> None:
    run = _failed_run(ASKED_MAX)
    _, asked = _run(run, "step by step", lambda _: StepAnswer(decisive=False))
    assert len(asked) == ASKED_MAX
    assert max(len(one.told) for one in asked) < 6 * _TOKENS


def test_too_many_decisions_are_not_asked_about_one_by_one() -> None:
    verdict, asked = _run(
        _failed_run(ASKED_MAX + 1), "step by step", lambda _: StepAnswer(decisive=False)
    )
    assert not asked
    assert "by halving" in verdict.reason


def test_a_model_that_sees_nothing_makes_for_an_abstention() -> None:
    run = _failed_run()
    for strategy, answer in (
        ("step by step", StepAnswer(decisive=False)),
        ("binary search", HalfAnswer(half="neither")),
        ("all at once", CulpritAnswer()),
    ):
        verdict, _ = _run(run, strategy, lambda _, said=answer: said)
        assert not verdict.events
        assert verdict.reason


def test_a_run_that_succeeded_or_has_no_outcome_asks_nobody() -> None:
    story = Story()
    story.decide("a")
    assert "succeeded" in str(why_no_question(story.trajectory(1.0), {}))
    assert "no outcome" in str(why_no_question(story.trajectory(), {}))
    assert why_no_question(_failed_run(), {}) is None
