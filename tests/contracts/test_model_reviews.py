"""Reviews by a model: real LiteLLM over HTTP, to a server whose answers each test writes."""

import asyncio
import json
import re
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.chat import Retried
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import NotFound
from hindsight_ray.service import history, layers, review_retry, search, write
from tests.asking import ask
from tests.servers.scripted_model import Answer, ScriptedModel, scripted_model, told
from tests.unit.test_reviewing import Team, experiences, memories, stumble
from tests.worlds import Staged, world

LESSON = "When a rollback is refused as pinned, you should ask who pinned the release first"
FACT = "Release 40 is pinned by the payments team"


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as server:
        yield server


async def no_pause(_seconds: float) -> None:
    """Nobody waits in a test."""


def settings_for(model: ScriptedModel, **more: object) -> Settings:
    fields: dict[str, object] = {
        "lock_wait_s": 5.0,
        "chat_strong": "openai/gpt-4o",
        "chat_weak": "openai/small",
        "chat_api_base": model.address,
        **more,
    }
    return Settings.model_validate(fields)


@pytest.fixture
async def home(tmp_path: Path, model: ScriptedModel) -> AsyncGenerator[Staged]:
    model.script("{}")
    settings = settings_for(model)
    chat = LiteLLMChat(settings, pause=no_pause)
    async with world(tmp_path / "home", settings=settings, chat=chat) as staged:
        yield staged


def kind_of(question: dict[str, Any]) -> str:
    return str(question["response_format"]["json_schema"]["name"])


def by_kind(**answers: Any) -> Any:
    """Answers by the shape that is asked for; `{}` where nothing is said."""

    def answer(question: dict[str, Any]) -> Answer | str:
        found = answers.get(kind_of(question), {})
        if callable(found):
            found = found(question)
        return found if isinstance(found, Answer | str) else json.dumps(found)

    return answer


def lesson(advice: str = LESSON, events: tuple[str, ...] = ("e1", "e2"), **more: Any) -> Any:
    said = {"advice": advice, "events": list(events), "agent": "planner", **more}
    return {"path": "It failed and was mended.", "lessons": [said]}


def item(content: str = FACT, /, **more: Any) -> Any:
    return {
        "items": [
            {
                "type": "fact", "content": content, "events": ["e1"], "agent": None,
                "confidence": 0.9, "new": True, "actionable": True, "lasting": True,
                "reason": "It will stop the next rollback too.", **more,
            }
        ]
    }  # fmt: skip


async def ended(home: Staged, *agents: str) -> Team:
    team = await Team.start(home, *(agents or ("planner",)))
    agent = agents[0] if agents else "planner"
    stumble(team.story, agent=agent, tool="rollback" if agent == "planner" else "restart")
    await team.end()
    return team


@pytest.mark.covers("model.review")
async def test_a_full_review_asks_the_strong_model_and_keeps_lessons_beside_the_rules(
    home: Staged, model: ScriptedModel
) -> None:
    model.script(by_kind(ReviewAnswer=lesson(), ExtractAnswer=item()))
    team = await ended(home)
    report = await team.reviewed()
    assert report.failure is None
    assert {one["model"] for one in model.asked} == {"gpt-4o"}
    kept = await memories(home)
    advice = {one.content: one for one in experiences(kept)}
    assert len(advice) == 2
    mine = advice[LESSON]
    assert (mine.scope, mine.audience) == ("agent:planner", ("agent:planner", "user:alice"))
    assert mine.source.prompt.startswith("review@1 ")
    assert set(mine.source.events) == {event.event_id for event in team.story.events}
    async with home.world.ledger.reading() as unit:
        (review,) = await unit.reviews.of_run("acme", team.run.run_id)
    assert review.reviewer.startswith("openai/gpt-4o; review@1 ")
    assert review.path == "It failed and was mended."


