"""The client over a real home: what recording promises when the way to the memory is bad."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.client import Hindsight, RunRecorder
from hindsight_ray.client.wrapping import recorded
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.run import Run, Trajectory, WorkingState
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import (
    BufferFull,
    HindsightError,
    InvalidInput,
    InvalidTicket,
    NotFound,
    RunClosed,
    Unavailable,
)
from tests.clients import Client, Lost, client

UNKNOWN_MEMORY = "00000000-0000-5000-8000-0000000000aa"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Client]:
    async with client(tmp_path) as opened:
        yield opened


async def seen(home: Client, run_id: str, user: str = "alice") -> Trajectory:
    return await (await home.memory(agent="planner", user=user)).trajectory(run_id)


@pytest.mark.covers("record.flush", "record.order")
async def test_what_was_flushed_is_there_in_order_with_its_causes(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice", session="s1")
    async with memory.run(goal="Restore checkout", tools=["deploy"], seed=7) as run:
        choice = run.decide("Roll back release 41")
        call = run.tool("deploy.rollback", arguments={"release": 41}, result="ok", causes=[choice])
        run.message(to="executor", text="rolled back", causes=[call])
        flushed = await run.flush()
        events = (await seen(home, run.id)).events
    assert (flushed.stored, flushed.repeated, flushed.warnings) == (3, 0, ())
    assert [event.kind for event in events] == ["decision", "tool", "message"]
    assert [event.seq for event in events] == [0, 1, 2]
    assert [event.causes for event in events] == [(), (choice,), (call,)]
    assert run.closure is not None
    assert run.closure.dangling == 0


@pytest.mark.covers("record.flush")
async def test_leaving_a_run_makes_all_durable_asserts_its_outcome_and_ends_it(
    home: Client,
) -> None:
    memory = await home.memory(agent="planner", user="alice")
    async with memory.run(goal="g") as run:
        for number in range(450):
            run.state(f"step {number}")
        run.outcome(1.0, evaluator="monitor")
    read = await memory.trajectory(run.id)
    assert len(read.events) == 450
    assert [(one.value, one.by, one.evaluator) for one in read.outcomes] == [
        (1.0, "agent:planner", "monitor")
    ]
    assert read.run.closed_at is not None
    kinds = [type(command) for command in home.transport.carried]
    assert kinds.index(c.AssertOutcome) > max(
        place for place, kind in enumerate(kinds) if kind is c.RecordEvents
    )


async def test_who_joined_only_leaves(home: Client) -> None:
    planner = await home.memory(agent="planner", user="alice")
    executor = await home.memory(agent="executor", user="alice")
    async with planner.run(goal="g") as run:
        asked = run.message(to="executor", text="roll back")
        joined = await executor.join(run.id)
        joined.tool("deploy.rollback", result="ok", causes=[asked])
        await joined.close()
        async with executor.join(run) as again:
            again.state("done")
        await run.flush()
        assert (await planner.trajectory(run)).run.closed_at is None
    read = await planner.trajectory(run)
    assert [event.agent for event in read.events].count("executor") == 2
    assert read.gaps == ()


async def test_a_bare_token_is_enough_to_record(home: Client) -> None:
    ticket = await home.hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
    memory = home.hindsight.as_caller(ticket.token)
    async with memory.run(goal="g") as run:
        run.decide("d")
    assert (await memory.trajectory(run.id)).events[0].agent == "planner"


# Bad ways


@pytest.mark.covers("G3.commands")
async def test_a_batch_whose_acknowledgement_is_lost_is_sent_again_and_counted_once(
    home: Client,
) -> None:
    memory = await home.memory(agent="planner", user="alice")
    async with memory.run(goal="g") as run:
        home.transport.after = Lost(c.RecordEvents, times=2)
        for number in range(3):
            run.state(f"step {number}")
        flushed = await run.flush()
    assert flushed.stored + flushed.repeated == 3
    assert flushed.repeated >= 1
    assert len((await seen(home, run.id)).events) == 3


@pytest.mark.covers("G4.buffer", "record.flush")
async def test_a_flush_that_fails_keeps_its_events_for_the_next_one(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    async with memory.run(goal="g") as run:
        home.transport.before = Lost(c.RecordEvents, times=1_000_000)
        run.state("kept")
        run.outcome(0.5)
        with pytest.raises(Unavailable):
            await run.flush()
        assert run.unshipped == 1
        home.transport.before = Lost(c.RecordEvents, times=0)
        flushed = await run.flush()
        assert (flushed.stored, flushed.outcomes) == (1, 1)
    assert [event.summary for event in (await seen(home, run.id)).events] == ["kept"]


async def test_a_refusal_is_raised_by_flush_and_by_whoever_waits_for_room(tmp_path: Path) -> None:
    settings = Settings(buffer_events=2, batch_events=1)
    async with client(tmp_path, settings=settings) as home:
        memory = await home.memory(agent="planner", user="alice")
        other = await home.memory(agent="executor", user="alice")
        run = await memory.run(goal="g")
        joined = await other.join(run)
        await run.close()  # behind the back of the one who joined
        joined.state("one")
        joined.state("two")
        with pytest.raises(RunClosed):
            await joined.flush()
        with pytest.raises(BufferFull, match="cannot be shipped"):
            joined.state("three")
        with pytest.raises(RunClosed):
            await joined.close()
        assert joined.unshipped == 2
        with pytest.raises(Unavailable, match="2 of run"):
            await home.hindsight.close()


async def breaks_off(run: RunRecorder) -> None:
    async with run:
        run.state("before")
        raise ZeroDivisionError


async def test_an_error_of_the_work_itself_is_not_hidden_by_one_of_leaving(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    run = await memory.run(goal="g")
    home.transport.before = Lost(c.RecordEvents, times=1_000_000)
    with pytest.raises(ZeroDivisionError) as raised:
        await breaks_off(run)
    assert any(run.id in note for note in raised.value.__notes__)
    home.transport.before = Lost(c.RecordEvents, times=0)


async def test_a_run_that_breaks_off_is_still_recorded_and_ended(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    run = await memory.run(goal="g")
    with pytest.raises(ZeroDivisionError):
        await breaks_off(run)
    read = await memory.trajectory(run.id)
    assert len(read.events) == 1
    assert read.run.closed_at is not None


async def test_closing_the_client_ships_what_open_runs_have_buffered(tmp_path: Path) -> None:
    async with client(tmp_path) as home:
        memory = await home.memory(agent="planner", user="alice")
        run = await memory.run(goal="g")
        run.state("not flushed")
    with pytest.raises(RunClosed):
        run.state("after")
    with pytest.raises(HindsightError):
        await memory.trajectory(run.id)
    async with client(tmp_path) as home:
        assert len((await seen(home, run.id)).events) == 1


# A full buffer


@pytest.mark.covers("G4.buffer", "G4.gaps")
async def test_a_full_buffer_that_drops_counts_what_it_dropped(tmp_path: Path) -> None:
    settings = Settings(buffer_events=3, buffer_full="drop")
    async with client(tmp_path, settings=settings) as home:
        memory = await home.memory(agent="planner", user="alice")
        run = await memory.run(goal="g")
        home.transport.before = Lost(c.RecordEvents, times=1_000_000)
        for number in range(5):
            run.state(f"step {number}")
        home.transport.before = Lost(c.RecordEvents, times=0)
        await run.flush()
        run.state("after the gap")
        flushed = await run.flush()
        assert (flushed.stored, flushed.dropped) == (4, 2)
        assert [(gap.first, gap.last) for gap in flushed.gaps] == [(3, 4)]
        assert "2 events were dropped" in flushed.warnings[0]
        with pytest.warns(RuntimeWarning, match="2 events were dropped"):
            await run.close()


@pytest.mark.covers("G4.buffer")
async def test_a_full_buffer_that_fails_says_so_and_uses_up_no_number(tmp_path: Path) -> None:
    settings = Settings(buffer_events=2, buffer_full="fail")
    async with client(tmp_path, settings=settings) as home:
        memory = await home.memory(agent="planner", user="alice")
        async with memory.run(goal="g") as run:
            home.transport.before = Lost(c.RecordEvents, times=1_000_000)
            run.state("one")
            run.state("two")
            with pytest.raises(BufferFull, match="2 events"):
                run.state("three")
            home.transport.before = Lost(c.RecordEvents, times=0)
            await run.flush()
            run.state("three")
        assert run.closure is not None
        assert (run.closure.events, run.closure.gaps) == (3, ())


@pytest.mark.covers("G4.buffer")
async def test_a_full_buffer_that_blocks_waits_for_room_and_loses_nothing(tmp_path: Path) -> None:
    """Also when it is the agent's own event loop that waits: shipping has another."""
    async with client(tmp_path, settings=Settings(buffer_events=5, batch_events=2)) as home:
        memory = await home.memory(agent="planner", user="alice")
        async with memory.run(goal="g") as run:
            for number in range(50):
                run.state(f"step {number}")
        assert run.closure is not None
        assert (run.closure.events, run.closure.gaps) == (50, ())


