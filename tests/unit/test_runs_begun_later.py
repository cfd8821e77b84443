"""Runs that are begun or joined after something was shown, and who may bring whom into one."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.run import Run, RunClosure, Trajectory
from hindsight_ray.errors import AccessDenied, NotFound
from tests.asking import ask
from tests.worlds import Staged, world

SECRET = "Open the heron vault with code 7713"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _run(home: Staged, token: str, goal: str, scope: str) -> Run:
    run = await ask(home, token, c.StartRun, goal=goal, scope=scope)
    assert isinstance(run, Run)
    return run


async def _share(home: Staged, owner: str, scope: str, to: str, *actions: str) -> None:
    await ask(home, owner, c.Share, scope=scope, to=to, actions=actions)


@pytest.mark.covers("access.begun_later")
@pytest.mark.parametrize("way", ["started", "joined"])
async def test_what_was_shown_before_a_run_is_carried_into_it(home: Staged, way: str) -> None:
    bob, agent = await home.ticket(user="bob"), await home.ticket(agent="x", session="s")
    await _share(home, bob, "user:bob", "agent:x", "read")
    await ask(home, bob, c.Write, content=SECRET)
    waiting = await _run(home, await home.ticket(agent="x", session="other"), "B", "agent:x")
    first = await _run(home, agent, "A", "agent:x")
    found = await ask(home, agent, c.Search, query="heron vault", run_id=first.run_id)
    assert isinstance(found, Found)
    assert found.hits
    if way == "started":
        second = await _run(home, agent, f"B {SECRET}", "agent:x")
        assert "user:bob" in second.audience
    else:
        await ask(home, agent, c.JoinRun, run_id=waiting.run_id)
        second = waiting
    await ask(home, agent, c.CloseRun, run_id=first.run_id)
    receipt = await ask(home, agent, c.Write, content=SECRET, scope="agent:x")
    assert isinstance(receipt, Receipt)
    await _share(home, agent, "agent:x", "agent:y", "read")
    await ask(home, bob, c.Revoke, scope="user:bob", to="agent:x")
    for token in (agent, await home.ticket(agent="y")):
        found = await ask(home, token, c.Search, query="heron vault code")
        assert isinstance(found, Found)
        assert not found.hits
        if way == "started":
            with pytest.raises(NotFound):
                await ask(home, token, c.ReadRun, run_id=second.run_id)


@pytest.mark.covers("access.begun_later")
async def test_an_agents_own_notes_keep_nobody_out_of_the_run_that_it_begins(home: Staged) -> None:
    alice = await home.ticket(user="alice")
    planner = await home.ticket(agent="planner", user="alice", session="s")
    await ask(home, planner, c.Write, content="Look at logs first", scope="agent:planner")
    first = await _run(home, planner, "A", "user:alice")
    await ask(home, planner, c.Search, query="look at logs", run_id=first.run_id)
    second = await _run(home, planner, "B", "user:alice")
    assert isinstance(await ask(home, alice, c.ReadRun, run_id=second.run_id), Trajectory)


@pytest.mark.covers("access.joining")
async def test_a_stranger_brings_no_other_user_into_a_run(home: Staged) -> None:
    bob = await home.ticket(user="bob")
    await _share(home, bob, "user:bob", "agent:w", "write")
    run = await _run(home, bob, "Mine", "user:bob")
    with pytest.raises(AccessDenied):
        await ask(home, await home.ticket(agent="w", user="alice"), c.JoinRun, run_id=run.run_id)
    assert isinstance(await ask(home, bob, c.ReadRun, run_id=run.run_id), Trajectory)
    for user in (None, "bob"):  # brings nobody new
        assert await ask(
            home, await home.ticket(agent="w", user=user), c.JoinRun, run_id=run.run_id
        )
    assert isinstance(await ask(home, bob, c.ReadRun, run_id=run.run_id), Trajectory)
    await _share(home, bob, "user:bob", "agent:w", "read", "write")
    with_alice = await home.ticket(agent="w", user="alice")
    assert await ask(home, with_alice, c.JoinRun, run_id=run.run_id)


@pytest.mark.covers("access.joining")
async def test_who_may_not_read_a_run_is_told_of_its_own_events_when_it_ends_it(
    home: Staged,
) -> None:
    bob, writer = await home.ticket(user="bob"), await home.ticket(agent="w")
    await _share(home, bob, "user:bob", "agent:w", "write")
    run = await _run(home, bob, "Mine", "user:bob")
    await ask(home, writer, c.JoinRun, run_id=run.run_id)
    ids = home.world.ids
    for token, name, number in ((bob, "bob", 3), (writer, "w", 1)):
        events = [
            {
                "event_id": ids.event_id(), "run_id": run.run_id, "agent": name,
                "incarnation": name, "seq": seq, "timestamp": home.clock.now(),
                "kind": "decision", "summary": "go on", "causes": (ids.event_id(),),
            }
            for seq in range(number)
        ]  # fmt: skip
        await ask(home, token, c.RecordEvents, run_id=run.run_id, events=tuple(events))
    for token, events, dangling in ((writer, 1, 1), (bob, 4, 4)):
        closure = await ask(home, token, c.CloseRun, run_id=run.run_id)
        assert isinstance(closure, RunClosure)
        assert (closure.events, closure.dangling) == (events, dangling)