@pytest.mark.covers("model.extract")
async def test_a_fact_is_kept_with_why_it_is_worth_it(home: Staged, model: ScriptedModel) -> None:
    model.script(by_kind(ExtractAnswer=item()))
    team = await ended(home)
    await team.reviewed()
    (fact,) = [one for one in await memories(home) if one.type == "fact"]
    assert (fact.content, fact.scope, fact.status) == (FACT, "user:alice", "active")
    assert fact.source.prompt.startswith("extract@1 ")
    told_of = c.History(memory_id=fact.id)
    (note,) = await history.history(home.world, team.members["planner"], told_of)
    assert note.why == ("review: new, actionable and lasting: It will stop the next rollback too.")


@pytest.mark.covers("model.extract")
@pytest.mark.parametrize("lacking", ["new", "actionable", "lasting"])
async def test_what_is_not_new_actionable_and_lasting_is_left_out_and_named(
    home: Staged, model: ScriptedModel, lacking: str
) -> None:
    model.script(by_kind(ExtractAnswer=item(FACT, **{lacking: False})))
    team = await ended(home)
    report = await team.reviewed()
    assert [one for one in await memories(home) if one.type == "fact"] == []
    assert any(f"is not {lacking}" in reason for reason in report.rejected)


@pytest.mark.covers("model.extract")
async def test_a_procedure_keeps_its_steps_apart_and_a_doubtful_one_waits(
    home: Staged, model: ScriptedModel
) -> None:
    steps = ["Ask who pinned it", "Roll back to release 41"]
    said = item("To undo a bad release, roll back to the one before", type="procedure", steps=steps)
    model.script(by_kind(ExtractAnswer=said))
    team = await ended(home)
    await team.reviewed()
    (kept,) = [one for one in await memories(home) if one.type == "procedure"]
    assert (kept.steps, kept.status) == (tuple(steps), "active")
    said["items"][0] |= {"confidence": 0.65, "content": "To restart a service, drain it first"}
    model.script(by_kind(ExtractAnswer=said))
    team = await ended(home, "executor")
    await team.reviewed()
    doubtful = [one for one in await memories(home) if one.type == "procedure"]
    assert {one.status for one in doubtful} == {"active", "pending"}


@pytest.mark.covers("model.review")
async def test_a_citation_of_an_event_that_was_not_shown_is_rejected(
    home: Staged, model: ScriptedModel
) -> None:
    model.script(by_kind(ReviewAnswer=lesson(events=("e1", "e99"))))
    team = await ended(home)
    report = await team.reviewed()
    assert LESSON not in {one.content for one in await memories(home)}
    assert any("unknown event e99" in reason for reason in report.rejected)


@pytest.mark.covers("model.review")
async def test_praise_and_advice_to_nobody_are_rejected(home: Staged, model: ScriptedModel) -> None:
    said = lesson("The team did an excellent job")
    said["effective"] = [{"text": "Great teamwork overall", "events": ["e1"]}]
    model.script(by_kind(ReviewAnswer=said))
    team = await ended(home)
    report = await team.reviewed()
    assert sum("praise" in reason for reason in report.rejected) == 2
    assert len(experiences(await memories(home))) == 1


@pytest.mark.covers("G1.prompts")
async def test_what_a_model_says_carries_whatever_any_agent_was_offered(
    home: Staged, model: ScriptedModel
) -> None:
    """It has read the events of all agents, so its advice to one may stem from another's."""
    operator = await home.caller(agent="operator")
    secret = c.Write.model_validate(
        {"command_id": "w", "content": "Release 40 is pinned", "scope": "global", "labels": ["hr"]}
    )
    await write.write(home.world, operator, secret)
    model.script(by_kind(ReviewAnswer=lesson(), ExtractAnswer=item()))
    team = await Team.start(home, "planner", "executor")
    offer = c.Search(query="release 40", run_id=team.run.run_id)
    await search.search(home.world, team.members["executor"], offer)
    stumble(team.story, agent="planner")
    await team.end()
    await team.reviewed()
    learned = [one for one in await memories(home) if one.source.prompt]
    assert {one.type for one in learned} == {"experience", "fact"}
    assert all(one.labels == ("hr",) and "global" in one.audience for one in learned)