# Loops and threads


async def test_threads_record_into_one_run_without_a_gap(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    async with memory.run(goal="g") as run:

        def work(name: str) -> None:
            for number in range(100):
                run.state(f"{name} {number}")

        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in threads))
    read = await memory.trajectory(run.id)
    assert [event.seq for event in read.events] == list(range(400))
    for name in ("t0", "t1", "t2", "t3"):
        own = [event.summary for event in read.events if event.summary.startswith(name)]
        assert own == [f"{name} {number}" for number in range(100)]


async def test_one_client_serves_two_event_loops(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")

    async def work(name: str) -> str:
        async with memory.run(goal=name) as run:
            run.decide(name)
            await run.flush()
        return run.id

    def other_loop(name: str) -> str:
        return asyncio.run(work(name))

    ids = await asyncio.gather(
        work("here"), asyncio.to_thread(other_loop, "there"), asyncio.to_thread(other_loop, "too")
    )
    for run_id in ids:
        assert len((await memory.trajectory(run_id)).events) == 1


# What is recorded


@pytest.mark.covers("G4.cut")
async def test_a_text_that_is_cut_is_marked_and_counted(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    async with memory.run(goal="g") as run:
        run.decide("x" * 1_000)
        run.decide("x" * 1_001)
        run.tool("read", result="y" * 5_000)
        run.tool("read", error="z" * 5_000)
        flushed = await run.flush()
    assert flushed.truncated == 3
    assert "3 summaries were cut" in flushed.warnings[0]
    events = (await memory.trajectory(run)).events
    assert [event.truncated for event in events] == [False, True, True, True]
    assert all(len(event.summary) == 1_000 for event in events)


async def test_a_tool_call_keeps_digests_and_what_went_wrong(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    async with memory.run(goal="g") as run:
        run.tool("fetch", arguments={"b": 2, "a": 1}, result={"rows": [1, 2]})
        run.tool("fetch", arguments={"a": 1, "b": 2}, result={"rows": [1, 2]}, status_code=200)
        run.tool("fetch", arguments={}, error=TimeoutError("late\x00"), status_code=504)
        run.tool("fetch", arguments={}, status_code=404)
    first, same, late, missing = [
        event.tool for event in (await memory.trajectory(run)).events if event.tool
    ]
    assert first.arguments_digest == same.arguments_digest
    assert first.result_digest == same.result_digest
    assert (late.status, late.error_type, late.status_code) == ("error", "TimeoutError", 504)
    assert late.error_text == "late\N{REPLACEMENT CHARACTER}"
    assert missing.status == "error"


async def test_the_snapshot_is_carried_to_the_events_that_follow(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    async with memory.run(goal="Restore checkout") as run:
        run.state("before")
        run.user("It is still slow!")
        run.snapshot(subtask="look at the cache")
        run.decide("flush it")
    before, said, decided = (await memory.trajectory(run)).events
    assert before.snapshot is None
    assert said.snapshot is None
    assert decided.snapshot is not None
    assert decided.snapshot.model_dump() == {
        "goal": "Restore checkout",
        "subtask": "look at the cache",
        "last_user_input": "It is still slow!",
    }


async def test_working_state_is_kept_with_the_run(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice", session="s1")
    async with memory.run(goal="g") as run:
        await run.set_working(goal="g", state={"release": "41"})
        assert await run.working() == WorkingState(goal="g", state={"release": "41"})
    await memory.note("said hello")
    assert (await memory.window()).lines == ("said hello",)


# Bad input


@pytest.mark.covers("G9.texts")
@pytest.mark.parametrize(
    ("do", "names"),
    [
        (lambda run: run.decide("a\ud800"), "surrogate"),
        (lambda run: run.decide("a\x00"), "control"),
        (lambda run: run.decide(7), "`text` 7 must be text"),
        (lambda run: run.tool(""), "name"),
        (lambda run: run.message(to="no spaces", text="x"), "`to` 'no spaces'"),
        (lambda run: run.state("x", causes=["not-an-id"]), "`causes` 'not-an-id'"),
        (lambda run: run.decide("x", used=[UNKNOWN_MEMORY]), "was not offered"),
        (lambda run: run.outcome(2.0), "value"),
        (lambda run: run.outcome(float("nan")), "value"),
        (lambda run: run.llm("x", tokens=-1), "tokens"),
        (lambda run: run.tool("x", status_code="bad"), "status_code"),
        (lambda run: run.tool("x" * 201), "characters"),
        (lambda run: run.snapshot(goal="a\x00"), "control"),
    ],
)
async def test_bad_input_is_a_typed_error_and_leaves_no_gap(
    home: Client, do: Any, names: str
) -> None:
    memory = await home.memory(agent="planner", user="alice")
    async with memory.run(goal="g") as run:
        run.state("first")
        with pytest.raises(InvalidInput, match=names):
            do(run)
        run.state("second")
    assert run.closure is not None
    assert (run.closure.events, run.closure.gaps, run.closure.dangling) == (2, (), 0)
    assert [event.seq for event in (await memory.trajectory(run)).events] == [0, 1]


@pytest.mark.covers("G9.texts")
async def test_an_unknown_run_is_absent_and_no_id_is_invalid(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    with pytest.raises(NotFound):
        await memory.join(UNKNOWN_MEMORY)
    with pytest.raises(NotFound):
        await memory.outcome(UNKNOWN_MEMORY, 1.0)
    with pytest.raises(InvalidInput):
        await memory.trajectory("nonsense")
    with pytest.raises(InvalidInput, match="`run` must be"):
        await memory.trajectory(41)  # pyright: ignore[reportArgumentType]


@pytest.mark.covers("G4.dangling")
async def test_a_cause_still_unknown_when_the_run_ends_is_kept_and_counted(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    ghost = home.staged.world.ids.event_id()
    async with memory.run(goal="g") as run:
        run.decide("x", causes=ghost)
    assert run.closure is not None
    assert run.closure.dangling == 1
    assert (await memory.trajectory(run)).dangling == (ghost,)


@pytest.mark.covers("G5.tickets")
async def test_a_forged_token_records_nothing(home: Client) -> None:
    memory = home.hindsight.as_caller("forged")
    with pytest.raises(InvalidTicket):
        await memory.run(goal="g")


@pytest.mark.covers("G2.ticket")
async def test_once_the_ticket_is_revoked_a_flush_is_refused_and_keeps_its_events(
    home: Client,
) -> None:
    ticket = await home.hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
    run = await home.hindsight.as_caller(ticket).run(goal="g")
    await home.hindsight.operator("acme").revoke_ticket(ticket.caller.ticket_id)
    run.state("too late")
    for _ in range(2):
        with pytest.raises(InvalidTicket):
            await run.flush()
    assert run.unshipped == 1
    with pytest.raises(Unavailable, match="1 of run"):
        await home.hindsight.close()


async def test_a_ref_is_recorded_as_it_comes_and_told_if_its_reader_may_know_it(
    home: Client,
) -> None:
    memory = await home.memory(agent="planner", user="alice")
    kept = await memory.write("The depot opens at nine", confidence=0.9)
    refs = [
        MemoryRef.model_validate({"id": name, "revision": 1})
        for name in (kept.ids[0], UNKNOWN_MEMORY)
    ]
    async with memory.run(goal="g") as run:
        run.decide("x", used=refs)
    assert (await memory.trajectory(run)).events[0].used == (refs[0],)


async def test_a_client_without_the_operators_key_issues_no_ticket(home: Client) -> None:
    bare = Hindsight(replace(home.hindsight._connection, operator_token=None), home.loop)
    with pytest.raises(Unavailable, match="operator's key"):
        await bare.issue_ticket(tenant="acme", agent="planner")


async def test_a_run_value_names_itself(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    run = await memory.run(goal="g")
    assert isinstance(run.value, Run)
    assert (await memory.trajectory(run.value)).run == run.value
    await run.close()


async def test_a_decorated_function_records_its_calls(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    async with memory.run(goal="g") as run:

        @recorded(run)
        def add(a: int, b: int = 1) -> int:
            return a + b

        @recorded(run, name="remote.add")
        async def add_later(a: int) -> int:
            await asyncio.sleep(0)
            return a // 0

        assert add(2) == 3
        with pytest.raises(ZeroDivisionError):
            await add_later(2)
    first, second = [event for event in (await memory.trajectory(run)).events if event.tool]
    assert (first.tool.name, first.summary, first.edge_evidence) == (
        "add",
        "add(a=2) → 3",
        "observed",
    )
    assert (second.tool.name, second.tool.error_type) == ("remote.add", "ZeroDivisionError")
