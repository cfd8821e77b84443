"""What the rule reviewer proves from structure, and what it leaves alone."""

import pytest

from hindsight_ray.core.lessons import rule_review
from hindsight_ray.core.review_check import checked_review
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.review import Review
from tests.trajectories import Story, event_id


def reviewed(story: Story, outcome: float | None = None, **more: int) -> Review:
    review = rule_review(story.trajectory(outcome), kind="full", trigger="run end", **more)
    checked = checked_review(review, [event.event_id for event in story.events])
    assert checked.rejected == ()
    assert checked.review == review
    return review


@pytest.mark.covers("review.rules")
def test_a_failed_call_that_worked_with_other_arguments_teaches_the_working_call() -> None:
    story = Story()
    story.call("bad", "deploy.rollback", "release=40", error="release 40 is pinned")
    story.call("good", "deploy.rollback", "release=41")
    (lesson,) = reviewed(story).lessons
    assert lesson.advice == (
        'When deploy.rollback fails ("release 40 is pinned"), you should do:'
        " deploy.rollback(release=41) → ok"
    )
    assert lesson.events == (event_id("bad"), event_id("good"))
    assert lesson.tools == ("deploy.rollback",)
    assert lesson.agent == "planner"
    assert lesson.rule == "failed, then worked with other arguments"


@pytest.mark.covers("review.rules")
def test_another_tool_counts_as_the_fix_only_where_edges_connect_it() -> None:
    story = Story()
    story.call("bad", "db.write", "row=1", error="read-only replica")
    story.decide("turn", "write through the queue", causes=["bad"])
    story.call("good", "queue.push", "row=1", causes=["turn"])
    (lesson,) = reviewed(story).lessons
    assert lesson.rule == "failed, then another tool worked"
    assert "db.write" in lesson.advice
    assert "you should use queue.push: queue.push(row=1) → ok" in lesson.advice
    assert lesson.tools == ("db.write", "queue.push")

    unconnected = Story()
    unconnected.call("bad", "db.write", "row=1", error="read-only replica")
    unconnected.call("good", "queue.push", "row=1")
    assert reviewed(unconnected).lessons == ()


def test_an_inferred_edge_proves_no_fix_by_another_tool() -> None:
    story = Story(evidence="inferred")
    story.call("bad", "db.write", "row=1", error="read-only replica")
    story.call("good", "queue.push", "row=1", causes=["bad"])
    assert reviewed(story).lessons == ()


def test_a_call_of_the_same_tool_about_something_else_fixes_nothing() -> None:
    story = Story()
    story.call("bad", "mail", "subject=invoice to=bert", error="no such address")
    story.call("other", "mail", "party invitation everyone tomorrow evening")
    review = reviewed(story)
    assert review.lessons == ()
    assert any("never worked" in claim.text for claim in review.improvements)


def test_several_failures_before_one_success_make_one_lesson_that_cites_them_all() -> None:
    story = Story()
    story.call("one", "book", "seat=1", error="taken")
    story.call("two", "book", "seat=2", error="taken")
    story.call("three", "book", "seat=3")
    (lesson,) = reviewed(story).lessons
    assert lesson.events == (event_id("one"), event_id("two"), event_id("three"))
    assert lesson.importance > 0.7


def test_a_call_that_worked_unchanged_teaches_to_try_again() -> None:
    story = Story()
    story.call("one", "fetch", "page=1", error="timeout")
    story.call("two", "fetch", "page=1")
    (lesson,) = reviewed(story).lessons
    assert lesson.advice == (
        'When fetch fails ("timeout"), you should try the same call again: it worked after failing'
    )


def test_a_fix_that_another_agent_told_is_the_teams() -> None:
    story = Story()
    story.call("bad", "deploy", "stage=prod", error="frozen", agent="executor")
    story.say("ask", "prod is frozen", to="planner", agent="executor", causes=["bad"])
    story.say("tell", "use stage canary", to="executor", causes=["ask"])
    story.call("good", "deploy", "stage=canary", agent="executor", causes=["tell"])
    (lesson,) = reviewed(story).lessons
    assert lesson.agent is None
    assert "you should ask planner (“use stage canary”), then do: deploy(stage=canary)" in (
        lesson.advice
    )
    assert event_id("tell") in lesson.events


def test_a_call_that_another_agent_made_work_is_the_teams() -> None:
    story = Story()
    story.call("bad", "deploy", "stage=prod key=1", error="no right", agent="planner")
    story.call("good", "deploy", "stage=prod key=2", agent="executor")
    (lesson,) = reviewed(story).lessons
    assert lesson.agent is None


def test_a_redundant_call_is_named_and_a_poll_that_brings_news_is_not() -> None:
    story = Story()
    story.call("one", "lookup", "user=1", result="alice")
    story.call("two", "lookup", "user=1", result="alice")
    story.call("poll", "status", "job=1", result="running")
    story.call("poll2", "status", "job=1", result="done")
    (lesson,) = reviewed(story, -1.0).lessons
    assert lesson.advice.startswith("When you have the result of lookup(user=1), you should reuse")
    assert lesson.events == (event_id("one"), event_id("two"))


