"""What is recorded of a run at the door, on a real home, and how it ends."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import (
    AccessDenied,
    EventConflict,
    InvalidInput,
    InvalidTicket,
    RunClosed,
)
from tests import worlds
from tests.run_verbs import (
    begun,
    close,
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
    with pytest.raises(AccessDenied, match="join it first"):
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
    with pytest.raises(AccessDenied, match="join it first"):
        await close(home, await home.ticket(agent="executor", user="alice"), run)
