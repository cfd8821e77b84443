"""Which claims of a review may stand, whoever filled it in."""

import pytest

from hindsight_ray.core.review_check import checked_review, empty_praise, second_person
from hindsight_ray.domain.review import Claim, Lesson, Review
from tests.trajectories import RUN, event_id

KNOWN = [event_id("a"), event_id("b")]
ADVICE = "When deploy fails, you should call it with release 41"


def review(
    *, claim: str = "deploy failed: pinned", advice: str = ADVICE, event: str = "a"
) -> Review:
    return Review(
        run_id=RUN,
        kind="full",
        trigger="run end",
        goal="Restore checkout",
        path="planner: deploy",
        ineffective=(Claim(text=claim, events=(event_id(event),)),),
        lessons=(Lesson(advice=advice, events=(event_id(event),), rule="test"),),
    )


def test_a_sound_review_stands_unchanged() -> None:
    checked = checked_review(review(), KNOWN)
    assert checked.review == review()
    assert checked.rejected == ()


def test_a_citation_of_an_unknown_event_is_rejected_with_its_claim() -> None:
    checked = checked_review(review(event="nowhere"), KNOWN)
    assert checked.review.ineffective == ()
    assert checked.review.lessons == ()
    assert all(event_id("nowhere") in reason for reason in checked.rejected)
    assert len(checked.rejected) == 2


@pytest.mark.parametrize(
    "praise",
    [
        "Great job!",
        "The agent did very well overall.",
        "Excellent work, keep it up",
        "The team performed the task successfully and efficiently",
        "做得很好",
        "整体表现非常出色，继续保持！",
        "!!!",
        "The agents collaborated effectively and communicated clearly",
        "Strong coordination between agents",
        "The user was satisfied with the outcome",
        "团队合作很好",
        "代理表现出色，沟通清晰",
        "配合默契，效率很高",
        "用户对结果很满意",
    ],
)
def test_empty_praise_is_rejected(praise: str) -> None:
    assert empty_praise(praise)
    checked = checked_review(review(claim=praise), KNOWN)
    assert checked.review.ineffective == ()


@pytest.mark.parametrize(
    "claim",
    [
        "Checking the release list first was effective: rollback then worked",
        "`deploy` worked well with release 41",
        "先查版本列表再回滚，做得很好",
        "The user confirmed the outcome",
        "The response was clear after the schema was given",
        "用户确认了结果",
        "高并发时写入失败",
    ],
)
def test_praise_with_content_stands(claim: str) -> None:
    assert not empty_praise(claim)


@pytest.mark.parametrize(
    "advice",
    ["The agent should check the release", "Release 41 is right", "deploy needs a release number"],
)
def test_advice_that_is_not_said_to_you_is_rejected(advice: str) -> None:
    assert not second_person(advice)
    assert checked_review(review(advice=advice), KNOWN).review.lessons == ()


def test_advice_in_chinese_is_said_to_you_too() -> None:
    assert second_person("部署失败时，你应该先查版本列表")


def test_advice_that_would_not_fit_one_memory_is_rejected() -> None:
    checked = checked_review(review(advice="you should " + "wait " * 60), KNOWN)
    assert checked.review.lessons == ()


@pytest.mark.parametrize(
    "memory",
    [ADVICE, ADVICE.upper() + ".", "when  deploy fails, you should call it with release 41!"],
)
def test_text_that_came_out_of_memory_is_not_learned_again(memory: str) -> None:
    checked = checked_review(review(), KNOWN, remembered=[memory])
    assert checked.review.lessons == ()
    assert "came out of memory" in checked.rejected[0]


def test_another_advice_is_not_taken_for_what_was_remembered() -> None:
    memory = "When deploy fails, you should call it with release 42"
    assert checked_review(review(), KNOWN, remembered=[memory]).review.lessons != ()
