"""People decide, time passes, scopes fill up: over a real home under a clock that tests set."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import (
    Archive,
    CloseProject,
    DecidePending,
    DrawSample,
    ExportKnowledge,
    Forget,
    Get,
    JudgeSample,
    ListPending,
    Maintain,
    Promote,
    ReadSamples,
    ReadTiers,
    Restore,
    Search,
    Update,
    Write,
)
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.settings import Settings
from hindsight_ray.domain.upkeep import Maintained, Verdict, Waiting
from hindsight_ray.errors import AccessDenied, InvalidInput, NotFound, OverQuota, RevisionConflict
from hindsight_ray.service import archive, get, knowledge, maintain, pending, promote, samples
from hindsight_ray.service.forget import forget
from hindsight_ray.service.search import search
from hindsight_ray.service.update import update
from hindsight_ray.service.write import write
from tests.worlds import Staged, world

LONG = 366 * 24 * 3600
_numbers = iter(range(1, 1_000_000))


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path, settings=Settings(lock_wait_s=5.0)) as staged:
        yield staged


@pytest.fixture
async def alice(home: Staged) -> Caller:
    return await home.caller(user="alice", lifetime_s=LONG)


def _id() -> str:
    return f"c{next(_numbers)}"


async def _wrote(home: Staged, caller: Caller, content: str, **fields: object) -> Receipt:
    named = {"command_id": _id(), "content": content, **fields}
    return await write(home.world, caller, Write.model_validate(named))


async def _get(home: Staged, caller: Caller, memory_id: str) -> Memory:
    return await get.get(home.world, caller, Get.model_validate({"memory_id": memory_id}))


async def _found(home: Staged, caller: Caller, query: str, **fields: object) -> Found:
    return await search(home.world, caller, Search.model_validate({"query": query, **fields}))


async def _decide(
    home: Staged, caller: Caller, memory_id: str, decision: str, **fields: object
) -> Receipt:
    named = {"command_id": _id(), "memory_id": memory_id, "decision": decision, **fields}
    return await pending.decide(home.world, caller, DecidePending.model_validate(named))


async def _pending(home: Staged, caller: Caller, **fields: object) -> tuple[Waiting, ...]:
    return await pending.listed(home.world, caller, ListPending.model_validate(fields))


async def _pass(home: Staged, *, size: int = 500) -> list[Maintained]:
    """Slices of upkeep until the pass over the tenant has ended."""
    operator = await home.caller(agent="operator")
    done: list[Maintained] = []
    while not done or not done[-1].done:
        done.append(await maintain.maintain(home.world, operator, Maintain(slice=size)))
    return done


# People in the loop


@pytest.mark.covers("people.pending")
async def test_what_is_doubted_waits_and_counts_once_a_person_has_accepted_it(
    home: Staged, alice: Caller
) -> None:
    doubted = await _wrote(home, alice, "The depot opens at seven", confidence=0.3)
    assert doubted.result == "pending"
    (waiting,) = await _pending(home, alice)
    assert waiting.memory.id == doubted.ids[0]
    assert not (await _found(home, alice, "depot opens")).hits
    assert (await _decide(home, alice, doubted.ids[0], "accept")).result == "stored"
    memory = await _get(home, alice, doubted.ids[0])
    assert (memory.status, memory.source.reviewed_by) == ("active", "user:alice")
    assert await _pending(home, alice) == ()
    with pytest.raises(RevisionConflict):
        await _decide(home, alice, doubted.ids[0], "reject")


@pytest.mark.covers("people.pending")
async def test_of_two_values_that_both_wait_the_accepted_one_outdates_the_other(
    home: Staged, alice: Caller
) -> None:
    fields = {"type": "preference", "topic": "date_format"}
    first = await _wrote(home, alice, "Dates as DD.MM.YYYY", **fields)
    second = await _wrote(home, alice, "Dates as YYYY-MM-DD", **fields)
    waiting = await _pending(home, alice)
    assert {one.memory.id for one in waiting} == {first.ids[0], second.ids[0]}
    assert all(len(one.conflicts) == 1 for one in waiting)
    receipt = await _decide(home, alice, second.ids[0], "accept", why="asked her")
    assert receipt.result == "superseded"
    loser = await _get(home, alice, first.ids[0])
    assert (loser.status, loser.superseded_by) == ("outdated", second.ids[0])
    assert (await _found(home, alice, "dates")).hits[0].memory.id == second.ids[0]


@pytest.mark.covers("people.pending")
async def test_a_rejected_one_is_gone_and_an_edit_is_the_person_s_word(
    home: Staged, alice: Caller
) -> None:
    bad = await _wrote(home, alice, "The sky is green", confidence=0.1)
    assert (await _decide(home, alice, bad.ids[0], "reject")).result == "forgotten"
    with pytest.raises(NotFound):
        await _get(home, alice, bad.ids[0])
    vague = await _wrote(home, alice, "The depot opens early", confidence=0.1)
    await _decide(home, alice, vague.ids[0], "edit", content="The depot opens at six")
    memory = await _get(home, alice, vague.ids[0])
    assert (memory.content, memory.status, memory.source.user) == (
        "The depot opens at six", "active", "alice",
    )  # fmt: skip
    assert (await _found(home, alice, "depot six")).hits[0].memory.id == vague.ids[0]
    with pytest.raises(InvalidInput):
        await _decide(home, alice, vague.ids[0], "edit")


@pytest.mark.covers("people.pending")
async def test_nobody_sees_or_decides_what_waits_in_another_s_scope(
    home: Staged, alice: Caller
) -> None:
    doubted = await _wrote(home, alice, "The depot opens at seven", confidence=0.3)
    bob = await home.caller(user="bob")
    assert await _pending(home, bob) == ()
    with pytest.raises(AccessDenied):
        await _pending(home, bob, scope="user:alice")
    with pytest.raises(NotFound):
        await _decide(home, bob, doubted.ids[0], "accept")


@pytest.mark.covers("people.pending", "G3.commands")
async def test_a_decision_that_is_repeated_has_one_effect(home: Staged, alice: Caller) -> None:
    doubted = await _wrote(home, alice, "The depot opens at seven", confidence=0.3)
    for decision in ("accept", "reject"):
        if decision == "reject":
            doubted = await _wrote(home, alice, "The depot shuts at nine", confidence=0.3)
        command = DecidePending.model_validate(
            {"command_id": _id(), "memory_id": doubted.ids[0], "decision": decision}
        )
        first = await pending.decide(home.world, alice, command)
        assert await pending.decide(home.world, alice, command) == first


@pytest.mark.covers("people.pending", "write.conflict")
@pytest.mark.parametrize(
    ("said", "denied"),
    [
        ("Deploying on Fridays is allowed", "Deploying on Fridays is not allowed"),
        ("周五可以部署", "周五不可以部署"),
        ("Restart the primary database", "Never restart the primary database"),
    ],
)
async def test_of_a_statement_and_its_denial_that_both_wait_one_is_left_once_a_person_decides(
    home: Staged, alice: Caller, said: str, denied: str
) -> None:
    first = await _wrote(home, alice, said)
    second = await _wrote(home, alice, denied)
    waiting = await _pending(home, alice)
    assert {one.memory.id: [kept.id for kept in one.conflicts] for one in waiting} == {
        first.ids[0]: [second.ids[0]],
        second.ids[0]: [first.ids[0]],
    }
    await _decide(home, alice, second.ids[0], "accept")
    assert (await _get(home, alice, first.ids[0])).status == "outdated"


@pytest.mark.covers("life.cold", "write.conflict")
async def test_what_comes_back_from_the_archive_waits_where_it_is_denied_by_now(
    home: Staged, alice: Caller
) -> None:
    first = await _wrote(home, alice, "Caching is enabled for the shop")
    put_away = Archive.model_validate({"command_id": _id(), "memory_id": first.ids[0]})
    await archive.archive(home.world, alice, put_away)
    second = await _wrote(home, alice, "Caching is not enabled for the shop")
    back = Restore.model_validate({"command_id": _id(), "memory_id": first.ids[0]})
    await archive.restore(home.world, alice, back)
    assert (await _get(home, alice, first.ids[0])).status == "pending"
    assert (await _get(home, alice, second.ids[0])).status == "active"


@pytest.mark.covers("people.confirm")
async def test_a_later_confirmation_makes_what_waits_active(home: Staged, alice: Caller) -> None:
    doubted = await _wrote(home, alice, "The depot opens at seven", confidence=0.3)
    sure = await _wrote(home, alice, "the depot opens at seven.", confidence=0.9)
    assert (sure.result, sure.ids) == ("merged", doubted.ids)
    memory = await _get(home, alice, doubted.ids[0])
    assert (memory.status, memory.confidence) == ("active", 0.9)
    again = await _wrote(home, alice, "The depot opens at seven", confidence=0.3)
    assert again.result == "duplicate"


@pytest.mark.covers("people.confirm")
async def test_saying_one_of_two_contested_values_again_settles_nothing(
    home: Staged, alice: Caller
) -> None:
    fields = {"type": "preference", "topic": "date_format"}
    await _wrote(home, alice, "Dates as DD.MM.YYYY", **fields)
    second = await _wrote(home, alice, "Dates as YYYY-MM-DD", **fields)
    again = await _wrote(home, alice, "Dates as YYYY-MM-DD", **fields)
    assert (again.result, again.ids) == ("duplicate", second.ids)
    assert len(await _pending(home, alice)) == 2


@pytest.mark.covers("write.conflict")
async def test_a_denial_outdates_what_it_denies_and_a_rewording_of_a_value_does_not(
    home: Staged, alice: Caller
) -> None:
    first = await _wrote(home, alice, "You may deploy on Friday")
    owner = await _wrote(home, alice, "The owner of job 3 is Farid", topic="job 3 owner")
    home.clock.advance(days=2)
    denied = await _wrote(home, alice, "You may not deploy on Friday")
    assert denied.result == "superseded"
    assert (await _get(home, alice, first.ids[0])).superseded_by == denied.ids[0]
    again = await _wrote(home, alice, "For job 3, Farid was chosen as owner", topic="job 3 owner")
    assert (again.result, again.ids) == ("duplicate", owner.ids)
    other = await _wrote(home, alice, "For job 3, Dana was chosen as owner", topic="job 3 owner")
    assert other.result == "superseded"


@pytest.mark.covers("people.samples")
async def test_a_sample_is_of_what_its_drawer_may_review_and_verdicts_add_up(
    home: Staged, alice: Caller
) -> None:
    mine = [
        (await _wrote(home, alice, f"Alice keeps item {n} on shelf {n}")).ids[0] for n in range(8)
    ]
    bob = await home.caller(user="bob", lifetime_s=LONG)
    await _wrote(home, bob, "Bob keeps nothing")
    drawn = await samples.draw(home.world, alice, DrawSample(n=5, seed=3))
    again = await samples.draw(home.world, alice, DrawSample(n=5, seed=3))
    assert drawn == again
    assert drawn.population == 8
    assert {one.id for one in drawn.memories} < set(mine)
    for memory in drawn.memories:
        verdict = "bad" if memory == drawn.memories[0] else "good"
        judged = JudgeSample.model_validate(
            {"command_id": _id(), "memory_id": memory.id, "verdict": verdict}
        )
        said = await samples.judge(home.world, alice, judged)
        assert said == await samples.judge(home.world, alice, judged)
        assert isinstance(said, Verdict)
        home.clock.advance(days=7)
    report = await samples.report(home.world, alice, ReadSamples())
    assert len(report.weeks) == 5
    assert report.total is not None
    assert (report.total.judged, report.total.bad, report.total.share) == (5, 1, 0.2)
    assert (await samples.report(home.world, bob, ReadSamples())).total is None
    with pytest.raises(AccessDenied):
        await samples.draw(home.world, bob, DrawSample.model_validate({"scope": "user:alice"}))


@pytest.mark.covers("people.samples")
async def test_each_look_draws_others_unless_a_seed_is_named(home: Staged, alice: Caller) -> None:
    for n in range(12):
        await _wrote(home, alice, f"Alice keeps item {n} on shelf {n}")
    looks = [await samples.draw(home.world, alice, DrawSample(n=3)) for _ in range(4)]
    assert len({look.seed for look in looks}) == 4
    assert len({look.memories for look in looks}) > 1
    again = await samples.draw(home.world, alice, DrawSample(n=3, seed=looks[0].seed))
    assert again.memories == looks[0].memories


# Life cycle


@pytest.mark.covers("life.cold")
async def test_cold_memories_are_archived_and_come_back_when_asked_for(
    home: Staged, alice: Caller
) -> None:
    used = await _wrote(home, alice, "The pump needs oil in winter")
    cold = await _wrote(home, alice, "The ladder stands behind the door")
    home.clock.advance(days=10)
    await _found(home, alice, "pump oil", k=1)
    await home.jobs.finish()
    home.clock.advance(days=80)
    assert all(not one.archived for one in await _pass(home))
    home.clock.advance(days=1)
    (done,) = await _pass(home)
    assert done.archived == cold.ids
    assert [hit.memory.id for hit in (await _found(home, alice, "ladder door")).hits] == [*used.ids]
    away = await _found(home, alice, "ladder door", statuses=("archived",))
    assert [hit.memory.id for hit in away.hits] == [*cold.ids]
    command = Restore.model_validate({"command_id": _id(), "memory_id": cold.ids[0]})
    assert (await archive.restore(home.world, alice, command)).result == "restored"
    assert (await archive.restore(home.world, alice, command)).result == "restored"
    assert cold.ids[0] in {h.memory.id for h in (await _found(home, alice, "ladder door")).hits}
    assert all(not one.archived for one in await _pass(home))


@pytest.mark.covers("life.cold")
async def test_what_was_accepted_or_changed_this_minute_is_not_cold(
    home: Staged, alice: Caller
) -> None:
    unsure = {"scope": "user:alice", "confidence": 0.3}
    accepted = await _wrote(home, alice, "The depot opens at nine", **unsure)
    edited = await _wrote(home, alice, "The gate is blue", **unsure)
    updated = await _wrote(home, alice, "The crane is in hall four", scope="user:alice")
    untouched = await _wrote(home, alice, "The ladder is in hall two", scope="user:alice")
    home.clock.advance(days=95)
    await _decide(home, alice, accepted.ids[0], "accept")
    await _decide(home, alice, edited.ids[0], "edit", content="The gate is green now")
    said = {"memory_id": updated.ids[0], "content": "The crane is in hall five", "command_id": "u"}
    await update(home.world, alice, Update.model_validate(said))
    (done,) = await _pass(home)
    assert done.archived == untouched.ids


@pytest.mark.covers("life.tiers")
async def test_tiers_are_told_to_those_who_may_read(home: Staged, alice: Caller) -> None:
    kept = await _wrote(home, alice, "The pump needs oil in winter", importance=1.0)
    asked = ReadTiers.model_validate({"memory_ids": kept.ids})
    (found,) = await archive.tiers(home.world, alice, asked)
    assert (found.tier, found.retention) == ("hot", pytest.approx(0.7))
    home.clock.advance(days=31)
    (found,) = await archive.tiers(home.world, alice, asked)
    assert found.tier == "warm"
    assert await archive.tiers(home.world, await home.caller(user="bob"), asked) == ()


@pytest.mark.covers("life.warm")
async def test_a_warm_memory_is_ranked_below_a_hot_one_that_says_as_much(
    home: Staged, alice: Caller
) -> None:
    warm = await _wrote(home, alice, "Boats leave pier 1 at noon")
    home.clock.advance(days=60)
    hot = await _wrote(home, alice, "Boats leave pier 2 at noon")
    hits = (await _found(home, alice, "boats pier noon")).hits
    assert [hit.memory.id for hit in hits] == [*hot.ids, *warm.ids]


@pytest.mark.covers("life.slices")
async def test_upkeep_goes_in_bounded_slices_and_goes_on_where_it_stopped(
    home: Staged, alice: Caller
) -> None:
    ids = [(await _wrote(home, alice, f"Room {n} has {n} chairs")).ids[0] for n in range(7)]
    home.clock.advance(days=91)
    operator = await home.caller(agent="operator")
    first = await maintain.maintain(home.world, operator, Maintain(slice=3))
    assert (first.looked_at, first.done) == (3, False)
    rest = await _pass(home, size=3)
    assert [one.looked_at for one in rest] == [3, 1]
    assert sorted([*first.archived, *(i for one in rest for i in one.archived)]) == sorted(ids)
    with pytest.raises(AccessDenied):
        await maintain.maintain(home.world, alice, Maintain())


@pytest.mark.covers("life.archive_first")
async def test_what_expires_is_archived_first_and_let_go_a_month_later(
    home: Staged, alice: Caller
) -> None:
    ends = home.clock.now().replace(day=10)
    brief = await _wrote(home, alice, "The lift is broken this week", expires_at=ends)
    home.clock.advance(days=10)
    (first,) = await _pass(home)
    assert (first.archived, first.forgotten) == (brief.ids, ())
    home.clock.advance(days=29, hours=23)
    assert (await _pass(home))[0].forgotten == ()
    home.clock.advance(hours=1)
    assert (await _pass(home))[0].forgotten == brief.ids
    async with home.world.ledger.reading() as unit:
        notes = await unit.memories.history("acme", brief.ids[0])
    assert [note.status for note in notes] == ["active", "archived", "forgotten"]


@pytest.mark.covers("life.quota")
async def test_a_full_scope_of_one_s_own_makes_room_by_archiving_the_least_kept(
    tmp_path: Path,
) -> None:
    settings = Settings(lock_wait_s=5.0, memories_per_scope_max=3)
    async with world(tmp_path, settings=settings) as home:
        alice = await home.caller(user="alice")
        kept = [
            (await _wrote(home, alice, f"Key {n} opens door {n}", importance=n / 10)).ids[0]
            for n in (5, 1, 9)
        ]
        fourth = await _wrote(home, alice, "Key 7 opens door 7", importance=0.7)
        assert "archived" in fourth.why
        assert (await _get(home, alice, kept[1])).status == "archived"
        shown = {hit.memory.id for hit in (await _found(home, alice, "key door")).hits}
        assert shown == {kept[0], kept[2], fourth.ids[0]}
        curator = await home.caller(agent="operator")
        for n in range(3):
            await _wrote(home, curator, f"Rule {n} holds for all {n}", scope="agent:planner")
        with pytest.raises(OverQuota):
            await _wrote(home, curator, "Rule 9 holds for all 9", scope="agent:planner")


@pytest.mark.covers("life.quota")
async def test_upkeep_brings_a_scope_within_a_limit_that_was_lowered(tmp_path: Path) -> None:
    async with world(tmp_path / "home") as home:
        alice = await home.caller(user="alice")
        for n in range(6):
            await _wrote(home, alice, f"Key {n} opens door {n}", importance=n / 10)
    settings = Settings(lock_wait_s=5.0, memories_per_scope_max=2)
    async with world(tmp_path / "home", settings=settings) as home:
        (done,) = await _pass(home)
        assert len(done.archived) == 4
        alice = await home.caller(user="alice")
        left = {hit.memory.content for hit in (await _found(home, alice, "key door")).hits}
        assert left == {"Key 4 opens door 4", "Key 5 opens door 5"}


@pytest.mark.covers("life.project")
async def test_closing_a_project_retires_its_memories_where_one_may_forget(
    home: Staged, alice: Caller
) -> None:
    apollo = await _wrote(home, alice, "The rocket burns kerosene", project="apollo")
    other = await _wrote(home, alice, "The rover has six wheels", project="rover")
    bob = await home.caller(user="bob")
    theirs = await _wrote(home, bob, "The rocket is white", project="apollo")
    command = CloseProject.model_validate({"command_id": _id(), "project": "apollo"})
    closed = await archive.close_project(home.world, alice, command)
    assert closed.archived == apollo.ids
    assert closed == await archive.close_project(home.world, alice, command)
    assert (await _get(home, alice, other.ids[0])).status == "active"
    assert (await _get(home, bob, theirs.ids[0])).status == "active"
    assert (await _get(home, alice, apollo.ids[0])).status == "archived"


@pytest.mark.covers("life.archive_first")
async def test_archiving_and_restoring_need_rights_and_a_state_to_change(
    home: Staged, alice: Caller
) -> None:
    kept = await _wrote(home, alice, "The pump needs oil in winter")
    put_away = Archive.model_validate({"command_id": _id(), "memory_id": kept.ids[0]})
    with pytest.raises(NotFound):
        await archive.archive(home.world, await home.caller(user="bob"), put_away)
    bring_back = Restore.model_validate({"command_id": _id(), "memory_id": kept.ids[0]})
    with pytest.raises(RevisionConflict):
        await archive.restore(home.world, alice, bring_back)
    assert (await archive.archive(home.world, alice, put_away)).result == "archived"
    away = Forget.model_validate({"command_id": _id(), "memory_id": kept.ids[0]})
    assert (await forget(home.world, alice, away)).result == "forgotten"


@pytest.mark.covers("life.cold")
async def test_what_waited_when_it_was_put_away_waits_again(home: Staged, alice: Caller) -> None:
    ends = home.clock.now().replace(day=10)
    doubted = await _wrote(home, alice, "The lift may be old", confidence=0.2, expires_at=ends)
    home.clock.advance(days=10)
    await _pass(home)
    back = Restore.model_validate({"command_id": _id(), "memory_id": doubted.ids[0]})
    await archive.restore(home.world, alice, back)
    memory = await _get(home, alice, doubted.ids[0])
    assert (memory.status, memory.expires_at) == ("pending", None)


# Experience as knowledge


@pytest.mark.covers("knowledge.export")
async def test_knowledge_is_what_was_approved_and_what_its_reader_may_read(
    home: Staged,
) -> None:
    planner = await home.caller(agent="planner", user="alice", lifetime_s=LONG)
    scene = {"task_type": "operate", "tools": ("deploy",)}
    fields = {"type": "experience", "scene": scene, "scope": "user:alice"}
    kept = await _wrote(home, planner, "You should roll back before you debug", **fields)
    await _wrote(home, planner, "You should page the owner at once", **fields)
    alice = await home.caller(user="alice")
    assert await knowledge.export(home.world, alice, ExportKnowledge()) == ()
    curator = await home.caller(agent="operator")
    command = Promote.model_validate(
        {"command_id": _id(), "memory_id": kept.ids[0], "scope": "global"}
    )
    promoted = await promote.promote(home.world, curator, command)
    (found,) = await knowledge.export(home.world, alice, ExportKnowledge())
    assert found.lineage.memory_id == promoted.ids[0]
    assert (found.scope, found.task_type, found.lineage.reviewed_by) == (
        "global", "operate", "agent:operator",
    )  # fmt: skip
    assert found.lineage.derived_from == (f"{kept.ids[0]}@1",)
    bob = await home.caller(user="bob")
    (theirs,) = await knowledge.export(home.world, bob, ExportKnowledge())
    assert theirs.lineage.derived_from == ()
    with pytest.raises(AccessDenied):
        await knowledge.export(
            home.world, bob, ExportKnowledge.model_validate({"scope": "user:alice"})
        )
    async with home.world.ledger.reading() as unit:
        entries = await unit.audit.newest("acme", limit=4)
    assert {entry.verb for entry in entries} == {"ExportKnowledge"}
