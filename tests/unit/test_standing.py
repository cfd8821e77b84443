"""What users say for good, and what they only say now."""

import pytest

from hindsight_ray.core.lessons import rule_review
from hindsight_ray.core.standing import standing_wishes
from tests.trajectories import Story, event_id
from tests.unit.test_reviewing import Team, home, memories
from tests.worlds import Staged

__all__ = ["home"]  # the fixture


@pytest.mark.covers("review.wishes")
@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Thanks. From now on write dates as 2026-03-02.",
         "From now on write dates as 2026-03-02."),
        ("Always send me a summary first.", "Always send me a summary first."),
        ("Never deploy on a Friday! Is it done?", "Never deploy on a Friday!"),
        ("Please use metric units in the future", "Please use metric units in the future"),
        ("好的。以后请用中文回复我。", "以后请用中文回复我。"),
        ("请记住，日期要写成年月日。谢谢", "请记住，日期要写成年月日。"),
        ("Remember that v1.2.3 is the floor for us.", "Remember that v1.2.3 is the floor for us."),
    ],
)  # fmt: skip
def test_a_wish_that_is_said_for_good_is_found_as_it_was_said(said: str, found: str) -> None:
    story = Story()
    story.user("word", said)
    (finding,) = standing_wishes(story.events)
    assert (finding.type, finding.content) == ("preference", found)
    assert finding.events == (event_id("word"),)


@pytest.mark.covers("review.wishes")
@pytest.mark.parametrize(
    "said",
    [
        "I prefer the morning flight.",
        "Never mind.",
        "Always a pleasure.",
        "I never received the refund",
        "Should I always use the small one?",
        "He said \"always use the small one\" to me",
        "以后再说吧",
        "Do it now.",
        "I always forget where that is",
    ],
)  # fmt: skip
def test_what_is_said_of_this_task_or_of_the_world_is_no_standing_wish(said: str) -> None:
    story = Story()
    story.user("word", said)
    assert standing_wishes(story.events) == ()


def test_an_agent_has_no_standing_wishes_and_one_said_twice_is_one() -> None:
    story = Story()
    story.say("told", "Always use the small one.", to="executor")
    story.user("one", "Always use the small one.")
    story.user("two", "ALWAYS use the small one.")
    (finding,) = standing_wishes(story.events)
    assert finding.events == (event_id("one"), event_id("two"))
    review = rule_review(story.trajectory(), kind="full", trigger="asked for")
    assert review.findings == (finding,)


@pytest.mark.covers("review.wishes")
async def test_a_standing_wish_becomes_a_preference_of_the_user_that_says_why(
    home: Staged,
) -> None:
    team = await Team.start(home, "planner")
    team.story.decide("go", "look at it")
    team.story.user("word", "From now on write dates as 2026-03-02.")
    await team.end()
    first = await team.reviewed()
    (wish,) = [one for one in await memories(home) if one.type == "preference"]
    assert (wish.scope, wish.audience, wish.status) == ("user:alice", ("user:alice",), "active")
    assert wish.id in first.stored
    assert (await team.reviewed()).stored == ()
