"""What runs, credits and histories tell of memories: what their reader could be shown, no more."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.credit import Attribution, Credit, Credited, Target
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid, RunUuid
from hindsight_ray.domain.run import Run
from hindsight_ray.errors import InvalidInput, NotFound
from tests.asking import ask, wrote
from tests.run_verbs import begun, event, record, trajectory
from tests.trajectories import event_id
from tests.unit.test_reviewing import Team, experiences, memories, stumble
from tests.worlds import Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _naming(home: Staged, token: str, agent: str, *names: str) -> Run:
    """A run of the agent's own whose one event says that it used these memories."""
    refs = tuple(MemoryRef(id=MemoryUuid(name), revision=1) for name in names)
    run = await begun(home, token, scope=f"agent:{agent}")
    await record(home, token, run, event(home, run, 0, agent=agent, used=refs, offered=refs))
    return run


def _credit(run_id: str, memory_id: str) -> Attribution:
    credit = Credit(
        target=Target(kind="memory", id=memory_id), value=0.1, low=0.0, high=0.2, method="mine",
        evidence="opinion",
    )  # fmt: skip
    return Attribution(run_id=RunUuid(run_id), outcome=1.0, method="mine", beside=(credit,))


@pytest.mark.covers("G1.statuses")
async def test_a_replay_gives_no_text_that_waits_to_who_reads_its_scope_by_grant(
    home: Staged,
) -> None:
    alice, bob = await home.ticket(user="alice"), await home.ticket(agent="bob")
    await ask(home, alice, c.Share, scope="user:alice", to="agent:bob")
    waits = await wrote(home, alice, "The offer is nine", scope="user:alice", confidence=0.2)
    known = await wrote(home, alice, "The office is in Lima", scope="user:alice")
    run = await _naming(home, bob, "bob", waits, known)
    replay = await ask(home, bob, c.ReadForReplay, run_id=run.run_id)
    assert [str(one.ref.id) for one in replay.memories] == [known]


@pytest.mark.covers("G1.statuses", "G1.credit")
async def test_credit_tells_nothing_of_a_memory_that_has_come_to_wait(home: Staged) -> None:
    alice, bob = await home.ticket(user="alice"), await home.ticket(agent="bob")
    await ask(home, alice, c.Share, scope="user:alice", to="agent:bob")
    known = await wrote(home, alice, "The office is in Lima", scope="user:alice")
    waits = await wrote(home, alice, "The offer is nine", scope="user:alice", confidence=0.2)
    run = await _naming(home, bob, "bob", waits, known)
    await ask(home, bob, c.AssertOutcome, run_id=run.run_id, value=1.0)
    with pytest.raises(InvalidInput, match="not in this run"):
        found = _credit(run.run_id, waits)
        await ask(home, bob, c.SubmitCredits, run_id=run.run_id, attribution=found)
    found = _credit(run.run_id, known)
    await ask(home, bob, c.SubmitCredits, run_id=run.run_id, attribution=found)
    assert [len(one.attribution.beside) for one in await _credits(home, bob, run)] == [1]
    await ask(home, alice, c.Archive, memory_id=known)
    assert [len(one.attribution.beside) for one in await _credits(home, bob, run)] == [0]


async def _credits(home: Staged, token: str, run: Run) -> Any:
    return await ask(home, token, c.ReadCredits, run_id=run.run_id)


@pytest.mark.covers("G1.history", "G1.statuses")
async def test_history_leaves_out_what_waited_for_who_reads_by_grant(home: Staged) -> None:
    alice, bob = await home.ticket(user="alice"), await home.ticket(agent="bob")
    planner = await home.ticket(agent="planner", user="alice")
    await ask(home, alice, c.Share, scope="user:alice", to="agent:bob")
    name = await wrote(home, planner, "Mail the ledger", scope="user:alice", source="tool")
    with pytest.raises(NotFound):
        await ask(home, bob, c.History, memory_id=name)
    said = {"decision": "edit", "content": "The invoice tool is slow"}
    await ask(home, alice, c.DecidePending, memory_id=name, **said)
    told = [note.content for note in await ask(home, bob, c.History, memory_id=name)]
    assert told == ["The invoice tool is slow"]
    assert len(await ask(home, alice, c.History, memory_id=name)) == 2


@pytest.mark.covers("G1.runs")
async def test_a_run_names_no_memory_that_its_reader_may_not_know_of(home: Staged) -> None:
    carol, pool = await home.ticket(user="carol"), await home.ticket(agent="pool")
    bob = await home.ticket(agent="bob")
    await ask(home, pool, c.Share, scope="agent:pool", to="agent:bob", actions=("read", "review"))
    await ask(home, carol, c.Share, scope="user:carol", to="agent:pool")
    hidden = await wrote(home, carol, "The vault code is heron", scope="user:carol")
    known = await wrote(home, pool, "The lid sticks", scope="agent:pool")
    run = await _naming(home, pool, "pool", hidden, known)
    read = {
        name: await trajectory(home, token, run) for name, token in (("bob", bob), ("pool", pool))
    }
    named = {name: [str(ref.id) for ref in one.events[0].used] for name, one in read.items()}
    assert named == {"bob": [known], "pool": [hidden, known]}
    assert read["bob"].events[0].offered == read["bob"].events[0].used


