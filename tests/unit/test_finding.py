"""Finding, changing and promoting over a real home: who gets what, in which order, and why."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.base import build
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import (
    Explain,
    Forget,
    Get,
    History,
    Promote,
    Search,
    SearchMany,
    Share,
    StartRun,
    Update,
    Write,
)
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.memory import Memory, Source
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.errors import (
    AccessDenied,
    HindsightError,
    InvalidInput,
    ModelFailed,
    NotFound,
    RevisionConflict,
    Unavailable,
)
from hindsight_ray.ports import Purpose, Vector
from hindsight_ray.service import runs
from hindsight_ray.service.explain import explain
from hindsight_ray.service.forget import forget
from hindsight_ray.service.get import get
from hindsight_ray.service.history import history
from hindsight_ray.service.keep import keep
from hindsight_ray.service.promote import promote
from hindsight_ray.service.recall import TOGETHER_MAX
from hindsight_ray.service.search import search, search_many
from hindsight_ray.service.share import share
from hindsight_ray.service.update import update
from hindsight_ray.service.write import write
from tests.faulty import Faults, FaultyLedger, FaultyStore
from tests.worlds import Staged, world

LONG = 300 * 24 * 3600
ABSENT = "5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a71"
_numbers = iter(range(1, 1_000_000))


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


def _command() -> str:
    return f"c{next(_numbers)}"


async def _wrote(home: Staged, caller: Caller, content: str, **fields: object) -> Receipt:
    named = {"command_id": _command(), "content": content, **fields}
    return await write(home.world, caller, Write.model_validate(named))


async def _found(home: Staged, caller: Caller, query: str, **fields: object) -> Found:
    return await search(home.world, caller, Search.model_validate({"query": query, **fields}))


async def _texts(home: Staged, caller: Caller, query: str, **fields: object) -> list[str]:
    return [hit.memory.content for hit in (await _found(home, caller, query, **fields)).hits]


async def _get(home: Staged, caller: Caller, memory_id: str) -> Memory:
    return await get(home.world, caller, Get.model_validate({"memory_id": memory_id}))


async def _promoted(home: Staged, caller: Caller, memory_id: str, scope: str) -> Receipt:
    named = {"command_id": _command(), "memory_id": memory_id, "scope": scope}
    return await promote(home.world, caller, Promote.model_validate(named))


async def _updated(home: Staged, caller: Caller, memory_id: str, **fields: object) -> Receipt:
    named = {"command_id": _command(), "memory_id": memory_id, **fields}
    return await update(home.world, caller, Update.model_validate(named))


async def _forgot(home: Staged, caller: Caller, memory_id: str) -> Receipt:
    named = {"command_id": _command(), "memory_id": memory_id}
    return await forget(home.world, caller, Forget.model_validate(named))


async def _shared(home: Staged, owner: Caller, to: str, *actions: str) -> None:
    named = {"command_id": _command(), "scope": owner.principal, "to": to, "actions": actions}
    await share(home.world, owner, Share.model_validate(named))


@pytest.mark.covers("G1.search", "search.routes")
async def test_a_search_finds_by_meaning_words_and_scope(home: Staged) -> None:
    planner = await home.caller(agent="planner", user="alice")
    await _wrote(home, planner, "Error ERR-42 means that the token has expired")
    await _wrote(home, planner, "Checkout latency doubles after release 41")
    await _wrote(home, planner, "重启服务之前先检查错误日志")
    (first, *_) = (await _found(home, planner, "what is ERR-42")).hits
    assert first.memory.content.startswith("Error ERR-42")
    assert first.routes == {"vector": 1, "keyword": 1}
    assert (await _texts(home, planner, "错误日志怎么看"))[0].startswith("重启服务")
    assert (await _texts(home, planner, "release latency"))[0].startswith("Checkout")
    stranger = await home.caller(agent="stranger", user="bob")
    assert await _texts(home, stranger, "what is ERR-42") == []
    assert await _texts(home, stranger, "ERR-42", scopes=("user:alice",)) == []


@pytest.mark.covers("G6.score")
async def test_a_hit_names_its_ranks_and_its_contributions_sum_to_its_score(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    for number in range(30):
        await _wrote(home, planner, f"Release {number} changed the checkout")
    hits = (await _found(home, planner, "release 7 checkout", k=30)).hits
    assert len(hits) >= 20
    for hit in hits:
        assert sum(share.value for share in hit.contributions) == hit.score
        assert hit.routes
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


async def test_at_most_k_and_the_filters_narrow(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    await _wrote(home, planner, "Tea is served at five", type="preference")
    await _wrote(home, planner, "Tea comes from plants")
    assert len(await _texts(home, planner, "tea", k=1)) == 1
    assert await _texts(home, planner, "tea", types=("preference",)) == ["Tea is served at five"]
    with pytest.raises(InvalidInput, match="`types` must have 1 or more"):
        build(Search, {"query": "tea", "types": ()})
    later = home.clock.now() + timedelta(hours=1)
    assert await _texts(home, planner, "tea", since=later) == []
    assert len(await _texts(home, planner, "tea", until=later)) == 2


async def test_experiences_follow_the_coarse_rules(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    for task, tools in (("operate", ("deploy",)), ("operate", ("search",)), ("write", ())):
        await _wrote(
            home,
            planner,
            f"You should be careful with {task} and {tools}",
            type="experience",
            scene={"task_type": task, "tools": tools},
        )
    await _wrote(home, planner, "Being careful with deploy is a fact")
    asked = {"task_type": "operate", "tools": ("deploy", "page")}
    texts = await _texts(home, planner, "careful deploy", **asked)
    assert sorted(texts) == [
        "Being careful with deploy is a fact",
        "You should be careful with operate and ('deploy',)",
    ]


@pytest.mark.covers("search.routes")
async def test_last_time_and_dates_bring_what_was_noted_then(home: Staged) -> None:
    planner = await home.caller(agent="planner", lifetime_s=LONG)
    await _wrote(home, planner, "The deploy failed on disk space")
    home.clock.advance(days=60)
    await _wrote(home, planner, "The deploy failed on memory")
    home.clock.advance(days=1)
    for question in ("how did the deploy fail last time", "上次 deploy 失败"):
        (first, *_) = (await _found(home, planner, question)).hits
        assert first.memory.content.endswith("memory")
        assert first.routes["recent"] == 1
    (first, *_) = (await _found(home, planner, "deploy on 2026-03-02")).hits
    assert first.memory.content.endswith("disk space")
    (first, *_) = (await _found(home, planner, "昨天 deploy")).hits
    assert first.memory.content.endswith("memory")


@pytest.mark.covers("search.routes")
async def test_episodes_crowd_nothing_out_of_an_answer_that_did_not_ask_for_them(
    home: Staged,
) -> None:
    planner = await home.caller(agent="planner", user="alice")
    lessons = [
        "Ask the payments team before anything of theirs is pinned",
        "The pump of hall three needs oil in winter",
        "Alice wants reports without colours",
    ]
    for lesson in lessons:
        await _wrote(home, planner, lesson)
    dated = {"type": "episode", "layer": "episodic"}
    for day in range(1, 31):
        await _wrote(home, planner, f"2026-01-{day:02}: Restore the checkout, step {day}", **dated)
    found = await _found(home, planner, "restore the checkout step")
    texts = [hit.memory.content for hit in found.hits]
    assert set(lessons) < set(texts)
    assert texts[0].endswith(tuple("0123456789"))  # the best of the episodes keeps its place
    assert [hit.score for hit in found.hits] == sorted((h.score for h in found.hits), reverse=True)
    for asked in (
        await _texts(home, planner, "restore the checkout step last time"),
        await _texts(home, planner, "restore the checkout step", layers=("episodic", "semantic")),
        await _texts(home, planner, "restore the checkout step", types=("episode",)),
    ):
        assert not set(lessons) & set(asked)


async def test_an_episode_does_not_take_its_author_s_one_place_in_a_shared_scope(
    home: Staged,
) -> None:
    planner = await home.caller(agent="planner")
    curator = await home.caller(agent="curator", user="carol")
    dated = {"type": "episode", "layer": "episodic"}
    await _wrote(home, planner, "2026-03-02: Restore the checkout", **dated)
    await _wrote(home, planner, "The checkout is restored by release 40")
    await _shared(home, planner, "agent:curator", "read")
    texts = await _texts(home, curator, "restore the checkout")
    assert texts == ["The checkout is restored by release 40"]


async def test_expired_memories_are_gone(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    until = home.clock.now() + timedelta(hours=1)
    receipt = await _wrote(home, planner, "The lobby is closed", expires_at=until)
    assert await _texts(home, planner, "lobby") == ["The lobby is closed"]
    home.clock.advance(hours=1)
    assert await _texts(home, planner, "lobby") == []
    with pytest.raises(NotFound):
        await _get(home, planner, receipt.ids[0])


@pytest.mark.covers("G1.statuses")
async def test_pending_and_quarantined_are_shown_only_with_review(home: Staged) -> None:
    alice = await home.caller(user="alice")
    pending = await _wrote(home, alice, "Perhaps it rains", confidence=0.2)
    assert await _texts(home, alice, "rains") == []
    assert await _texts(home, alice, "rains", statuses=("pending",)) == ["Perhaps it rains"]
    await _shared(home, alice, "agent:helper", "read")
    helper = await home.caller(agent="helper")
    assert await _texts(home, helper, "rains", statuses=("pending", "active")) == []
    with pytest.raises(NotFound):
        await _get(home, helper, pending.ids[0])


@pytest.mark.covers("G1.labels")
async def test_a_denied_label_hides_a_record_in_a_readable_scope(tmp_path: Path) -> None:
    policy = (
        "p, role:user, *, user:{acting}, read, allow\n"
        "p, role:user, *, user:{acting}, write, allow\n"
        "p, role:agent, *, user:{acting}, read, allow\n"
        "p, agent:intern, *, label:salary, read, deny\n"
    )
    async with world(tmp_path, policy=policy) as home:
        alice = await home.caller(user="alice")
        kept = await _wrote(home, alice, "Alice earns a lot", labels=("salary",))
        await _wrote(home, alice, "Alice earns praise")
        intern = await home.caller(agent="intern", user="alice")
        assert await _texts(home, intern, "Alice earns") == ["Alice earns praise"]
        with pytest.raises(NotFound):
            await _get(home, intern, kept.ids[0])


@pytest.mark.covers("G1.get", "G1.history", "G1.explain")
async def test_absent_and_forbidden_look_the_same_to_every_verb(home: Staged) -> None:
    alice = await home.caller(user="alice")
    kept = (await _wrote(home, alice, "Alice is in Rome")).ids[0]
    bob = await home.caller(agent="planner", user="bob")
    curator = await home.caller(agent="curator", tenant="other")

    async def refusal(caller: Caller, memory_id: str, verb: str) -> tuple[object, ...]:
        with pytest.raises(HindsightError) as refused:
            if verb == "get":
                await _get(home, caller, memory_id)
            elif verb == "history":
                named = {"memory_id": memory_id}
                await history(home.world, caller, History.model_validate(named))
            elif verb == "explain":
                named = {"memory_id": memory_id}
                await explain(home.world, caller, Explain.model_validate(named))
            elif verb == "update":
                await _updated(home, caller, memory_id, content="x")
            elif verb == "forget":
                await _forgot(home, caller, memory_id)
            else:
                await _promoted(home, caller, memory_id, "global")
        error = refused.value
        return type(error), error.message.replace(memory_id, "ID"), sorted(error.details)

    for verb in ("get", "history", "explain", "update", "forget", "promote"):
        for caller in (bob, curator):
            assert await refusal(caller, kept, verb) == await refusal(caller, ABSENT, verb)
    assert (await _get(home, alice, kept)).revision == 1


@pytest.mark.covers("G1.statistics")
async def test_what_others_write_changes_nothing_of_what_one_gets(tmp_path: Path) -> None:
    """Ids, order, scores and every byte of the answer, on all routes."""
    answers: list[list[str]] = []
    for crowded in (False, True):
        async with world(tmp_path / str(crowded)) as home:
            alice = await home.caller(agent="planner", user="alice")
            if crowded:
                bob = await home.caller(agent="planner", user="bob")
                for number in range(40):
                    await _wrote(home, bob, f"Checkout latency of release {number} doubles")
                await _wrote(home, bob, "错误日志")
            for number in range(25):
                named = {"command_id": f"a{number}", "content": f"Release {number} is on disk"}
                await write(home.world, alice, Write.model_validate(named))
            if crowded:
                other = await home.caller(agent="planner", user="bob", tenant="other")
                await _wrote(home, other, "Checkout latency of release 3")
                for number in range(25):
                    await _wrote(home, bob, f"Release {number} is on disk")
                    await _found(home, bob, f"Release {number}")
                await home.jobs.finish()
            told: list[str] = []
            for query in ("release 3 latency", "错误日志", "last time on disk", "disk"):
                told.append((await _found(home, alice, query, k=50)).model_dump_json())
                await home.jobs.finish()  # what one's own search left behind, before the next
            answers.append(told)
    assert answers[0] == answers[1]


async def test_several_searches_are_one_call_at_one_revision(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    await _wrote(home, planner, "Tea is green")
    await _wrote(home, planner, "Coffee is black")
    many = SearchMany.model_validate({"searches": [{"query": "tea"}, {"query": "coffee"}]})
    tea, coffee = await search_many(home.world, planner, many)
    assert tea.hits[0].memory.content == "Tea is green"
    assert tea.revision == coffee.revision
    assert coffee.hits[0].memory.content == "Coffee is black"


async def test_an_answer_older_than_asked_for_is_refused(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    revision = (await _found(home, planner, "x")).revision
    assert (await _found(home, planner, "x", at_least=revision)).revision == revision
    with pytest.raises(Unavailable):
        await _found(home, planner, "x", at_least=revision + 1)


class _Failing(HashedEmbedder):
    """A model that can be switched off."""

    def __init__(self) -> None:
        self.down = False

    async def embed(self, texts: object, purpose: Purpose) -> Vector:
        if self.down:
            raise ModelFailed("`model` is down")
        return await super().embed(texts, purpose)  # type: ignore[arg-type]


async def test_without_the_model_words_still_find_and_the_answer_says_so(tmp_path: Path) -> None:
    model = _Failing()
    async with world(tmp_path, embedder=model) as home:
        planner = await home.caller(agent="planner")
        await _wrote(home, planner, "Tea is green")
        model.down = True
        found = await _found(home, planner, "tea")
        assert found.degraded == ("vector",)
        assert [hit.routes for hit in found.hits] == [{"keyword": 1}]
        with pytest.raises(ModelFailed):
            await _wrote(home, planner, "Coffee is black")
        assert await _texts(home, planner, "coffee") == []


async def test_after_the_answer_come_statistics_and_one_line_of_the_log(home: Staged) -> None:
    planner = await home.caller(agent="planner", session="s1")
    kept = await _wrote(home, planner, "Tea is green")
    for _ in range(3):
        await _found(home, planner, "tea with password=hunter2")
    await home.jobs.finish()
    async with home.world.ledger.reading() as unit:
        (entry, *rest) = await unit.recalls.newest("acme", limit=10)
        statistics = await unit.stats.of("acme", list(kept.ids))
    assert len(rest) == 2
    assert "hunter2" not in entry.query
    assert [ref.id for ref in entry.offered] == list(kept.ids)
    assert statistics[kept.ids[0]].accesses == 3


async def test_who_waits_for_the_writer_waits_for_few_calls_however_many_searches_are_noted(
    tmp_path: Path,
) -> None:
    faults = Faults()
    async with world(
        tmp_path,
        store=FaultyStore(EmbeddedStore(), faults),
        wrap=lambda ledger: FaultyLedger(ledger, faults),
    ) as home:
        planner = await home.caller(agent="planner")
        kept = await _wrote(home, planner, "Tea is green")
        queue = home.world.recalls
        queue.writing = True
        await _found(home, planner, "tea")
        queue.waiting.extend([queue.waiting[0]] * (2 * TOGETHER_MAX - 2))
        queue.writing = False
        faults.arm(0, after=False)
        await _found(home, planner, "tea")
        await home.jobs.finish()
        assert faults.made == 1 + 2 * 3  # a search, and twice: the lines, the counts, the commit
        async with home.world.ledger.reading() as unit:
            statistics = await unit.stats.of("acme", list(kept.ids))
        assert statistics[kept.ids[0]].accesses == 2 * TOGETHER_MAX


async def test_one_unreviewed_author_has_one_hit_in_a_shared_scope(home: Staged) -> None:
    operator = await home.caller(agent="operator")
    for number in range(5):
        source = Source.model_validate({"kind": "agent", "weight": 0.6, "agent": "noisy"})
        await keep(
            home.world,
            Draft.model_validate(
                {
                    "tenant": "acme",
                    "principal": "agent:noisy",
                    "command_id": f"n{number}",
                    "scope": "global",
                    "audience": ("global",),
                    "content": f"Trust offer number {number} on tea",
                    "source": source,
                }
            ),
            reader=None,
        )
    found = await _found(home, await home.caller(agent="planner"), "tea offer")
    assert len(found.hits) == 1
    assert found.hidden_by_author_limit == 4
    del operator


@pytest.mark.covers("promote")
async def test_promotion_drops_scopes_on_purpose_and_on_record(home: Staged) -> None:
    planner = await home.caller(agent="planner", user="alice")
    kept = await _wrote(home, planner, "Check the quota before a deploy", scope="agent:planner")
    with pytest.raises(AccessDenied):
        await _promoted(home, planner, kept.ids[0], "global")
    curator = await home.caller(agent="curator")
    receipt = await _promoted(home, curator, kept.ids[0], "global")
    bob = await home.caller(agent="planner", user="bob")
    (hit,) = (await _found(home, bob, "quota before a deploy")).hits
    memory = hit.memory
    assert (memory.id, memory.scope, memory.audience) == (receipt.ids[0], "global", ("global",))
    assert memory.source.reviewed_by == "agent:curator"
    # Bob's planner learns nothing of the original: not its id, its user or its session.
    assert memory.derived_from == ()
    assert "alice" not in hit.model_dump_json()
    assert kept.ids[0] not in hit.model_dump_json()
    seen = await _get(home, curator, receipt.ids[0])
    assert [ref.id for ref in seen.derived_from] == [kept.ids[0]]
    again = await _promoted(home, curator, kept.ids[0], "global")
    assert (again.result, again.ids) == ("duplicate", receipt.ids)
    # What was promoted stays when the original goes.
    await _forgot(home, planner, kept.ids[0])
    assert await _texts(home, bob, "quota") == ["Check the quota before a deploy"]


async def test_an_update_makes_the_next_revision_and_moves_the_memory(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    kept = await _wrote(home, planner, "Tea is green", tags=("drink",))
    await _updated(home, planner, kept.ids[0], content="Coffee is black", if_revision=1)
    memory = await _get(home, planner, kept.ids[0])
    assert (memory.revision, memory.content, memory.tags) == (2, "Coffee is black", ("drink",))
    (hit,) = (await _found(home, planner, "coffee is black")).hits
    assert hit.similarity == pytest.approx(1.0)
    assert (await _found(home, planner, "green tea")).hits[0].routes == {"vector": 1}
    with pytest.raises(RevisionConflict):
        await _updated(home, planner, kept.ids[0], importance=0.9, if_revision=1)
    with pytest.raises(InvalidInput):
        await _updated(home, planner, kept.ids[0], content="long text. " * 40)
    notes = await history(home.world, planner, History.model_validate({"memory_id": kept.ids[0]}))
    assert [(note.revision, note.content) for note in notes] == [
        (1, "Tea is green"),
        (2, "Coffee is black"),
    ]


@pytest.mark.covers("G3.commands")
async def test_updates_and_forgetting_are_repeated_without_effect(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    kept = await _wrote(home, planner, "Tea is green")
    change = Update.model_validate({"command_id": "u", "memory_id": kept.ids[0], "importance": 0.9})
    assert await update(home.world, planner, change) == await update(home.world, planner, change)
    assert (await _get(home, planner, kept.ids[0])).revision == 2
    gone = Forget.model_validate({"command_id": "f", "memory_id": kept.ids[0]})
    receipt = await forget(home.world, planner, gone)
    assert receipt.result == "forgotten"
    assert await forget(home.world, planner, gone) == receipt
    assert await _texts(home, planner, "tea") == []
    with pytest.raises(NotFound):
        await _forgot(home, planner, kept.ids[0])


async def test_new_text_is_no_longer_what_was_reviewed(home: Staged) -> None:
    operator = await home.caller(agent="operator")
    planner = await home.caller(agent="planner")
    kept = await _wrote(home, planner, "Check the quota")
    receipt = await _promoted(home, operator, kept.ids[0], "global")
    await _updated(home, operator, receipt.ids[0], importance=0.9)
    assert (await _get(home, operator, receipt.ids[0])).source.reviewed_by == "agent:operator"
    await _updated(home, operator, receipt.ids[0], content="Ignore the quota")
    assert (await _get(home, operator, receipt.ids[0])).source.reviewed_by is None


@pytest.mark.covers("G1.acting")
async def test_an_update_cannot_carry_one_user_s_words_to_another(home: Staged) -> None:
    alone = await home.caller(agent="planner")
    kept = await _wrote(home, alone, "Releases go out on Monday")
    with_alice = await home.caller(agent="planner", user="alice")
    with pytest.raises(AccessDenied):
        await _updated(home, with_alice, kept.ids[0], content="Alice is in Rome")
    with pytest.raises(AccessDenied):
        await _updated(home, with_alice, kept.ids[0], tags=("Alice is in Rome",))
    await _updated(home, with_alice, kept.ids[0], importance=0.9)


async def test_without_forget_on_the_scope_a_reader_cannot_forget(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    kept = await _wrote(home, planner, "Tea is green")
    curator = await home.caller(agent="curator")
    with pytest.raises(AccessDenied):
        await _forgot(home, curator, kept.ids[0])


@pytest.mark.covers("G1.explain")
async def test_evidence_is_shown_to_those_who_may_read_the_run(home: Staged) -> None:
    with_alice = await home.caller(agent="planner", user="alice", session="s1")
    run = await runs.start(
        home.world,
        with_alice,
        StartRun.model_validate({"command_id": "r1", "goal": "Deploy"}),
    )
    kept = await _wrote(home, with_alice, "Check the quota", run_id=run.run_id)
    told = await explain(home.world, with_alice, Explain.model_validate({"memory_id": kept.ids[0]}))
    assert told.run_id == run.run_id
    curator = await home.caller(agent="curator")
    receipt = await _promoted(home, curator, kept.ids[0], "global")
    asked = Explain.model_validate({"memory_id": receipt.ids[0]})
    assert (await explain(home.world, curator, asked)).run_id == run.run_id
    bob = await home.caller(agent="planner", user="bob")
    told = await explain(home.world, bob, asked)
    assert (told.run_id, told.events, told.derived_from) == (None, (), ())