@pytest.mark.parametrize("outcome", [0.5, None])
def test_what_worked_and_was_done_again_is_no_loop_unless_the_run_is_known_to_have_gone_badly(
    outcome: float | None,
) -> None:
    story = Story()
    for day in range(4):
        story.call(f"day {day}", "harvest", "place=north field", result="9 sacks")
    review = reviewed(story, outcome)
    assert review.lessons == ()
    assert review.ineffective == ()
    lessons = reviewed(story, -0.5).lessons
    assert {lesson.rule for lesson in lessons} == {
        "same call, same result",
        "same step again and again",
    }
    assert all("led nowhere" not in lesson.advice for lesson in lessons)


def test_a_call_that_fails_the_same_way_again_and_again_is_a_loop_however_the_run_ended() -> None:
    story = Story()
    for turn in range(4):
        story.call(str(turn), "click", "button=next", error="not found")
    (lesson,) = reviewed(story, 1.0).lessons
    assert lesson.advice == (
        "When “click(button=next)” brings nothing new a second time, you should change the plan:"
        " 4 times it failed the same way"
    )


def test_what_hangs_on_the_outcome_comes_after_every_other_lesson() -> None:
    story = Story()
    for turn in range(4):
        story.call(f"look {turn}", "look", "at=sky", result="blue")
    for turn in range(4):
        story.call(f"click {turn}", "click", "button=next", error="not found")
    before = reviewed(story).lessons
    assert reviewed(story, -1.0).lessons[: len(before)] == before != ()


@pytest.mark.parametrize(
    "said",
    ["harvest({}) → {}", "harvest {} -> {}", "harvest(place={}) → {}", "harvested {}: {}"],
)
def test_two_short_calls_of_one_tool_are_one_attempt_however_they_are_summarised(said: str) -> None:
    story = Story()
    for name, place, error in (("bad", "river", "hurt"), ("good", "north field", None)):
        story.call(
            name, "harvest", {"place": place}, error=error, summary=said.format(place, error or 9)
        )
    (lesson,) = reviewed(story, 0.5).lessons
    assert lesson.advice.startswith('When harvest fails ("hurt"), you should do: harvest')
    assert "north field" in lesson.advice


def test_calls_without_recorded_arguments_or_results_are_never_called_redundant() -> None:
    story = Story()
    for name in ("one", "two", "three", "four", "five"):
        story.call(name, "tick", None, result=None, summary=f"tick {name}")
    assert reviewed(story).lessons == ()


def test_two_large_values_known_only_in_part_are_never_called_the_same() -> None:
    story = Story()
    for name in ("one", "two"):
        story.call(name, "dump", "all", result="rows")
        event = story.events[-1]
        assert event.tool is not None
        part = event.tool.model_copy(update={"result_digest": "~" + event.tool.result_digest})
        story.events[-1] = event.model_copy(update={"tool": part})
    assert reviewed(story).lessons == ()


def test_a_step_done_more_often_than_the_limit_is_a_loop_and_at_the_limit_it_is_not() -> None:
    story = Story()
    for turn in range(3):
        story.call(str(turn), "click", "button=next", error="not found")
    assert all(lesson.rule != "same step again and again" for lesson in reviewed(story).lessons)
    story.call("3", "click", "button=next", error="not found")
    (lesson,) = reviewed(story).lessons
    assert lesson.rule == "same step again and again"
    assert "you should change the plan" in lesson.advice


def test_an_unused_result_is_claimed_only_where_edges_are_recorded() -> None:
    story = Story()
    story.call("waste", "search", "q=weather", result="sunny")
    story.call("need", "search", "q=release", result="41")
    story.decide("choose", causes=["need"])
    story.call("act", "deploy", "release=41", causes=["choose"])
    unused = [c for c in reviewed(story).ineffective if c.text.startswith("Nothing recorded used")]
    assert [claim.events for claim in unused] == [(event_id("waste"),)]

    without_edges = Story()
    without_edges.call("waste", "search", "q=weather", result="sunny")
    without_edges.call("act", "deploy", "release=41")
    assert reviewed(without_edges).ineffective == ()


def test_a_decision_that_was_taken_back_and_replaced_teaches_the_replacement() -> None:
    story = Story()
    story.decide("wrong", "Restart every node")
    story.decide("back", "Retract: restarting loses the queue", causes=["wrong"])
    story.decide("right", "Drain the queue first", causes=["back"])
    (lesson,) = reviewed(story).lessons
    assert lesson.advice == (
        "When you are about to “Restart every node”, you should rather: Drain the queue first"
    )


def test_advice_is_never_longer_than_a_memory_and_keeps_the_working_call() -> None:
    story = Story()
    story.call("bad", "t", "a=1", error="e" * 900)
    story.call("good", "t", "a=2 " + "b" * 60)
    (lesson,) = reviewed(story).lessons
    assert len(lesson.advice) <= 200
    assert "t(a=2 " + "b" * 60 + ") → ok" in lesson.advice


