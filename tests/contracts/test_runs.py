"""Runs at the door, on a real home: who begins one, who takes part, who reads it."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.base import build
from hindsight_ray.domain.commands import Command
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.run import (
    RunSummary,
)
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import (
    AccessDenied,
    CommandReused,
    InvalidInput,
    NotFound,
)
from tests import worlds
from tests.run_verbs import (
    NOBODYS_RUN,
    begun,
    event,
    joined,
    planner,
    record,
    trajectory,
)
from tests.worlds import Staged


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with worlds.world(tmp_path, settings=Settings(short_term_lines=3)) as staged:
        yield staged


# Beginning


async def test_a_run_belongs_to_the_user_acted_for_unless_a_scope_is_named(home: Staged) -> None:
    token = await planner(home)
    assert (await begun(home, token)).scope == "user:alice"
    own = await begun(home, token, scope="agent:planner")
    assert (own.scope, own.audience) == ("agent:planner", ("agent:planner", "user:alice"))


@pytest.mark.covers("G9.texts")
async def test_without_a_user_the_scope_of_a_run_must_be_named(home: Staged) -> None:
    token = await planner(home, user=None)
    with pytest.raises(InvalidInput, match="`scope` must be named"):
        await begun(home, token)
    assert (await begun(home, token, scope="agent:planner")).audience == ("agent:planner",)


async def test_a_run_begins_only_in_a_scope_that_the_caller_may_write(home: Staged) -> None:
    token = await planner(home)
    for scope in ("global", "user:bob", "agent:other"):
        with pytest.raises(AccessDenied):
            await begun(home, token, scope=scope)
    assert await home.ask(token, c.ListRuns()) == ()


@pytest.mark.covers("G3.commands")
async def test_a_repeated_start_begins_one_run(home: Staged) -> None:
    token = await planner(home)
    first = await begun(home, token, command_id="once")
    assert (await begun(home, token, command_id="once")).run_id == first.run_id
    assert len(await listed(home, token)) == 1


@pytest.mark.covers("G3.reused")
async def test_a_start_with_a_used_command_id_and_another_payload_is_refused(home: Staged) -> None:
    token = await planner(home)
    await begun(home, token, command_id="once")
    with pytest.raises(CommandReused, match="'once'"):
        await begun(home, token, command_id="once", goal="Something else")


@pytest.mark.covers("G3.commands", "G1.runs")
async def test_one_agent_for_two_users_begins_two_runs_with_one_command_id(home: Staged) -> None:
    alices, bobs = await planner(home), await planner(home, user="bob")
    fields = {"command_id": "once", "scope": "agent:planner"}
    first, second = await begun(home, alices, **fields), await begun(home, bobs, **fields)
    assert first.run_id != second.run_id
    assert second.audience == ("agent:planner", "user:bob")
    other = await begun(home, await planner(home, user="carol"), command_id="once", goal="Else")
    assert other.run_id not in (first.run_id, second.run_id)


@pytest.mark.covers("G3.commands", "G1.runs")
async def test_a_command_id_of_one_user_says_and_takes_nothing_of_another_users(
    home: Staged,
) -> None:
    alices, bobs = await planner(home), await planner(home, user="bob")
    said = _write("Drain the node first")
    first, second = await home.ask(alices, said), await home.ask(bobs, said)
    assert isinstance(first, Receipt)
    assert isinstance(second, Receipt)
    assert (first.result, second.result) == ("stored", "stored")
    assert set(first.ids).isdisjoint(second.ids)
    assert await home.ask(bobs, said) == second
    for token, receipt in ((alices, first), (bobs, second)):
        memory = await home.ask(token, c.Get(memory_id=MemoryUuid(receipt.ids[0])))
        assert isinstance(memory, Memory)
    reused = _write("Something else")
    assert await home.ask(await planner(home, user="carol"), reused)
    for token, receipt in ((alices, first), (bobs, second)):
        gone = await home.ask(
            token, build(c.Forget, {"memory_id": receipt.ids[0], "command_id": "f1"})
        )
        assert isinstance(gone, Receipt)
        assert gone.ids == receipt.ids
        with pytest.raises(NotFound):
            await home.ask(token, c.Get(memory_id=MemoryUuid(receipt.ids[0])))


def _write(content: str) -> c.Write:
    return build(c.Write, {"content": content, "scope": "agent:planner", "command_id": "c1"})


# Joining and reading


@pytest.mark.covers("G1.runs")
async def test_a_run_that_is_absent_and_one_that_is_forbidden_look_the_same(home: Staged) -> None:
    run = await begun(home, await planner(home))
    stranger = await planner(home, user="bob")
    for kind in (c.JoinRun, c.ReadRun, c.CloseRun, c.GetWorking):
        texts = set()
        for run_id in (run.run_id, NOBODYS_RUN):
            with pytest.raises(NotFound) as refused:
                await home.ask(stranger, kind(run_id=run_id))
            texts.add(refused.value.message.replace(run_id, "it"))
        assert len(texts) == 1
    for run_id in (run.run_id, NOBODYS_RUN):
        with pytest.raises(NotFound):
            await home.ask(stranger, c.RecordEvents(run_id=run_id, events=()))
        with pytest.raises(NotFound):
            await home.ask(stranger, c.AssertOutcome(run_id=run_id, value=1.0))


async def test_who_may_read_a_run_and_takes_no_part_in_it_is_told_what_is_missing(
    home: Staged,
) -> None:
    alice = await planner(home)
    run = await begun(home, alice)
    owner, friend = await home.ticket(user="alice"), await home.ticket(user="friend")
    share = {"scope": "user:alice", "to": "user:friend", "command_id": "s"}
    await home.ask(owner, build(c.Share, share))
    search = {"query": "checkout", "run_id": run.run_id}
    asked: list[c.Command] = [
        c.CloseRun(run_id=run.run_id), c.GetWorking(run_id=run.run_id), build(c.Search, search),
    ]  # fmt: skip
    for one in asked:
        with pytest.raises(AccessDenied, match="join it first"):
            await home.ask(owner, one)
        with pytest.raises(AccessDenied, match="`write` on `user:alice`"):
            await home.ask(friend, one)
    await home.ask(alice, c.CloseRun(run_id=run.run_id))
    with pytest.raises(AccessDenied, match="it has ended"):
        await home.ask(owner, asked[1])


@pytest.mark.covers("G1.runs")
async def test_once_another_users_agent_has_joined_only_who_may_read_both_reads_the_run(
    home: Staged,
) -> None:
    mine = await planner(home)
    run = await begun(home, mine, scope="agent:planner")
    await record(home, mine, run, event(home, run, 0))
    assert len((await trajectory(home, mine, run)).events) == 1

    bobs = await planner(home, user="bob")
    await joined(home, bobs, run)

    for token in (mine, bobs):
        with pytest.raises(NotFound):
            await trajectory(home, token, run)
        assert await listed(home, token) == ()
    both = await trajectory(home, await home.ticket(agent="evaluator"), run)
    assert both.run.audience == ("agent:planner", "user:alice", "user:bob")


@pytest.mark.covers("G1.runs")
async def test_who_joins_without_read_learns_nothing_of_the_others(home: Staged) -> None:
    run = await begun(home, await planner(home), scope="agent:planner", tools=("scan",))
    given = await joined(home, await planner(home, user="bob"), run)
    assert "Restore" not in given.goal
    assert "alice" not in given.model_dump_json()
    assert given.tools == ()


@pytest.mark.covers("G1.runs")
async def test_who_may_read_a_run_is_told_which_right_is_missing_to_do_more(home: Staged) -> None:
    mine, bobs = await planner(home), await home.ticket(user="bob")
    run = await begun(home, mine)
    asked: dict[Action, Command] = {
        "write": c.JoinRun(run_id=run.run_id),
        "evaluate": c.AssertOutcome(run_id=run.run_id, value=1.0),
        "review": c.ReviewRun(run_id=run.run_id),
    }
    for command in asked.values():
        with pytest.raises(NotFound):
            await home.ask(bobs, command)
    alice = await home.ticket(user="alice")
    fields = {"scope": "user:alice", "to": "user:bob", "actions": ("read",), "command_id": "s1"}
    await home.ask(alice, build(c.Share, fields))
    for action, command in asked.items():
        with pytest.raises(AccessDenied) as refused:
            await home.ask(bobs, command)
        assert refused.value.details["action"] == action
        assert refused.value.details["object"] == "user:alice"


async def test_a_team_without_a_user_works_where_one_of_them_lets_the_others_write(
    home: Staged,
) -> None:
    planners, executors = await planner(home, user=None), await home.ticket(agent="executor")
    run = await begun(home, planners, scope="agent:planner")
    with pytest.raises(NotFound):
        await joined(home, executors, run)
    shared = {"scope": "agent:planner", "to": "agent:executor", "actions": ("read", "write")}
    await home.ask(planners, build(c.Share, {**shared, "command_id": "s1"}))
    team = await joined(home, executors, run)
    assert [one.agent for one in team.participants] == ["planner", "executor"]


async def test_joining_twice_changes_nothing(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    executor = await home.ticket(agent="executor", user="alice")
    once = await joined(home, executor, run)
    assert await joined(home, executor, run) == once
    assert [p.agent for p in once.participants] == ["planner", "executor"]


async def test_a_user_and_an_agent_of_one_name_cannot_share_a_run(home: Staged) -> None:
    run = await begun(home, await home.ticket(agent="alice", user="alice"))
    with pytest.raises(InvalidInput, match="already names another participant"):
        await joined(home, await home.ticket(user="alice"), run)


async def test_a_user_records_under_their_own_name(home: Staged) -> None:
    token = await home.ticket(user="alice")
    run = await begun(home, token)
    await record(home, token, run, event(home, run, 0, agent="alice", kind="user"))
    assert (await trajectory(home, token, run)).events[0].agent == "alice"


async def listed(home: Staged, token: str, **fields: Any) -> tuple[RunSummary, ...]:
    runs = await home.ask(token, c.ListRuns.model_validate(fields))
    assert isinstance(runs, tuple)
    return runs


@pytest.mark.covers("G1.runs")
async def test_a_list_of_runs_reaches_past_those_the_caller_may_not_read(home: Staged) -> None:
    mine, bobs = await planner(home), await planner(home, user="bob")
    oldest = await begun(home, mine)
    for _ in range(60):
        home.clock.advance(seconds=1)
        await begun(home, bobs)
    assert [one.run.run_id for one in await listed(home, mine, limit=5)] == [oldest.run_id]
    assert len(await listed(home, bobs, limit=55)) == 55