@pytest.mark.covers("model.idempotent")
async def test_reviewing_again_asks_nothing_and_adds_nothing(
    home: Staged, model: ScriptedModel
) -> None:
    model.script(by_kind(ReviewAnswer=lesson(), ExtractAnswer=item()))
    team = await ended(home)
    first = await team.reviewed()
    before, asked = await memories(home), len(model.asked)
    model.script(by_kind(ReviewAnswer=lesson("Before all else, you should say something new")))
    again = await team.reviewed()
    assert (len(model.asked), asked) == (0, 2)
    assert await memories(home) == before
    assert (again.stored, set(again.known)) == ((), set(first.stored))


@pytest.mark.covers("model.failed")
@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Answer("busy", status=503), "unreachable"),
        (Answer("I'm sorry, I cannot help with that."), "refusal"),
        (Answer(""), "empty"),
        (Answer('{"path": "x', finish="length"), "cut"),
        (Answer("The run went well."), "unparsable"),
        (Answer('{"properties": {"path": {"type": "string"}}, "type": "object"}'), "echoed schema"),
    ],
)
async def test_a_review_that_fails_is_named_kept_and_made_by_rules_until_it_is_retried(
    home: Staged, model: ScriptedModel, answer: Answer, failure: str
) -> None:
    model.script(answer)
    team = await ended(home)
    report = await team.reviewed()
    assert report.failure is not None
    assert report.failure.failure == failure
    assert len(experiences(await memories(home))) == 1
    model.script(by_kind(ReviewAnswer=lesson(), ExtractAnswer=item()))
    planner = team.members["planner"]
    listed: Retried = await review_retry.retry(home.world, planner, c.RetryReviews(list_only=True))
    assert [one.failure for one in listed.failed] == [failure]
    assert model.asked == []
    done: Retried = await review_retry.retry(home.world, planner, c.RetryReviews())
    assert (done.tried, done.mended, done.failed) == (1, (team.run.run_id,), ())
    assert LESSON in {one.content for one in await memories(home)}
    again: Retried = await review_retry.retry(home.world, planner, c.RetryReviews())
    assert again.tried == 0


@pytest.mark.covers("model.failed")
async def test_a_failed_review_is_seen_and_retried_only_by_who_may_review_and_read_its_run(
    home: Staged, model: ScriptedModel
) -> None:
    model.script("no answer")
    team = await ended(home)
    await team.reviewed()
    stranger = await home.caller(agent="planner", user="bob")
    listed = await review_retry.retry(home.world, stranger, c.RetryReviews(list_only=True))
    assert listed.failed == ()
    with pytest.raises(NotFound):
        await review_retry.retry(home.world, stranger, c.RetryReviews(run_id=team.run.run_id))


@pytest.mark.covers("model.idempotent")
async def test_an_answer_that_was_had_is_not_asked_for_again(
    home: Staged, model: ScriptedModel
) -> None:
    model.script(by_kind(ReviewAnswer=lesson(), ExtractAnswer="nothing to read"))
    team = await ended(home)
    report = await team.reviewed()
    assert report.failure is not None
    assert report.failure.prompt.startswith("extract@1 ")
    assert LESSON in {one.content for one in await memories(home)}
    model.script(by_kind(ReviewAnswer=lesson("never asked"), ExtractAnswer=item()))
    planner = team.members["planner"]
    done = await review_retry.retry(home.world, planner, c.RetryReviews(run_id=team.run.run_id))
    assert done.mended == (team.run.run_id,)
    assert {kind_of(one) for one in model.asked} == {"ExtractAnswer"}
    assert FACT in {one.content for one in await memories(home)}