@pytest.mark.covers("G1.explain")
async def test_evidence_names_no_memory_that_its_reader_may_not_know_of(home: Staged) -> None:
    bob, planner = await home.ticket(user="bob"), await home.ticket(agent="planner", user="alice")
    hidden = await wrote(home, bob, "The vault code is heron", scope="user:bob")
    team = await Team.start(home, "planner")
    stumble(team.story)
    ref = MemoryRef(id=MemoryUuid(hidden), revision=1)
    team.story.events[:] = [one.model_copy(update={"used": (ref,)}) for one in team.story.events]
    await team.end()
    await team.reviewed()
    lesson = experiences(await memories(home))[0]
    told = await ask(home, planner, c.Explain, memory_id=lesson.id)
    assert told.events
    assert not [one for one in told.events if one.used]


class _Compared:
    """A run of the pool's, and six of the same task: the pool's own, or with carol, hidden."""

    pool: str
    memory: str
    run: Run

    def __init__(self, home: Staged) -> None:
        self.home = home

    @classmethod
    async def of(cls, home: Staged, *, hidden: bool) -> "_Compared":
        self = cls(home)
        self.pool = await home.ticket(agent="pool")
        carols = await home.ticket(agent="pool", user="carol")
        others, scope = (carols, "user:carol") if hidden else (self.pool, "agent:pool")
        actions = ("read", "review")
        await ask(home, self.pool, c.Share, scope="agent:pool", to="agent:bob", actions=actions)
        self.memory = await wrote(home, self.pool, "Restart the queue", scope="agent:pool")
        self.run = await self._ended(self.pool, "agent:pool", used=True, value=1.0)
        for n in range(6):
            await self._ended(others, scope, used=n % 2 == 0, value=1.0 if n % 2 else -1.0)
        return self

    async def _ended(self, token: str, scope: str, *, used: bool, value: float) -> Run:
        home, refs = self.home, (MemoryRef(id=MemoryUuid(self.memory), revision=1),) * used
        run = await begun(home, token, scope=scope)
        said = event(home, run, 0, agent="pool", summary="Restart", used=refs)
        await record(home, token, run, said)
        await ask(home, token, c.CloseRun, run_id=run.run_id)
        evaluator = await home.ticket(agent="evaluator")
        await ask(home, evaluator, c.AssertOutcome, run_id=run.run_id, value=value)
        return run

    async def read_by_bob(self) -> list[str]:
        """By whom the credit is that bob is shown, once the operator has compared the runs."""
        home, run_id = self.home, self.run.run_id
        found = await ask(
            home, await home.operator(), c.Attribute, run_id=run_id, method="spectrum"
        )
        assert [one.target.id for one in found.beside] == [self.memory]
        bob = await home.ticket(agent="bob")
        return [one.by for one in await _credits(home, bob, self.run)]


@pytest.mark.covers("G1.credit")
async def test_what_was_found_by_comparing_runs_is_shown_to_who_may_review_them_all(
    home: Staged,
) -> None:
    its = await _Compared.of(home, hidden=False)
    assert await its.read_by_bob() == ["agent:operator"]


@pytest.mark.covers("G1.credit")
async def test_what_was_found_by_comparing_hidden_runs_is_shown_to_nobody_else(
    home: Staged,
) -> None:
    its = await _Compared.of(home, hidden=True)
    assert await its.read_by_bob() == []
    operators = await _credits(home, await home.operator(), its.run)
    assert [len(one.compared) for one in operators] == [7]


@pytest.mark.covers("G1.explain")
@pytest.mark.parametrize("whose", ["alice", "bob"])
async def test_evidence_tells_no_credit_that_came_of_comparing_hidden_runs(
    home: Staged, whose: str
) -> None:
    planner = await home.ticket(agent="planner", user="alice")
    team = await Team.start(home, "planner")
    team.story.decide("again", "Roll back")
    team.story.call("bad", "rollback", "release=40", error="it is pinned", causes=["again"])
    team.story.call("good", "rollback", "release=41", causes=["again"])
    await team.end()
    await team.reviewed()
    lesson = experiences(await memories(home))[0]
    other = await begun(home, await home.ticket(user=whose), scope=f"user:{whose}")
    score = Credit(
        target=Target(kind="event", id=event_id("again")), value=0.9, low=0.9, high=0.9,
        method="ochiai", evidence="statistical",
    )  # fmt: skip
    found = Attribution(run_id=team.run.run_id, outcome=None, method="ochiai", credits=(score,))
    kept = Credited(
        group="task:operate/0", by="agent:operator", at=home.clock.now(), counts=False,
        attribution=found, compared=(team.run.run_id, other.run_id),
    )  # fmt: skip
    async with home.world.ledger.writing() as unit:
        await unit.credits.put("acme", kept)
    told = await ask(home, planner, c.Explain, memory_id=lesson.id)
    assert (score in told.credits) == (whose == "alice")