def test_two_long_calls_are_told_apart_by_what_was_changed() -> None:
    filler = ",".join(f'"k{n}":"{"v" * 12}"' for n in range(20))
    story = Story()
    story.call("bad", "pay", "", error="refused", summary=f'pay {{{filler},"by":"card"}} → refused')
    story.call("good", "pay", "2", summary=f'pay {{{filler},"by":"voucher"}} → paid')
    (lesson,) = reviewed(story).lessons
    assert lesson.advice == (
        'When pay fails ("refused"), you should call it with by voucher instead of card'
    )


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        ('"id":"card_4421486"', '"id":"card_7504069"', "with another id"),
        (
            '"id":"a1","amount":171',
            '"id":"b2","amount":247',
            "with another id and with another amount",
        ),
        ('"legs":["HAT1","HAT2"]', '"legs":["HAT1"]', "without one of its legs"),
        ('"legs":["HAT1"]', '"legs":["HAT1"],"voucher":"V-77"', "also with voucher"),
    ],
)
def test_a_value_that_belongs_to_one_case_is_left_out_of_what_was_changed(
    wrong: str, right: str, told: str
) -> None:
    filler = ",".join(f'"k{n}":"{"v" * 12}"' for n in range(20))
    story = Story()
    story.call("bad", "pay", "1", error="refused", summary=f"pay {{{filler},{wrong}}} → refused")
    story.call("good", "pay", "2", summary=f"pay {{{filler},{right}}} → paid")
    (lesson,) = reviewed(story).lessons
    assert lesson.advice == f'When pay fails ("refused"), you should call it {told}'


def test_calls_too_long_and_too_different_to_be_told_make_no_lesson_but_stay_a_claim() -> None:
    story = Story()
    words = " ".join(f"w{n}" for n in range(80))
    story.call("bad", "pay", "1", error="refused", summary=f"pay {words} → refused")
    other = " ".join(f"w{n} x{n}" if n % 9 == 0 else f"w{n}" for n in range(80))
    story.call("good", "pay", "2", summary=f"pay {other} → paid")
    review = reviewed(story)
    assert review.lessons == ()
    assert any("worked in the end" in claim.text for claim in review.improvements)


def test_a_summary_of_the_result_alone_is_told_with_the_decision_behind_the_call() -> None:
    story = Story()
    story.call("bad", "rollback", {"release": 40}, error="pinned", summary="pinned")
    story.decide("choose", "Roll back release 41", causes=["bad"])
    story.call("good", "rollback", {"release": 41}, summary="rolled back", causes=["choose"])
    (lesson,) = reviewed(story).lessons
    assert lesson.advice == (
        'When rollback fails ("pinned"), you should do: Roll back release 41 → rolled back'
    )


def test_every_part_of_the_template_is_filled_and_cites_what_it_claims() -> None:
    story = Story()
    story.user("ask", "please restore checkout")
    story.decide("plan", "look at the releases", causes=["ask"])
    story.call("look", "releases", "all", result="40, 41", causes=["plan"])
    story.decide("choose", "roll back to 40", causes=["look"])
    story.call("bad", "rollback", "release=40", error="pinned", causes=["choose"])
    story.call("good", "rollback", "release=41", causes=["bad"])
    review = reviewed(story)
    assert review.goal == "Restore checkout"
    assert review.path.startswith("planner: look at the releases > planner: releases(all)")
    assert review.effective
    assert review.ineffective
    assert len(review.decisions) == 2
    assert review.improvements
    assert review.lessons


def test_equal_trajectories_give_equal_reviews() -> None:
    def told() -> Story:
        story = Story()
        story.call("bad", "book", "seat=1", error="taken")
        story.call("good", "book", "seat=2")
        return story

    assert reviewed(told()) == reviewed(told())


def test_an_uneventful_run_teaches_nothing() -> None:
    story = Story()
    story.decide("plan")
    story.call("look", "search", "q=1", causes=["plan"])
    assert reviewed(story).lessons == ()


@pytest.mark.parametrize("count", [1, 500])
def test_a_review_is_bounded_whatever_the_length_of_the_run(count: int) -> None:
    story = Story()
    for n in range(count):
        story.call(f"bad{n}", f"tool{n}", "a=1", error="no")
        story.call(f"good{n}", f"tool{n}", "a=2")
    review = reviewed(story)
    assert 1 <= len(review.lessons) <= 20
    assert len(review.improvements) <= 20
    assert len(review.path) <= 1_000


def test_events_are_cited_by_their_own_ids() -> None:
    story = Story()
    story.call("bad", "book", "seat=1", error="taken")
    story.call("good", "book", "seat=2")
    known: set[str] = {event.event_id for event in _events(story)}
    review = reviewed(story)
    cited = [one for claim in (*review.ineffective, *review.improvements) for one in claim.events]
    assert set(cited) <= known


def _events(story: Story) -> list[Event]:
    return story.events