@pytest.mark.covers("model.review")
async def test_what_could_not_be_read_of_an_answer_is_told(
    home: Staged, model: ScriptedModel
) -> None:
    said = lesson()
    said["lessons"].append({"advice": "You should say which event shows it"})
    model.script(by_kind(ReviewAnswer=said))
    team = await ended(home)
    report = await team.reviewed()
    assert report.failure is None
    assert LESSON in {one.content for one in await memories(home)}
    assert "of the answer to review: an item of `lessons` left out: `events`: Field required" in (
        report.rejected
    )


@pytest.mark.covers("model.review")
async def test_an_answer_of_which_nothing_fits_is_asked_for_once_more(
    home: Staged, model: ScriptedModel
) -> None:
    bad = json.dumps({"path": "p", "lessons": [{"advice": "You should cite what you saw"}]})
    model.script(bad, by_kind(ReviewAnswer=lesson()))
    team = await ended(home)
    report = await team.reviewed()
    assert report.failure is None
    assert "no item of `lessons` fits" in told(model.asked[1])
    assert LESSON in {one.content for one in await memories(home)}


@pytest.mark.covers("model.review")
async def test_an_unreadable_answer_is_asked_for_once_more_with_what_was_wrong(
    home: Staged, model: ScriptedModel
) -> None:
    model.script("well, it went fine", by_kind(ReviewAnswer=lesson()))
    team = await ended(home)
    report = await team.reviewed()
    assert report.failure is None
    assert "could not be read" in told(model.asked[1])


@pytest.mark.covers("model.budget")
async def test_a_run_that_has_spent_its_tokens_is_reviewed_by_rules_and_says_so(
    tmp_path: Path, model: ScriptedModel
) -> None:
    settings = settings_for(model, chat_tokens_per_run=5_000)
    chat = LiteLLMChat(settings, pause=no_pause)
    async with world(tmp_path / "home", settings=settings, chat=chat) as home:
        model.script(Answer(json.dumps(lesson()), tokens=(4_000, 500)))
        team = await ended(home)
        report = await team.reviewed()
        assert len(model.asked) == 1
        assert report.failure is not None
        assert report.failure.failure == "budget"
        async with home.world.ledger.reading() as unit:
            spent = await unit.asking.spent("acme", run_id=team.run.run_id)
            other = await unit.asking.spent("other")
        assert (spent.calls, spent.tokens) == (1, 4_500)
        assert other.calls == 0
        assert LESSON in {one.content for one in await memories(home)}


@pytest.mark.covers("model.budget", "model.failed")
async def test_one_run_s_spent_budget_keeps_no_other_from_being_retried(
    tmp_path: Path, model: ScriptedModel
) -> None:
    settings = settings_for(model, chat_tokens_per_run=12_000)
    chat = LiteLLMChat(settings, pause=no_pause)
    async with world(tmp_path / "home", settings=settings, chat=chat) as home:
        model.script(Answer(json.dumps(lesson()), tokens=(11_000, 500)))
        spent = await ended(home)
        report = await spent.reviewed()
        assert report.failure is not None
        assert "500 are left, and one more question may take" in report.failure.why
        model.script("no answer")
        other = await ended(home, "executor")
        await other.reviewed()
        model.script(by_kind(ReviewAnswer=lesson()))
        planner = await home.caller(agent="planner", user="alice")
        done = await review_retry.retry(home.world, planner, c.RetryReviews())
        assert (done.tried, done.mended, done.stopped) == (2, (other.run.run_id,), None)
        assert [one.failure for one in done.failed] == ["budget"]


@pytest.mark.covers("model.budget")
async def test_a_tenants_day_has_its_own_budget_and_begins_anew_at_midnight(
    tmp_path: Path, model: ScriptedModel
) -> None:
    settings = settings_for(model, chat_tokens_per_day=6_000)
    chat = LiteLLMChat(settings, pause=no_pause)
    async with world(tmp_path / "home", settings=settings, chat=chat) as home:
        model.script(by_kind(ReviewAnswer=Answer(json.dumps(lesson()), tokens=(5_900, 90))))
        team = await ended(home)
        report = await team.reviewed()
        assert report.failure is not None
        assert "chat_tokens_per_day" in report.failure.why
        home.clock.advance(hours=24)
        planner = await home.caller(agent="planner", user="alice")
        done = await review_retry.retry(home.world, planner, c.RetryReviews())
        assert done.mended == (team.run.run_id,)


