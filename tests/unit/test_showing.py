"""Whatever verb shows a text within a run, what is written afterwards carries its readers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.chat import FailedReview
from hindsight_ray.domain.commands import Command
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.service import door
from hindsight_ray.service.admit import admit
from hindsight_ray.service.commit import author, put
from tests.unit.test_reviewing import Team, stumble
from tests.worlds import Staged, world


def asked(kind: type[Command], **fields: object) -> Command:
    return kind.model_validate(fields)


class Bobs:
    """What bob has shared with the planner: a run that ended, one that is open, and memories."""

    def __init__(self, home: Staged) -> None:
        self.home = home
        self.run = self.opened = self.memory = ""
        self.credit: Attribution

    @classmethod
    async def shared(cls, home: Staged) -> "Bobs":
        bobs = cls(home)
        bob = await home.caller(user="bob")
        await bobs.say(bob, asked(c.Share,
            command_id="share", scope="user:bob", to="agent:planner",
            actions=("read", "write", "review"),
        ))  # fmt: skip
        wrote = await bobs.say(bob, asked(c.Write,
            command_id="w", content="The code word of bob is heron", type="procedure",
            topic="code word", labels=("private",),
        ))  # fmt: skip
        bobs.memory = wrote.ids[0]
        await bobs._run(bob)
        (vector,) = await home.world.embedder.embed(["The code word of bob is heron"], "passage")
        async with home.world.ledger.writing() as unit:
            (memory,) = (await unit.memories.current("acme", [bobs.memory])).values()
            admitted = await admit(home.world, unit, bob)
            source = {"reviewed_by": "user:bob", "run": bobs.run}
            accepted = memory.model_copy(update={
                "source": memory.source.model_copy(update=source), "revision": 2,
            })  # fmt: skip
            by = author(admitted, "DecidePending", "review", memory.scope)
            await put(unit, accepted, None, by, "accepted")
            waits = memory.model_copy(update={
                "id": "5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a71", "status": "pending", "labels": (),
            })  # fmt: skip
            await put(unit, waits, vector, by, "waits")
            failed = {
                "run_id": bobs.run,
                "digest": "d",
                "kind": "full",
                "failure": "refusal",
                "prompt": "review",
            }
            await unit.asking.put_failed(
                "acme",
                FailedReview.model_validate(failed | {"why": "heron", "at": home.clock.now()}),
            )
        return bobs

    async def _run(self, bob: Caller) -> None:
        opened = await Team.start(self.home, "helper", user="bob")
        self.opened = opened.run.run_id
        team = await Team.start(self.home, "executor", user="bob")
        await self.say(team.members["executor"], asked(c.Get, memory_id=self.memory))
        stumble(team.story, agent="executor")
        team.story.decide("tell", "The code word is heron", agent="executor")
        await team.end()
        self.run = team.run.run_id
        evaluator = await self.home.caller(agent="evaluator")
        await self.say(evaluator, asked(c.AssertOutcome, run_id=self.run, value=-1.0))
        self.credit = await self.say(bob, asked(c.Attribute, run_id=self.run))

    async def say(self, caller: Caller, command: Command) -> Any:
        return await door.VERBS[type(command)](self.home.world, caller, command)


# Each verb that can show the text of a run or a memory that is somebody else's, asked for bob's.
SHOWING: dict[str, Callable[[Bobs], Command]] = {
    "ReadRun": lambda its: asked(c.ReadRun, run_id=its.run),
    "ListRuns": lambda its: asked(c.ListRuns),
    "JoinRun": lambda its: asked(c.JoinRun, run_id=its.opened),
    "Search": lambda its: asked(c.Search, query="code word of bob"),
    "SearchMany": lambda its: asked(
        c.SearchMany, searches=(asked(c.Search, query="code word of bob"),)
    ),
    "Get": lambda its: asked(c.Get, memory_id=its.memory),
    "History": lambda its: asked(c.History, memory_id=its.memory),
    "ReviewRun": lambda its: asked(c.ReviewRun, run_id=its.run),
    "RetryReviews": lambda its: asked(c.RetryReviews, list_only=True),
    "Attribute": lambda its: asked(c.Attribute, run_id=its.run),
    "Attribute by blame": lambda its: asked(c.Attribute, run_id=its.run, method="blame"),
    "Attribute by spectrum": lambda its: asked(c.Attribute, run_id=its.run, method="spectrum"),
    "Attribute by judge": lambda its: asked(c.Attribute, run_id=its.run, method="judge"),
    "ReadForReplay": lambda its: asked(c.ReadForReplay, run_id=its.run),
    "SubmitCredits": lambda its: asked(c.SubmitCredits, run_id=its.run, attribution=its.credit),
    "ReadCredits": lambda its: asked(c.ReadCredits, run_id=its.run),
    "Explain": lambda its: asked(c.Explain, memory_id=its.memory),
    "ListPending": lambda its: asked(c.ListPending, scope="user:bob"),
    "DrawSample": lambda its: asked(c.DrawSample, scope="user:bob"),
    "ExportKnowledge": lambda its: asked(c.ExportKnowledge, scope="user:bob"),
}

# Receipts, numbers, names of scopes and rules, entries of the audit, and what is the caller's own.
WITHOUT_TEXT = frozenset({
    c.StartRun, c.CloseRun, c.RecordEvents, c.AssertOutcome, c.SetWorking, c.GetWorking, c.Note,
    c.Window, c.Write, c.Update, c.Forget, c.Promote, c.Share, c.Revoke, c.ReadSpending, c.Why,
    c.WhoSees, c.Sees, c.WhoAmI, c.IssueTicket, c.RevokeTicket, c.DropTenant, c.LoadPolicy,
    c.ImportRuns, c.SetPrivacy, c.Erase, c.ReadAudit, c.ReadSeal, c.VerifyAudit, c.DecidePending,
    c.JudgeSample, c.ReadSamples, c.Maintain, c.ReadTiers, c.Archive, c.Restore, c.CloseProject,
    c.Reembed, c.Calibrate, c.ListTenants, c.ReadPolicy,
})  # fmt: skip


async def _written_after(home: Staged, bobs: Bobs, command: Command | None) -> tuple[str, ...]:
    """The audience of what the planner writes for alice after this command, within a run."""
    planner = await home.caller(agent="planner", user="alice", session="s1")
    await bobs.say(planner, asked(c.StartRun, command_id="start", goal="Help alice"))
    if command is not None:
        await bobs.say(planner, command)
    said = "Alice likes grey birds"
    await bobs.say(planner, asked(c.Write, command_id="after", content=said))
    rows = RowFilter(tenant="acme", now=home.clock.now(), keys=None)
    async with home.world.ledger.reading() as unit:
        found = await unit.memories.recent(rows, limit=100)
    (written,) = [memory for memory in found if memory.content == said]
    return tuple(written.audience)


@pytest.mark.covers("G1.offered")
@pytest.mark.parametrize("name", SHOWING)
async def test_what_is_written_after_a_verb_showed_a_text_carries_its_readers(
    tmp_path: Path, name: str
) -> None:
    async with world(tmp_path / "home") as home:
        bobs = await Bobs.shared(home)
        audience = await _written_after(home, bobs, SHOWING[name](bobs))
    assert audience == ("user:alice", "user:bob")


async def test_what_is_written_in_a_run_that_was_shown_nothing_is_its_users(tmp_path: Path) -> None:
    async with world(tmp_path / "home") as home:
        bobs = await Bobs.shared(home)
        assert await _written_after(home, bobs, None) == ("user:alice",)


async def test_reading_ones_own_run_asks_no_more_of_readers_than_the_run_does(
    tmp_path: Path,
) -> None:
    async with world(tmp_path / "home") as home:
        bobs = await Bobs.shared(home)
        planner = await home.caller(agent="planner", user="alice", session="s1")
        run = await bobs.say(planner, asked(c.StartRun, command_id="start", goal="Help alice"))
        audience = await _written_after(home, bobs, asked(c.ReadRun, run_id=run.run_id))
    assert audience == ("user:alice",)


def test_every_verb_shows_a_text_and_is_in_the_table_or_shows_none() -> None:
    showing = {getattr(c, name.split(" ")[0]) for name in SHOWING}
    assert showing.isdisjoint(WITHOUT_TEXT)
    assert showing | WITHOUT_TEXT == set(door.VERBS)
