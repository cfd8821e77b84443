"""What runs, credits and histories tell of memories: what their reader could be shown, no more."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.credit import Attribution, Credit, Target
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid, RunUuid
from hindsight_ray.errors import InvalidInput, NotFound
from tests.asking import ask, wrote
from tests.run_verbs import begun, event, record, trajectory
from tests.unit.test_reviewing import Team, experiences, memories, stumble
from tests.worlds import Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _naming(home: Staged, token: str, agent: str, *names: str) -> Any:
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


async def _credits(home: Staged, token: str, run: Any) -> Any:
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