@pytest.mark.covers("model.prompt")
async def test_a_long_run_is_told_in_parts_none_longer_than_the_limit_and_never_raw(
    home: Staged, model: ScriptedModel
) -> None:
    model.script(by_kind(ReviewAnswer={"path": "so far so good"}))
    team = await Team.start(home, "planner")
    for n in range(600):
        team.story.call(f"c{n}", "search", f"page={n}", result="x" * 600)
    await team.end()
    await home.jobs.finish()
    reviews = [one for one in model.asked if kind_of(one) == "ReviewAnswer"]
    assert len(reviews) == 4
    assert "so far so good" in told(reviews[1])
    for one in model.asked:
        text = "".join(str(message["content"]) for message in one["messages"])
        assert "x" * 200 not in text
        assert len(text) < 8_000 * 4


@pytest.mark.covers("review.triggers", "model.marked")
async def test_a_complaint_that_no_list_knows_is_heard_by_the_weak_model(
    home: Staged, model: ScriptedModel
) -> None:
    def mood(question: dict[str, Any]) -> Any:
        names = re.findall(r"^(e\d+) .*umständlich", told(question), re.MULTILINE)
        return {"events": names}

    model.script(by_kind(MoodAnswer=mood))
    team = await Team.start(home, "planner")
    stumble(team.story)
    team.story.add("word", "user", "Das ist mir alles viel zu umständlich hier")
    await team.end()
    await home.jobs.finish()
    async with home.world.ledger.reading() as unit:
        (kept,) = await unit.reviews.of_run("acme", team.run.run_id)
    assert (kept.kind, kept.trigger) == ("partial", "user dissatisfaction")
    assert home.world.chat is not None
    assert kept.heard_by == home.world.chat.prompts["mood"].mark
    assert {one["model"] for one in model.asked} == {"small"}


@pytest.mark.covers("record.window", "model.marked")
async def test_a_full_window_is_summarised_by_the_weak_model_and_by_rules_where_it_fails(
    tmp_path: Path, model: ScriptedModel
) -> None:
    settings = settings_for(model, short_term_lines=6)
    chat = LiteLLMChat(settings, pause=no_pause)
    async with world(tmp_path / "home", settings=settings, chat=chat) as home:
        alice = await home.caller(user="alice", session="s1")
        model.script(by_kind(WindowAnswer={"summary": "Six notes were taken"}))
        for n in range(7):
            await layers.note(home.world, alice, c.Note(text=f"note {n}"))
        await home.jobs.finish()
        lines = (await layers.window(home.world, alice, c.Window())).lines
        by = chat.prompts["window"].mark
        summary = f"Earlier (4 notes, {by}): Six notes were taken"
        assert lines == (summary, "note 4", "note 5", "note 6")
        model.script("nothing")
        for n in range(7, 10):
            await layers.note(home.world, alice, c.Note(text=f"note {n}"))
        await home.jobs.finish()
        lines = (await layers.window(home.world, alice, c.Window())).lines
        assert lines[0] == "Earlier (7 notes): Six notes were taken; note 4; note 5; note 6"
        assert lines[1:] == ("note 7", "note 8", "note 9")


@pytest.mark.covers("model.idempotent")
async def test_two_who_review_at_once_keep_one_answer(home: Staged, model: ScriptedModel) -> None:
    """The model answers each otherwise; the first answer counts for both."""

    def fresh(_question: dict[str, Any]) -> Any:
        return lesson(f"When a rollback is refused, you should try way {len(model.asked)} first")

    model.script(by_kind(ReviewAnswer=fresh))
    team = await ended(home)
    await asyncio.gather(team.reviewed(), team.reviewed(), team.reviewed())
    assert len(experiences(await memories(home))) == 2


