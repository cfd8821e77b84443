"""Erasing a user: a canary in every place that a text of theirs can go, and no byte of it left."""

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hindsight_ray.adapters.erasing import erasure_list
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.erasure import Erased
from hindsight_ray.errors import AccessDenied, NotFound
from hindsight_ray.service.erase import erase_again
from tests.worlds import Staged, world

PLACES = (
    "content", "edited", "forgotten", "steps", "tags", "topic", "intent", "acted", "widened",
    "goal", "runintent", "summary", "errortext", "errortype", "snapshot", "working", "window",
    "query", "evaluator", "project", "quoted",
)  # fmt: skip


def canary(place: str) -> str:
    return f'zq{place}xv canary Ω"{place}" of alice'


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path / "home") as staged:
        yield staged


async def _ask(home: Staged, token: str, kind: type[c.Command], **fields: Any) -> Any:
    if "command_id" in kind.model_fields:
        fields.setdefault("command_id", uuid4().hex)
    return await home.ask(token, build(kind, fields))


async def _planted(home: Staged) -> dict[str, str]:
    """Alice's texts in every place; the ids of some of her memories."""
    alice = await home.ticket(user="alice", session="s1")
    planner = await home.ticket(agent="planner", user="alice", session="s1")
    curator = await home.ticket(agent="curator")
    ids: dict[str, str] = {}
    wrote = await _ask(
        home, alice, c.Write, content=canary("content"), type="procedure", topic=canary("topic"),
        steps=(canary("steps"),), tags=(canary("tags"),), project=canary("project"),
    )  # fmt: skip
    ids["own"] = wrote.ids[0]
    edited = await _ask(home, alice, c.Write, content=canary("edited"))
    await _ask(home, alice, c.Update, memory_id=edited.ids[0], content="Something else by now")
    forgotten = await _ask(home, alice, c.Write, content=canary("forgotten"))
    await _ask(home, alice, c.Forget, memory_id=forgotten.ids[0])
    scene = {"task_type": "launch", "intent": canary("intent")}
    acted = await _ask(
        home, planner, c.Write, content=canary("acted"), scope="agent:planner",
        type="experience", scene=scene,
    )  # fmt: skip
    ids["acted"] = acted.ids[0]
    widened = await _ask(home, alice, c.Write, content=canary("widened"))
    promoted = await _ask(home, curator, c.Promote, memory_id=widened.ids[0], scope="global")
    ids["promoted"] = promoted.ids[0]
    run = await _ask(home, planner, c.StartRun, goal=canary("goal"), intent=canary("runintent"))
    ids["run"] = run.run_id
    tool = {
        "name": "deploy", "status": "error", "error_text": canary("errortext"),
        "error_type": canary("errortype"),
    }  # fmt: skip
    event = {
        "event_id": home.world.ids.event_id(), "run_id": run.run_id, "agent": "planner",
        "incarnation": "i", "seq": 0, "timestamp": home.clock.now(), "kind": "tool",
        "summary": canary("summary"), "tool": tool,
        "snapshot": {"last_user_input": canary("snapshot")},
    }  # fmt: skip
    await _ask(home, planner, c.RecordEvents, run_id=run.run_id, events=(event,))
    state = {"goal": "g", "state": {"note": canary("working")}}
    await _ask(home, planner, c.SetWorking, run_id=run.run_id, state=state)
    await _ask(home, planner, c.Note, text=canary("window"))
    await _ask(home, planner, c.AssertOutcome, run_id=run.run_id, value=0.5,
               evaluator=canary("evaluator"))  # fmt: skip
    await _ask(home, planner, c.Search, query=canary("query"))
    await _ask(home, planner, c.ReviewRun, run_id=run.run_id)
    await _ask(home, alice, c.Write, content=canary("quoted"), type="preference")
    await home.jobs.finish()
    return ids


def _left(folder: Path) -> dict[str, list[str]]:
    """Which canaries are in which files, searched plainly."""
    marks = [f"zq{place}xv".encode() for place in PLACES]
    found: dict[str, list[str]] = {}
    for file in folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            hits = [mark.decode() for mark in marks if mark in data]
            if hits:
                found[str(file.relative_to(folder))] = hits
    return found


@pytest.mark.covers("erase.bytes")
async def test_after_an_erasure_no_byte_of_the_users_texts_is_in_any_file(home: Staged) -> None:
    await _planted(home)
    planted = {mark for hits in _left(home.path).values() for mark in hits}
    assert planted == {f"zq{place}xv" for place in PLACES}
    proof: Erased = await _ask(home, await home.operator(), c.Erase, user="alice")
    assert _left(home.path) == {}
    assert (proof.remains.found, proof.remains.held_elsewhere) == ((), ())
    assert proof.remains.texts >= len(PLACES)
    assert "hindsight.sqlite3" in proof.remains.files
    assert proof.remains.bytes_searched == sum(
        file.stat().st_size for file in home.path.rglob("*") if file.is_file()
    )
    assert {"runs", "events", "recalls", "receipts", "window_lines"} <= set(proof.rows)


