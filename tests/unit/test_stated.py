"""What users state for good, in fixed forms; and what looks like it and is noise."""

import pytest

from hindsight_ray.core.standing import standing_wishes, stated_for_good
from tests.trajectories import Story, event_id
from tests.unit.test_reviewing import Team, home, memories
from tests.worlds import Staged

__all__ = ["home"]  # the fixture


@pytest.mark.covers("review.stated")
@pytest.mark.parametrize(
    ("said", "topic"),
    [
        ("Our time zone is CET.", "time_zone"),
        ("Our deploy day is Tuesday.", "deploy_day"),
        ("My time zone is Europe/Oslo", "time_zone"),
        ("We use NATS for the queue of billing.", None),
        ("我们的时区是东八区。", None),
        ("我们团队的主分支是trunk", None),
    ],
)
def test_a_fact_of_theirs_is_found_as_it_was_stated(said: str, topic: str | None) -> None:
    story = Story()
    story.user("word", f"Hello. {said}")
    (finding,) = stated_for_good(story.events)
    assert (finding.type, finding.content, finding.topic) == ("fact", said, topic)
    assert finding.events == (event_id("word"),)
    assert finding.confidence >= 0.6


@pytest.mark.covers("review.stated")
@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("I prefer short answers.", 1),
        ("We generally prefer bullet points over tables", 1),
        ("我更喜欢简短的回答。", 1),
        ("I prefer flights that leave after eight.", 0),
        ("I prefer economy class.", 0),
        ("I prefer these seats.", 0),
        ("Do I prefer short answers?", 0),
    ],
)
def test_a_preference_for_a_kind_of_thing_is_lasting(said: str, found: int) -> None:
    story = Story()
    story.user("word", said)
    assert len(standing_wishes(story.events)) == found


NOISE = (
    "My reservation number is ABC123.", "Our flight is cancelled.", "Our port is 8080 today.",
    "Is our time zone CET?", "He said \"our time zone is CET\" to me.", "My sister is tall.",
    "We use it for now.", "We use this for the trip.", "Our problem is the delay.",
    "Our time zone might be CET.", "我们的问题是时钟", "我们的航班今天是三点", "I like tea",
    "my name is nobody you know", "Maybe our editor is Dana.", "We use the card for payment.",
)  # fmt: skip


@pytest.mark.covers("review.stated")
def test_nothing_is_extracted_from_noise() -> None:
    story = Story()
    for number, said in enumerate(NOISE):
        story.user(f"u{number}", said)
        story.say(f"a{number}", "Our time zone is CET. I prefer short answers.", to="executor")
    assert stated_for_good(story.events) == ()
    assert standing_wishes(story.events) == ()


@pytest.mark.covers("review.stated")
async def test_a_stated_fact_is_kept_for_the_run_s_readers_with_its_source(home: Staged) -> None:
    team = await Team.start(home, "planner")
    team.story.decide("go", "look at it")
    team.story.user("word", "Our time zone is CET.")
    await team.end()
    first = await team.reviewed()
    (fact,) = [one for one in await memories(home) if one.type == "fact"]
    assert (fact.topic, fact.status, fact.audience) == ("time_zone", "active", ("user:alice",))
    assert fact.source.events == (event_id("word"),)
    assert fact.id in first.stored
    assert (await team.reviewed()).stored == ()
