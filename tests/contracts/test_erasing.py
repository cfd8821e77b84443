"""Erasing a user: a canary in every place that a text of theirs can go, and no byte of it left."""

import shutil
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import hindsight_ray as hr
from hindsight_ray import compose
from hindsight_ray.adapters.erasure_lists import erasure_list
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.erasure import Erased
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import AccessDenied, Busy, NotFound
from hindsight_ray.service.erase import erase_again
from tests.asking import ask
from tests.canaries import PLACES, canary, left, planted
from tests.worlds import TENANT, Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path / "home") as staged:
        yield staged


@pytest.mark.covers("erase.bytes")
async def test_after_an_erasure_no_byte_of_the_users_texts_is_in_any_file(home: Staged) -> None:
    await planted(home)
    there = {mark for hits in left(home.path).values() for mark in hits}
    assert there == {f"zq{place}xv" for place in PLACES}
    proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
    assert left(home.path) == {}
    assert (proof.remains.found, proof.remains.held_elsewhere) == ((), ())
    assert proof.remains.texts >= len(PLACES)
    assert "hindsight.sqlite3" in proof.remains.files
    assert proof.remains.bytes_searched == sum(
        file.stat().st_size for file in home.path.rglob("*") if file.is_file()
    )
    assert {"runs", "events", "recalls", "receipts", "window_lines"} <= set(proof.rows)


@pytest.mark.covers("erase.bytes")
@pytest.mark.parametrize("by", [{"user": "alice"}, {"agent": "planner", "user": "alice"}])
async def test_why_the_user_decided_on_anothers_memory_goes_too(
    home: Staged, by: dict[str, str]
) -> None:
    bob, decider = await home.ticket(user="bob"), await home.ticket(**by)
    for to in ("user:alice", "agent:planner"):
        rights = ("read", "write", "review", "forget")
        await ask(home, bob, c.Share, command_id=to[:4], scope="user:bob", to=to, actions=rights)
    for n, decision in enumerate(("accept", "reject")):
        written = await ask(
            home, bob, c.Write, command_id=f"w{n}", content=f"Tram {n} is late", confidence=0.1
        )
        fields = {"memory_id": written.ids[0], "decision": decision, "why": canary(PLACES[n])}
        await ask(home, decider, c.DecidePending, command_id=f"d{n}", **fields)
    assert left(home.path)
    proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
    assert (left(home.path), proof.remains.found) == ({}, ())


@pytest.mark.covers("erase.bytes")
async def test_tags_that_the_user_gave_anothers_memory_go_too_and_others_stay(
    home: Staged,
) -> None:
    bob, tagger = await home.ticket(user="bob"), await home.ticket(user="alice")
    given = {"to": "user:alice", "actions": ("read", "write", "review")}
    await ask(home, bob, c.Share, command_id="s", scope="user:bob", **given)
    tagged = (await ask(home, bob, c.Write, command_id="w1", content="The tram is late")).ids[0]
    weighed = (await ask(home, bob, c.Write, command_id="w2", content="Boats leave at six")).ids[0]
    mark = canary(PLACES[0])
    await ask(home, tagger, c.Update, command_id="u1", memory_id=tagged, tags=(mark,))
    await ask(home, tagger, c.Update, command_id="u2", memory_id=weighed, importance=0.9)
    assert left(home.path)
    proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
    assert (left(home.path), proof.remains.found) == ({}, ())
    assert (await ask(home, bob, c.Get, memory_id=weighed)).content == "Boats leave at six"


@pytest.mark.covers("erase.derived")
async def test_erasing_a_source_retracts_what_was_promoted_and_learned_from_it(
    home: Staged,
) -> None:
    ids = await planted(home)
    curator, bob = await home.ticket(agent="curator"), await home.ticket(agent="b", user="bob")
    assert (await ask(home, bob, c.Get, memory_id=ids["promoted"])).content == canary("widened")
    proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
    assert ids["promoted"] in proof.retracted
    assert {ids["own"], ids["acted"]} <= set(proof.memories)
    for name in ("own", "acted", "promoted"):
        with pytest.raises(NotFound):
            await ask(home, curator, c.Get, memory_id=ids[name])
    assert not (await ask(home, bob, c.Search, query=canary("widened"))).hits


@pytest.mark.covers("erase.derived")
async def test_what_somebody_else_had_said_first_goes_back_to_that(home: Staged) -> None:
    operator, curator = await home.operator(), await home.ticket(agent="curator")
    alice = await home.ticket(user="alice")
    said = await ask(home, operator, c.Write, content="Restart the queue first", scope="global")
    same = await ask(home, alice, c.Write, content="Restart the queue first")
    again = await ask(home, curator, c.Promote, memory_id=same.ids[0], scope="global")
    assert again.ids == said.ids
    proof: Erased = await ask(home, operator, c.Erase, user="alice")
    assert proof.rederived == said.ids
    kept = await ask(home, await home.ticket(agent="x"), c.Get, memory_id=said.ids[0])
    assert (kept.content, kept.derived_from) == ("Restart the queue first", ())
    assert kept.source.reviewed_by is None
    assert "memories" in proof.remains.held_elsewhere  # the operator's own words, still there