@pytest.mark.covers("G1.prompts")
async def test_a_failed_answer_is_quoted_only_to_who_may_read_all_that_the_model_was_shown(
    home: Staged, model: ScriptedModel
) -> None:
    operator = await home.caller(agent="operator")
    secret = c.Write.model_validate(
        {"command_id": "w", "content": "Release 40 is pinned", "scope": "agent:executor"}
    )
    await write.write(home.world, operator, secret)
    model.script("The executor knows that release 40 is pinned")
    team = await Team.start(home, "planner", "executor")
    offer = c.Search(query="release 40", run_id=team.run.run_id)
    found = await search.search(home.world, team.members["executor"], offer)
    assert len(found.hits) == 1
    stumble(team.story)
    await team.end()
    await team.reviewed(team.members["planner"])
    asked = c.RetryReviews(list_only=True)
    listed = await review_retry.retry(home.world, team.members["planner"], asked)
    assert [(one.failure, one.why, one.answer) for one in listed.failed] == [("unparsable", "", "")]
    retried = await review_retry.retry(home.world, team.members["planner"], c.RetryReviews())
    assert "release 40" not in retried.model_dump_json()
    assert "release 40" in (await review_retry.retry(home.world, operator, asked)).model_dump_json()


@pytest.mark.covers("erase.meanwhile")
async def test_what_a_model_answers_once_the_user_is_erased_is_kept_nowhere(
    home: Staged, model: ScriptedModel
) -> None:
    asked, erased = threading.Event(), threading.Event()

    def late(_question: dict[str, Any]) -> str:
        asked.set()
        erased.wait(30)
        return json.dumps(lesson())

    model.script(by_kind(ReviewAnswer=late))
    team = await Team.start(home, "planner")
    stumble(team.story)
    await team.send()
    await home.jobs.finish()
    review = asyncio.create_task(team.reviewed())
    assert await asyncio.to_thread(asked.wait, 30)
    await ask(home, await home.operator(), c.Erase, user="alice")
    erased.set()
    with pytest.raises(NotFound):
        await review
    files = [file.read_bytes() for file in home.path.rglob("*") if file.is_file()]
    assert not any(LESSON.encode() in held for held in files)
    assert await memories(home) == []


@pytest.mark.covers("erase.bytes", "erase.derived")
async def test_what_a_model_quoted_of_a_memory_goes_with_its_author_from_reviews_of_others(
    home: Staged, model: ScriptedModel
) -> None:
    said = "The payments team keeps the spare key behind the blue door"
    alice, planner = await home.ticket(user="alice"), await home.ticket(agent="planner")
    given = {"to": "user:alice", "actions": ("read", "write")}
    await ask(home, planner, c.Share, scope="agent:planner", **given)
    await ask(home, alice, c.Write, content=said, scope="agent:planner")
    teams = {user: await Team.start(home, "planner", user=user) for user in ("bob", "carol")}
    (bobs,) = teams["bob"].members.values()
    query = c.Search(query="spare key of the payments team", run_id=teams["bob"].run.run_id)
    assert (await search.search(home.world, bobs, query)).hits
    quoting = {"path": said}
    model.script(
        by_kind(ReviewAnswer=lambda asked: json.dumps(quoting if said in told(asked) else lesson()))
    )
    for user, team in teams.items():
        stumble(team.story, tool=user)
        await team.end()
        await team.reviewed()
    await ask(home, await home.operator(), c.Erase, user="alice")
    async with home.world.ledger.reading() as unit:
        for user, kept in (("bob", False), ("carol", True)):
            assert bool(await unit.reviews.of_run("acme", teams[user].run.run_id)) == kept
    held = [file.name for file in home.path.rglob("*") if said.encode() in file.read_bytes()]
    assert held == []