@pytest.mark.covers("erase.derived")
async def test_erasing_a_source_retracts_what_was_promoted_and_learned_from_it(
    home: Staged,
) -> None:
    ids = await _planted(home)
    curator, bob = await home.ticket(agent="curator"), await home.ticket(agent="b", user="bob")
    assert (await _ask(home, bob, c.Get, memory_id=ids["promoted"])).content == canary("widened")
    proof: Erased = await _ask(home, await home.operator(), c.Erase, user="alice")
    assert ids["promoted"] in proof.retracted
    assert {ids["own"], ids["acted"]} <= set(proof.memories)
    for name in ("own", "acted", "promoted"):
        with pytest.raises(NotFound):
            await _ask(home, curator, c.Get, memory_id=ids[name])
    assert not (await _ask(home, bob, c.Search, query=canary("widened"))).hits


@pytest.mark.covers("erase.derived")
async def test_what_somebody_else_had_said_first_goes_back_to_that(home: Staged) -> None:
    operator, curator = await home.operator(), await home.ticket(agent="curator")
    alice = await home.ticket(user="alice")
    said = await _ask(home, operator, c.Write, content="Restart the queue first", scope="global")
    same = await _ask(home, alice, c.Write, content="Restart the queue first")
    again = await _ask(home, curator, c.Promote, memory_id=same.ids[0], scope="global")
    assert again.ids == said.ids
    proof: Erased = await _ask(home, operator, c.Erase, user="alice")
    assert proof.rederived == said.ids
    kept = await _ask(home, await home.ticket(agent="x"), c.Get, memory_id=said.ids[0])
    assert (kept.content, kept.derived_from) == ("Restart the queue first", ())
    assert kept.source.reviewed_by is None
    assert "memories" in proof.remains.held_elsewhere  # the operator's own words, still there


@pytest.mark.covers("erase.others")
async def test_what_others_said_stays_and_other_tenants_are_untouched(home: Staged) -> None:
    await _planted(home)
    bob = await home.ticket(user="bob")
    elsewhere = await home.ticket(user="alice", tenant="globex")
    kept = await _ask(home, bob, c.Write, content="Bob likes short mails")
    there = await _ask(home, elsewhere, c.Write, content="Alice of globex likes tea")
    await _ask(home, await home.operator(), c.Erase, user="alice")
    assert (await _ask(home, bob, c.Get, memory_id=kept.ids[0])).content == "Bob likes short mails"
    assert (await _ask(home, elsewhere, c.Get, memory_id=there.ids[0])).revision == 1
    found = await _ask(home, bob, c.Search, query="short mails")
    assert [hit.memory.id for hit in found.hits] == [kept.ids[0]]


@pytest.mark.covers("erase.audit")
async def test_the_audit_keeps_ids_and_stays_whole(home: Staged) -> None:
    ids = await _planted(home)
    operator = await home.operator()
    await _ask(home, operator, c.Erase, user="alice")
    audit = await _ask(home, operator, c.ReadAudit, limit=1_000)
    assert {"Erase"} <= {entry.verb for entry in audit}
    assert ids["own"] in {entry.object for entry in audit}
    assert (await _ask(home, operator, c.VerifyAudit)).sound


@pytest.mark.covers("erase.rights")
async def test_only_who_administers_erases(home: Staged) -> None:
    for token in (await home.ticket(user="alice"), await home.ticket(agent="curator")):
        with pytest.raises(AccessDenied):
            await _ask(home, token, c.Erase, user="alice")
    assert not erasure_list(home.path).exists()


@pytest.mark.covers("erase.restore")
async def test_a_backup_that_is_restored_is_erased_again_when_it_is_opened(
    tmp_path: Path,
) -> None:
    folder, backup = tmp_path / "home", tmp_path / "backup"
    async with world(folder) as home:
        await _planted(home)
    shutil.copytree(folder, backup)
    async with world(folder, policy=None) as home:
        await _ask(home, await home.operator(), c.Erase, user="alice")
    shutil.rmtree(folder)
    shutil.copytree(backup, folder)
    assert _left(folder)
    async with world(folder, policy=None) as home:
        assert await erase_again(home.world) == 1
        assert await erase_again(home.world) == 0
        assert _left(folder) == {}


@pytest.mark.covers("erase.bytes")
async def test_an_erased_command_that_is_sent_again_brings_nothing_back(home: Staged) -> None:
    alice = await home.ticket(user="alice")
    command = build(c.Write, {"command_id": "w1", "content": canary("content")})
    await home.ask(alice, command)
    await _ask(home, await home.operator(), c.Erase, user="alice")
    with pytest.raises(Exception, match="cannot follow"):
        await home.ask(alice, command)
    assert _left(home.path) == {}


@pytest.mark.covers("erase.bytes")
async def test_receipts_of_an_agent_go_for_the_user_it_acted_for_and_stay_for_another(
    home: Staged,
) -> None:
    said: dict[str, str] = {}
    for user in ("alice", "bob", "xalice"):
        token = await home.ticket(agent="planner", user=user)
        wrote = await _ask(
            home, token, c.Write, content=f"Rule {user}", scope="agent:planner", command_id="c1"
        )
        said[user] = wrote.ids[0]
        await _ask(home, token, c.Forget, memory_id=wrote.ids[0], command_id="f1")
    proof: Erased = await _ask(home, await home.operator(), c.Erase, user="alice")
    assert proof.rows["receipts"] == 2
    assert (proof.remains.found, proof.remains.held_elsewhere) == ((), ())
    async with home.world.ledger.reading() as unit:
        for user in said:
            kept = await unit.commands.get("acme", f"agent:planner user:{user}", "c1")
            assert (kept is None) == (user == "alice")