@pytest.mark.covers("erase.others")
async def test_what_others_said_stays_and_other_tenants_are_untouched(home: Staged) -> None:
    await planted(home)
    bob = await home.ticket(user="bob")
    elsewhere = await home.ticket(user="alice", tenant="globex")
    kept = await ask(home, bob, c.Write, content="Bob likes short mails")
    there = await ask(home, elsewhere, c.Write, content="Alice of globex likes tea")
    await ask(home, await home.operator(), c.Erase, user="alice")
    assert (await ask(home, bob, c.Get, memory_id=kept.ids[0])).content == "Bob likes short mails"
    assert (await ask(home, elsewhere, c.Get, memory_id=there.ids[0])).revision == 1
    found = await ask(home, bob, c.Search, query="short mails")
    assert [hit.memory.id for hit in found.hits] == [kept.ids[0]]


@pytest.mark.covers("erase.audit")
async def test_the_audit_keeps_ids_and_stays_whole(home: Staged) -> None:
    ids = await planted(home)
    operator = await home.operator()
    await ask(home, operator, c.Erase, user="alice")
    audit = await ask(home, operator, c.ReadAudit, limit=1_000)
    assert {"Erase"} <= {entry.verb for entry in audit}
    assert ids["own"] in {entry.object for entry in audit}
    assert (await ask(home, operator, c.VerifyAudit)).sound


@pytest.mark.covers("erase.rights")
async def test_an_erasure_that_was_refused_is_not_carried_out_later(tmp_path: Path) -> None:
    impatient = Settings(lock_wait_s=0.05)
    async with world(tmp_path / "home", settings=impatient) as home:
        token = await home.ticket(agent="planner", user="alice")
        operator = await home.operator()
        async with home.world.ledger.writing():
            with pytest.raises(Busy):
                await ask(home, operator, c.Erase, user="alice")
        kept = await ask(home, token, c.Write, command_id="w", content="Alice moved to Lima")
        assert await erase_again(home.world) == 0
        assert (await ask(home, token, c.Get, memory_id=kept.ids[0])).content
        assert not erasure_list(home.path).exists()


@pytest.mark.covers("erase.rights")
async def test_only_who_administers_erases(home: Staged) -> None:
    for token in (await home.ticket(user="alice"), await home.ticket(agent="curator")):
        with pytest.raises(AccessDenied):
            await ask(home, token, c.Erase, user="alice")
    assert not erasure_list(home.path).exists()


@pytest.mark.covers("erase.restore")
async def test_a_backup_that_is_restored_is_erased_again_when_it_is_opened(
    tmp_path: Path,
) -> None:
    folder, backup = tmp_path / "home", tmp_path / "backup"
    async with world(folder) as home:
        await planted(home)
    shutil.copytree(folder, backup)
    async with world(folder, policy=None) as home:
        await ask(home, await home.operator(), c.Erase, user="alice")
    shutil.rmtree(folder)
    shutil.copytree(backup, folder)
    assert left(folder)
    async with world(folder, policy=None) as home:
        assert await erase_again(home.world) == 1
        assert await erase_again(home.world) == 0
        assert left(folder) == {}


@pytest.mark.covers("erase.restore")
@pytest.mark.parametrize("name", ["renamed", "moved/home", "moved/renamed"])
async def test_a_copy_under_another_name_finds_the_list_of_the_home_that_it_is_of(
    tmp_path: Path, name: str
) -> None:
    folder, copy, further = tmp_path / "home", tmp_path / name, tmp_path / "further"
    async with world(folder) as home:
        await planted(home)
        assert await erase_again(home.world) == 0  # as every opening does
    copy.parent.mkdir(exist_ok=True)
    shutil.copytree(folder, copy)
    async with world(copy, policy=None) as home:
        assert await erase_again(home.world) == 0
    shutil.copytree(copy, further)
    async with world(folder, policy=None) as home:
        await ask(home, await home.operator(), c.Erase, user="alice")
    assert left(copy)
    for opened in (copy, further):  # a copy of a copy too
        async with world(opened, policy=None) as home:
            assert await erase_again(home.world) == 1
            assert await erase_again(home.world) == 0
        assert left(opened) == {}


