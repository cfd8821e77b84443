"""What triggers a review."""

import pytest

from hindsight_ray.core.anomaly import anomalies
from hindsight_ray.core.dissatisfaction import dissatisfied
from tests.trajectories import Story, event_id

COMPLAINTS = [
    "That's not what I asked for.",
    "No, that's wrong again!",
    "You still got it wrong",
    "I already told you my user id",
    "This doesn't work.",
    "That isn’t right",
    "I'm really disappointed with this answer",
    "you keep asking the same question",
    "The answer is incorrect.",
    "You didn't even read what I wrote",
    "You made a mistake in the total.",
    "This is ridiculous",
    "terrible service",
    "Can I speak to a manager?",
    "Not what I wanted. Try the other one.",
    "不对，我要的是明天的票",
    "你搞错了",
    "还是不行",
    "这不是我要的",
    "我已经说过了，用支付宝",
    "太差了，我要投诉",
    "你根本没听懂",
    "怎么又报错了",
    "又错了",
    "我很不满意",
    "这个答案没用。",
    "别再问了",
    "浪费我的时间",
]
CONTENT = [
    "",
    "Thanks, that's right!",
    "No problem at all.",
    "That's not wrong.",
    "I don't think that's wrong",
    "Is that correct?",
    "If that's wrong, please tell me",
    "Sorry, I was wrong about the date; I mean May 20.",
    "I don't want insurance.",
    "Not bad!",
    "what is wrong with the printer?",
    "I am not upset, take your time",
    "It works now, thank you",
    "My colleague said “this is ridiculous” yesterday",
    "I'm not frustrated",
    "没有问题",
    "没错，就是这样",
    "对不对？",
    "这样对吗？不对的话请告诉我",
    "如果不对就重试",
    "不会错了，谢谢",
    "我说错了，是五月二十日",
    "没有用优惠券",
    "他说“太差了”",
    "是不是搞错了地址？",
    "很好，不用改",
    "垃圾邮件放到文件夹里",
    "我不是不满意",
]


@pytest.mark.parametrize("text", COMPLAINTS)
def test_a_complaint_is_heard(text: str) -> None:
    assert dissatisfied(text)


@pytest.mark.parametrize("text", CONTENT)
def test_what_is_no_complaint_is_not_taken_for_one(text: str) -> None:
    assert not dissatisfied(text)


def test_two_failures_in_a_row_of_one_agent_trigger_once_per_streak() -> None:
    story = Story()
    for n in range(3):
        story.call(f"a{n}", "t", n, error="no")
    story.call("fine", "t", 9)
    story.call("b0", "t", 10, error="no")
    story.call("b1", "t", 11, error="no")
    found = anomalies(story.events, repeated_step_limit=3)
    assert [(one.trigger, one.events) for one in found] == [
        ("two tool failures", (event_id("a0"), event_id("a1"))),
        ("two tool failures", (event_id("b0"), event_id("b1"))),
    ]


@pytest.mark.parametrize(("limit", "found"), [(1, 2), (2, 2), (3, 1), (4, 0)])
def test_how_many_failures_in_a_row_are_too_many_is_for_the_settings_to_say(
    limit: int, found: int
) -> None:
    story = Story()
    for n, worked in enumerate([False, False, False, True, False, False]):
        story.call(f"c{n}", "t", n, error=None if worked else "no")
    streaks = anomalies(story.events, repeated_step_limit=3, failures_in_row=limit)
    assert [len(one.events) for one in streaks] == [limit] * found


def test_failures_of_two_agents_are_no_streak_and_a_success_ends_one() -> None:
    story = Story()
    story.call("a", "t", 1, error="no", agent="one")
    story.call("b", "t", 2, error="no", agent="two")
    story.call("c", "t", 3, agent="one")
    story.call("d", "t", 4, error="no", agent="one")
    assert anomalies(story.events, repeated_step_limit=3) == ()


def test_a_step_repeated_more_than_the_limit_triggers_whatever_lies_between() -> None:
    story = Story()
    for n in range(4):
        story.decide(f"d{n}", "Next speaker  coder" if n % 2 else "next speaker coder")
        story.say(f"m{n}", f"go on {n}", to="coder")
    (found,) = anomalies(story.events, repeated_step_limit=3)
    assert found.trigger == "repeated step"
    assert len(found.events) == 4
    assert anomalies(story.events, repeated_step_limit=4) == ()


def test_a_complaint_counts_only_after_some_agent_has_worked() -> None:
    story = Story()
    story.user("first", "I'm really upset because my flight was delayed")
    assert anomalies(story.events, repeated_step_limit=3) == ()
    story.decide("work")
    story.user("second", "That's not what I asked")
    (found,) = anomalies(story.events, repeated_step_limit=3)
    assert (found.trigger, found.events) == ("user dissatisfaction", (event_id("second"),))


def test_what_an_agent_says_is_never_taken_for_a_users_complaint() -> None:
    story = Story()
    story.decide("work")
    story.say("mine", "That's wrong, this is ridiculous", to="other")
    assert anomalies(story.events, repeated_step_limit=3) == ()
