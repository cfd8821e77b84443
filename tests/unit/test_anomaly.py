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
    "You booked the wrong flight.",
    "This is not what I asked you to do",
    "I said tomorrow, not today",
    "you're still not getting it",
    "It still doesn't work",
    "It's still broken after your fix.",
    "This didn't solve my issue.",
    "This is useless.",
    "I am so annoyed right now",
    "You've deleted my file!",
    "I asked for a table, not a list.",
    "Wrong.",
    "no, wrong",
    "This makes no sense",
    "Are you even reading what I write?",
    "This is taking forever",
    "you are going around in circles",
    "I told you already to use pnpm",
    "As I already mentioned, the id is 42",
    "Undo that, it's not what I wanted",
    "You made things worse",
    "Not good enough.",
    "Terrible.",
    "What a joke",
    "this sucks",
    "let me talk to a real person",
    "You haven't answered my question",
    "I never asked for that",
    "Nobody asked you to delete it",
    "Why did you change the config without asking?",
    "that isn't helpful",
    "I'm not happy with this result",
    "你又弄错了",
    "为什么还没有完成",
    "我要的不是这个",
    "你没看我发的内容吗",
    "跟你说了三遍了",
    "完全不对",
    "还是老样子",
    "问题还在",
    "没解决问题",
    "能不能别乱改",
    "谁让你改的",
    "你把文件删了！",
    "答非所问",
    "胡说八道",
    "什么破东西",
    "太垃圾了",
    "我要退款，你们太不负责任了",
    "无语了",
    "搞什么啊",
    "一点用都没有",
    "没帮助",
    "改回去，不是这样的",
    "不是让你这么做",
    "結果不對",
    "還是不行",
    "太慢了",
    "越改越糟",
    "你怎么又改了",
    "你漏掉了最后一项",
    "不对不对",
    "错了，重来",
    "Nope, you changed the wrong function",
    "You didn't follow my instructions",
    "This answer is wrong",
    "The total is still wrong",
    "Your fix didn't work",
    "It still crashes",
    "same problem as before",
    "This is frustrating",
    "Why are you deleting my files?",
    "I expected a refund, not a voucher",
    "Come on, this is the fifth time",
    "That's not my question",
    "You misunderstood",
    "The date you put is wrong",
    "这个结果是错的",
    "你给的答案是错误的",
    "日期写错了",
    "我说的是明天，不是今天",
    "你没有按照我的要求做",
    "怎么还是这个错误",
    "又崩溃了",
    "为什么你总是忘记",
    "再这样我就不用了",
    "你忘了加测试",
    "太让人失望了",
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
    "That's my question",
    "Wrong number of arguments is what the log says",
    "the password was wrong, I have updated it",
    "I received the wrong item from the store",
    "My flight was cancelled and I'm frustrated with the airline",
    "It's not working on my side because I was offline; now it's fine",
    "How bad is the service outage?",
    "Is that right?",
    "If this doesn't work, try the other one",
    "When it does not work, call the fallback",
    "It doesn't work on Windows, only on Linux, which is fine",
    "Did you make a mistake?",
    "keep doing that",
    "stop the container and delete it",
    "This test should fail if the answer is wrong",
    "I've already provided the file, so you can start",
    "I just gave you access",
    "The customer wrote that the answer is useless; summarise their mail",
    "Summarize the complaint about poor service",
    "We have a bad experience report to write",
    "not what i need right now, thanks",
    "no need",
    "he is angry with the vendor",
    "Nothing is wrong",
    "Everything is correct",
    "I have no complaints",
    "这个不对称加密怎么用",
    "没有错误了",
    "很不错，谢谢",
    "错误码是什么意思",
    "查一下错别字",
    "修复还是失败的测试",
    "统计不满意度",
    "帮我写一封投诉信",
    "转人工服务的按钮加在哪里",
    "没用到的变量删掉",
    "为什么又叫机器学习",
    "怎么又快又好地完成",
    "我已经说了，你做得很好",
    "我刚才说了地址，你记一下就行",
    "我弄错了",
    "我们理解错了需求，重新说明一下",
    "为了不浪费时间，先跑单元测试",
    "不管用什么方法都可以",
    "太慢了的查询列出来",
    "数据库很慢",
    "无语言限制",
    "对不对都没关系",
    "不对称",
    "清理垃圾数据",
    "没问题了",
    "That is correct, thanks",
    "The customer is angry with the courier, write him a mail",
    "The screen of my laptop is broken",
    "I'd like to speak to my manager first before I decide",
    "The test that is still failing is test_login",
    "Do you think that this is wrong?",
    "What's wrong with this code?",
    "Does it still make sense?",
    "Check whether the total is wrong",
    "Have you already told the customer?",
    "You forgot? No problem, take your time",
    "I did not say that",
    "Don't stop asking questions",
    "I made a mistake, sorry",
    "I chose the wrong size, can I exchange it?",
    "I gave you the wrong number, it is 5",
    "The price on the site is wrong",
    "我的电脑坏了，帮我看看",
    "我对航空公司很生气",
    "哪里错了？",
    "有什么问题吗",
    "这题的答案错在哪里",
    "解释为什么这样不行",
    "分析一下投诉的原因",
    "我选错了尺码，可以换吗",
    "不用改了，这样就很好",
    "以前的版本太慢了，现在好多了",
    "你说得对，是我看错了",
    "比赛又输了",
    "如果密码错了就锁定账户",
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
