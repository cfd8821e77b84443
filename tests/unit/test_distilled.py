"""What a review's lessons and findings are kept under: nobody's takes the place of another's."""

from collections.abc import Sequence

import pytest

from hindsight_ray.core.distil import Distilling, distilled
from hindsight_ray.core.filled import Filling, combined
from hindsight_ray.core.lessons import LESSONS_MAX, rule_review
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.review import Finding, Lesson
from tests.trajectories import START, Story, event_id

ADVICE = "You check the stock before you promise a date"
MARK = "review@1 abc"


def _drafts(lessons: Sequence[Lesson] = (), findings: Sequence[Finding] = ()) -> list[Draft]:
    story = Story()
    story.decide("a", "Promise Friday", agent="planner")
    story.decide("b", "Promise Monday", agent="executor")
    trajectory = story.trajectory()
    review = rule_review(trajectory, kind="full", trigger="run end").model_copy(
        update={"lessons": tuple(lessons), "findings": tuple(findings)}
    )
    return [*distilled(Distilling(trajectory, review, "d" * 64, {}, START))][1:]


def _lesson(agent: str | None, event: str, *, advice: str = ADVICE) -> Lesson:
    return Lesson.model_validate(
        {"advice": advice, "events": [event_id(event)], "agent": agent, "rule": "x", "prompt": MARK}
    )


def _procedure(*steps: str) -> Finding:
    said = {"type": "procedure", "content": "Promising a date", "steps": steps, "why": "new"}
    more = {"events": [event_id("a")], "agent": "planner", "confidence": 0.9, "prompt": MARK}
    return Finding.model_validate(said | more)


@pytest.mark.covers("review.each")
def test_the_same_lesson_of_two_agents_and_the_team_is_kept_for_each() -> None:
    drafts = _drafts([_lesson("planner", "a"), _lesson("executor", "b"), _lesson(None, "a")])
    assert [one.scope for one in drafts] == ["agent:planner", "agent:executor", "user:alice"]
    assert len({one.command_id for one in drafts}) == 3


@pytest.mark.covers("review.each")
def test_two_ways_to_do_one_thing_are_both_kept() -> None:
    drafts = _drafts(findings=[_procedure("Ask", "Promise"), _procedure("Count", "Promise")])
    assert len({one.command_id for one in drafts}) == 2


@pytest.mark.covers("G4.cut")
def test_what_a_model_teaches_beyond_what_a_review_keeps_is_named_as_left_out() -> None:
    story = Story()
    story.decide("a", "Promise Friday")
    filled = Filling.of(story.events)
    filled.lessons = [
        _lesson("planner", "a", advice=f"You check shelf {n}") for n in range(2 * LESSONS_MAX + 1)
    ]
    filled.findings = [_procedure(f"Look at {n}") for n in range(LESSONS_MAX + 1)]
    ruled = rule_review(story.trajectory(), kind="full", trigger="run end")
    review = combined(filled, ruled, "a model")
    assert (len(review.lessons), len(review.findings)) == (2 * LESSONS_MAX, LESSONS_MAX)
    lesson, procedure = filled.rejected
    assert lesson == f"lesson 'You check shelf {2 * LESSONS_MAX}' is more than one review keeps"
    assert procedure == "procedure 'Promising a date' is more than one review keeps"


@pytest.mark.covers("review.each")
def test_the_first_of_equal_words_is_known_by_them_alone_and_one_said_twice_is_one() -> None:
    mine, its = _lesson("planner", "a"), _lesson("executor", "b")
    known = {agent.command_id for agent in (*_drafts([mine]), *_drafts([its]))}
    (by_words,) = known
    first, again, other = _drafts([mine, mine, its])
    assert (first.command_id, again.command_id) == (by_words, by_words)
    assert other.command_id.startswith(f"{by_words}.")