@pytest.mark.covers("erase.restore")
async def test_what_is_erased_in_a_copy_stays_in_the_home_that_it_is_of(tmp_path: Path) -> None:
    folder, copy = tmp_path / "home", tmp_path / "copy"
    async with world(folder) as home:
        await planted(home)
        await erase_again(home.world)
    shutil.copytree(folder, copy)
    async with world(copy, policy=None) as home:
        await erase_again(home.world)
        await ask(home, await home.operator(), c.Erase, user="alice")
    async with world(folder, policy=None) as home:
        assert await erase_again(home.world) == 0
    assert left(folder)


@pytest.mark.covers("erase.restore")
async def test_the_list_of_another_memory_at_the_same_place_erases_nothing(tmp_path: Path) -> None:
    folder, copy = tmp_path / "home", tmp_path / "copy"
    async with world(folder) as home:
        await planted(home)
        await erase_again(home.world)
    shutil.move(folder, copy)
    async with world(folder) as home:  # a new memory, whose alice asks to be erased
        await ask(home, await home.operator(), c.Erase, user="alice")
    async with world(copy, policy=None) as home:
        assert await erase_again(home.world) == 0
    assert left(copy)


@pytest.mark.covers("erase.restore")
async def test_a_backup_put_back_elsewhere_is_erased_again(tmp_path: Path) -> None:
    home, backup, other = tmp_path / "home", tmp_path / "kept" / "copy", tmp_path / "x" / "new"
    async with hr.open(home, embedding="hashed") as hindsight:
        alice = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", user="alice"))
        await alice.write("Alice keeps the lighthouse key", type="fact")
    backup.parent.mkdir()
    await compose.backup(home, backup)
    async with hr.open(home) as hindsight:
        operator = await hindsight.issue_ticket(tenant="acme", agent="operator")
        await hindsight.as_caller(operator).erase("alice")
    other.parent.mkdir()
    await compose.restore(backup, other)
    assert b"lighthouse" not in b"".join(
        file.read_bytes() for file in other.rglob("*") if file.is_file()
    )


@pytest.mark.covers("erase.audit")
async def test_no_entry_of_the_audit_tells_what_a_text_said(tmp_path: Path) -> None:
    """It holds no digest of a text that could be tried against guesses.

    Ids that others chose or made at random are the same whatever is said. A lesson's id comes of
    its run's events, whose ids are random and go with the run: that is the key, and it is gone.
    """
    first, other, again = [
        await _audited(tmp_path / name, word, skipped)
        for name, word, skipped in (
            ("one", "lighthouse", 0), ("other", "saffron", 0), ("again", "lighthouse", 1),
        )
    ]  # fmt: skip
    assert len(first) > 20
    assert _lessons(first).isdisjoint(_lessons(again))  # the same words, other event ids
    assert _nameless(first) == _nameless(other)


async def _audited(folder: Path, word: str, skipped: int) -> Sequence[AuditEntry]:
    async with world(folder) as home:
        for _ in range(skipped):
            home.world.ids.event_id()
        await planted(home, word)
        await ask(home, await home.operator(), c.Erase, user="alice")
        async with home.world.ledger.reading() as unit:
            chained = await unit.audit.chain(TENANT, "home", after=(0, 0), limit=10_000)
    return [one.entry for one in chained]


def _lessons(entries: Sequence[AuditEntry]) -> set[str]:
    return {entry.object for entry in entries if entry.verb == "review"}


def _nameless(entries: Sequence[AuditEntry]) -> list[str]:
    lessons = _lessons(entries)
    named = (replace(one, object="") if one.object in lessons else one for one in entries)
    return sorted(map(repr, named))


@pytest.mark.covers("erase.bytes")
async def test_an_erased_command_that_is_sent_again_brings_nothing_back(home: Staged) -> None:
    alice = await home.ticket(user="alice")
    command = build(c.Write, {"command_id": "w1", "content": canary("content")})
    await home.ask(alice, command)
    await ask(home, await home.operator(), c.Erase, user="alice")
    with pytest.raises(Exception, match="cannot follow"):
        await home.ask(alice, command)
    assert left(home.path) == {}


@pytest.mark.covers("erase.bytes")
async def test_receipts_of_an_agent_go_for_the_user_it_acted_for_and_stay_for_another(
    home: Staged,
) -> None:
    said: dict[str, str] = {}
    for user in ("alice", "bob", "xalice"):
        token = await home.ticket(agent="planner", user=user)
        wrote = await ask(
            home, token, c.Write, content=f"Rule {user}", scope="agent:planner", command_id="c1"
        )
        said[user] = wrote.ids[0]
        await ask(home, token, c.Forget, memory_id=wrote.ids[0], command_id="f1")
    proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
    assert proof.rows["receipts"] == 2
    assert (proof.remains.found, proof.remains.held_elsewhere) == ((), ())
    async with home.world.ledger.reading() as unit:
        for user in said:
            kept = await unit.commands.get("acme", f"agent:planner user:{user}", "c1")
            assert (kept is None) == (user == "alice")
