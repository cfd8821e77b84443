"""Outcomes of runs at the door, on a real home, and the layers that go with a run."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.run import (
    ShortTerm,
    WorkingState,
)
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import (
    AccessDenied,
    InvalidInput,
    NotFound,
    RunClosed,
)
from tests import worlds
from tests.run_verbs import (
    NOBODYS_RUN,
    begun,
    close,
    joined,
    planner,
    score,
    trajectory,
)
from tests.worlds import Staged


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with worlds.world(tmp_path, settings=Settings(short_term_lines=3)) as staged:
        yield staged


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
    with pytest.raises(AccessDenied):  # may write the scope, took no part, holds no `evaluate`
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
    with pytest.raises(AccessDenied, match="for another user"):
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
