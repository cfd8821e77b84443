"""Runs, recording, outcomes and layers at the door, on a real home."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.run import (
    Outcome,
    RecordAck,
    Run,
    RunClosure,
    RunSummary,
    ShortTerm,
    Trajectory,
    WorkingState,
)
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import (
    AccessDenied,
    CommandReused,
    EventConflict,
    InvalidInput,
    InvalidTicket,
    NotFound,
    RunClosed,
)
from tests import worlds
from tests.worlds import START, Staged

NOBODYS_RUN = str(UUID(int=0x7 << 76 | 0b10 << 62 | 0xABC))


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with worlds.world(tmp_path, settings=Settings(short_term_lines=3)) as staged:
        yield staged


async def planner(home: Staged, user: str | None = "alice", **fields: Any) -> str:
    return await home.ticket(agent="planner", user=user, **fields)


async def begun(home: Staged, token: str, **fields: Any) -> Run:
    fields = {"command_id": home.world.ids.token(), "goal": "Restore checkout", **fields}
    run = await home.ask(token, c.StartRun.model_validate(fields))
    assert isinstance(run, Run)
    return run


async def joined(home: Staged, token: str, run: Run) -> Run:
    there = await home.ask(token, c.JoinRun(run_id=run.run_id))
    assert isinstance(there, Run)
    return there


def event(home: Staged, run: Run, seq: int, *, agent: str = "planner", **fields: Any) -> Event:
    return Event.model_validate(
        {
            "event_id": home.world.ids.event_id(),
            "run_id": run.run_id,
            "agent": agent,
            "incarnation": "first",
            "seq": seq,
            "timestamp": START,
            "kind": "decision",
            "summary": f"step {seq}",
            **fields,
        }
    )


async def record(home: Staged, token: str, run: Run, *events: Event) -> RecordAck:
    ack = await home.ask(token, c.RecordEvents(run_id=run.run_id, events=events))
    assert isinstance(ack, RecordAck)
    return ack


async def trajectory(home: Staged, token: str, run: Run) -> Trajectory:
    read = await home.ask(token, c.ReadRun(run_id=run.run_id))
    assert isinstance(read, Trajectory)
    return read


async def close(home: Staged, token: str, run: Run) -> RunClosure:
    closure = await home.ask(token, c.CloseRun(run_id=run.run_id))
    assert isinstance(closure, RunClosure)
    return closure


async def score(home: Staged, token: str, run: Run, value: float, **fields: Any) -> Outcome:
    asked = c.AssertOutcome.model_validate({"run_id": run.run_id, "value": value, **fields})
    outcome = await home.ask(token, asked)
    assert isinstance(outcome, Outcome)
    return outcome


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


# Recording


@pytest.mark.covers("record.order")
async def test_a_trajectory_holds_each_agents_events_in_order(home: Staged) -> None:
    token, executor = await planner(home), await home.ticket(agent="executor", user="alice")
    run = await begun(home, token)
    await joined(home, executor, run)
    mine = [event(home, run, seq) for seq in range(3)]
    theirs = [event(home, run, seq, agent="executor") for seq in range(2)]
    await record(home, executor, run, *theirs)
    await record(home, token, run, *mine)
    assert list((await trajectory(home, token, run)).events) == [*theirs, *mine]


async def test_nobody_records_for_another_agent(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    with pytest.raises(AccessDenied, match="`executor`"):
        await record(home, token, run, event(home, run, 0), event(home, run, 0, agent="executor"))
    assert (await trajectory(home, token, run)).events == ()


async def test_only_who_has_joined_records(home: Staged) -> None:
    run = await begun(home, await planner(home))
    executor = await home.ticket(agent="executor", user="alice")  # may write, has not joined
    with pytest.raises(NotFound):
        await record(home, executor, run, event(home, run, 0, agent="executor"))


async def test_an_event_of_another_run_is_refused(home: Staged) -> None:
    token = await planner(home)
    run, other = await begun(home, token), await begun(home, token)
    with pytest.raises(InvalidInput, match=other.run_id):
        await record(home, token, run, event(home, other, 0))


@pytest.mark.covers("G3.commands")
async def test_a_batch_sent_again_adds_nothing(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    batch = [event(home, run, seq) for seq in range(3)]
    assert (await record(home, token, run, *batch)).stored == 3
    again = await record(home, token, run, *batch, event(home, run, 3))
    assert (again.stored, again.repeated) == (1, 3)
    assert len((await trajectory(home, token, run)).events) == 4


@pytest.mark.covers("record.conflict")
async def test_an_event_id_or_number_with_other_content_is_refused_and_nothing_added(
    home: Staged,
) -> None:
    token = await planner(home)
    run = await begun(home, token)
    first = event(home, run, 0)
    await record(home, token, run, first)
    changed = first.model_copy(update={"summary": "another story"})
    same_number = event(home, run, 0)
    for guilty in (changed, same_number):
        with pytest.raises(EventConflict):
            await record(home, token, run, event(home, run, 1), guilty)
    assert (await trajectory(home, token, run)).events == (first,)


@pytest.mark.covers("G4.gaps")
async def test_numbers_that_never_arrived_are_reported_as_gaps(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    ack = await record(home, token, run, *(event(home, run, seq) for seq in (0, 2, 5)))
    found = [(gap.agent, gap.first, gap.last) for gap in ack.gaps]
    assert found == [("planner", 1, 1), ("planner", 3, 4)]
    assert (await close(home, token, run)).gaps == ack.gaps
    assert (await trajectory(home, token, run)).gaps == ack.gaps


@pytest.mark.covers("record.far")
async def test_a_number_far_beyond_those_before_it_is_refused_with_its_batch(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    await record(home, token, run, event(home, run, 0))
    with pytest.raises(InvalidInput, match="`seq` 1000000002 comes after 0"):
        await record(
            home, token, run, event(home, run, 1_000_000_002), event(home, run, 1_000_000_003)
        )
    ack = await record(home, token, run, event(home, run, 1_000_000_001))
    assert [(gap.first, gap.last) for gap in ack.gaps] == [(1, 1_000_000_000)]
    assert len((await trajectory(home, token, run)).events) == 2


async def test_a_closed_run_takes_no_new_event_and_nobody_new(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    await close(home, token, run)
    with pytest.raises(RunClosed):
        await record(home, token, run, event(home, run, 0))
    with pytest.raises(RunClosed):
        await joined(home, await home.ticket(agent="executor", user="alice"), run)


@pytest.mark.covers("G3.commands")
async def test_a_batch_whose_answer_was_lost_may_come_again_after_the_end(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    first = event(home, run, 0)
    await record(home, token, run, first)
    await close(home, token, run)
    ack = await record(home, token, run, first)
    assert (ack.stored, ack.repeated) == (0, 1)


@pytest.mark.covers("G2.ticket")
async def test_a_batch_sent_after_its_ticket_was_revoked_is_refused(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    caller = await home.world.tickets.verify(token, home.clock.now())
    async with home.world.ledger.writing() as unit:
        await unit.policy.revoke_ticket(caller.tenant, caller.ticket_id, home.clock.now())
    with pytest.raises(InvalidTicket):
        await record(home, token, run, event(home, run, 0))


# Ending


@pytest.mark.covers("G4.dangling")
async def test_a_cause_that_nobody_recorded_is_kept_marked_and_counted(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    ghost, first = home.world.ids.event_id(), event(home, run, 0)
    later = event(home, run, 1, causes=(first.event_id, ghost))
    again = event(home, run, 2, causes=(ghost,))
    await record(home, token, run, first, later, again)
    closure = await close(home, token, run)
    assert (closure.events, closure.dangling) == (3, 1)
    read = await trajectory(home, token, run)
    assert read.dangling == (ghost,)
    assert read.events[1].causes == (first.event_id, ghost)


async def test_closing_again_answers_the_same(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    await record(home, token, run, event(home, run, 1))
    first = await close(home, token, run)
    ended = (await trajectory(home, token, run)).run.closed_at
    home.clock.advance(hours=1)
    assert await close(home, token, run) == first
    assert (await trajectory(home, token, run)).run.closed_at == ended


async def test_only_a_participant_closes_a_run(home: Staged) -> None:
    run = await begun(home, await planner(home))
    with pytest.raises(NotFound):
        await close(home, await home.ticket(agent="executor", user="alice"), run)


# Outcomes


@pytest.mark.covers("G7.outcomes")
async def test_who_asserted_an_outcome_comes_from_the_ticket(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    outcome = await score(home, token, run, 0.5, evaluator="monitor")
    assert (outcome.by, outcome.evaluator) == ("agent:planner", "monitor")
    assert (outcome.participant, outcome.evaluates, outcome.success) == (True, False, True)


@pytest.mark.covers("G7.outcomes")
async def test_who_took_no_part_needs_evaluate_and_is_marked_so(home: Staged) -> None:
    run = await begun(home, await planner(home))
    with pytest.raises(NotFound):  # may write the scope, took no part, holds no `evaluate`
        await score(home, await home.ticket(agent="executor", user="alice"), run, 1.0)
    judged = await score(home, await home.ticket(agent="evaluator"), run, -0.5)
    assert (judged.participant, judged.evaluates, judged.success) == (False, True, False)


async def test_a_judge_who_took_part_is_marked_as_participant(home: Staged) -> None:
    token = await home.ticket(agent="operator", user="alice")
    run = await begun(home, token)
    outcome = await score(home, token, run, 1.0)
    assert (outcome.participant, outcome.evaluates) == (True, True)


@pytest.mark.covers("G7.outcomes")
async def test_a_judge_who_asserts_first_and_joins_later_is_a_participant(home: Staged) -> None:
    alice, judge = await planner(home), await home.ticket(agent="operator", user="alice")
    run = await begun(home, alice)
    assert not (await score(home, judge, run, 1.0)).participant
    await joined(home, judge, run)
    (outcome,) = (await trajectory(home, alice, run)).outcomes
    assert (outcome.by, outcome.participant) == ("agent:operator", True)
    again = await score(home, judge, run, 1.0)
    assert (again.participant, again.revision) == (True, 1)


@pytest.mark.covers("G7.outcomes")
async def test_an_agent_for_another_user_neither_scores_nor_closes_a_run(home: Staged) -> None:
    alice, bob = await planner(home), await planner(home, user="bob")
    run = await begun(home, alice, scope="agent:planner")
    first = await score(home, alice, run, 0.2)
    with pytest.raises(NotFound):
        await score(home, bob, run, -1.0)
    with pytest.raises(NotFound):
        await close(home, bob, run)
    assert (await trajectory(home, alice, run)).outcomes == (first,)
    assert (await trajectory(home, alice, run)).run.closed_at is None


@pytest.mark.covers("G7.outcomes")
async def test_a_judge_whose_agent_took_part_for_another_user_scores_nothing(home: Staged) -> None:
    run = await begun(home, await home.ticket(agent="operator", user="alice"))
    with pytest.raises(NotFound):
        await score(home, await home.ticket(agent="operator"), run, 1.0)


@pytest.mark.covers("G7.outcomes")
async def test_one_agent_for_two_users_replaces_neither_users_outcome(home: Staged) -> None:
    alice, bob = await planner(home), await planner(home, user="bob")
    run = await begun(home, alice, scope="agent:planner")
    await joined(home, bob, run)
    first, second = await score(home, alice, run, 0.2), await score(home, bob, run, -1.0)
    assert first.outcome_id != second.outcome_id
    assert (first.revision, second.revision) == (1, 1)
    assert (await score(home, alice, run, 0.4)).revision == 2
    async with home.world.ledger.reading() as unit:
        kept = await unit.outcomes.of_run(run.tenant, run.run_id)
    assert {one.value for one in kept} == {0.4, -1.0}


async def test_asserting_again_revises_ones_own_outcome_only(home: Staged) -> None:
    token, judge = await planner(home), await home.ticket(agent="evaluator")
    run = await begun(home, token)
    first = await score(home, token, run, 0.2)
    await score(home, judge, run, -1.0)
    second = await score(home, token, run, 0.9)
    assert (second.outcome_id, second.revision) == (first.outcome_id, 2)
    outcomes = (await trajectory(home, token, run)).outcomes
    assert {(one.by, one.value) for one in outcomes} == {
        ("agent:planner", 0.9),
        ("agent:evaluator", -1.0),
    }


@pytest.mark.covers("G3.commands")
async def test_asserting_the_same_again_has_no_effect(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token)
    first = await score(home, token, run, 0.2)
    home.clock.advance(minutes=1)
    assert await score(home, token, run, 0.2) == first


@pytest.mark.covers("G9.texts")
@pytest.mark.parametrize("value", [1.5, -2.0, float("nan"), float("inf")])
def test_an_outcome_outside_its_range_is_no_outcome(value: float) -> None:

    with pytest.raises(InvalidInput, match="`value`"):
        build(c.AssertOutcome, {"run_id": NOBODYS_RUN, "value": value})


# Layers


@pytest.mark.covers("record.layers")
async def test_working_state_is_a_participants_own_and_goes_with_the_run(home: Staged) -> None:
    token = await planner(home)
    run = await begun(home, token, scope="agent:planner")
    state = WorkingState(goal="Restore", state={"release": "41"})
    await home.ask(token, c.SetWorking(run_id=run.run_id, state=state))
    assert await home.ask(token, c.GetWorking(run_id=run.run_id)) == state

    bobs = await planner(home, user="bob")
    await joined(home, bobs, run)
    assert await home.ask(bobs, c.GetWorking(run_id=run.run_id)) == WorkingState()

    await close(home, token, run)
    assert await home.ask(token, c.GetWorking(run_id=run.run_id)) == WorkingState()
    with pytest.raises(RunClosed):
        await home.ask(token, c.SetWorking(run_id=run.run_id, state=state))


@pytest.mark.covers("record.layers")
async def test_the_short_term_window_is_bounded_and_belongs_to_a_session(home: Staged) -> None:
    token = await planner(home, session="s1")
    for number in range(5):
        window = await home.ask(token, c.Note(text=f"line {number}"))
    assert isinstance(window, ShortTerm)
    assert window.lines == ("Earlier (3 notes): line 0; line 1; line 2", "line 3", "line 4")
    assert await home.ask(token, c.Window()) == window
    for other in (
        await planner(home, session="s2"),
        await planner(home, user="bob", session="s1"),
        await home.ticket(agent="executor", user="alice", session="s1"),
    ):
        empty = await home.ask(other, c.Window())
        assert isinstance(empty, ShortTerm)
        assert empty.lines == ()
    with pytest.raises(InvalidInput, match="`session`"):
        await home.ask(await planner(home), c.Note(text="whose?"))
