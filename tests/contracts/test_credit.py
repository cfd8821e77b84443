"""Credit by replay through the client: found, kept, shown, and what it does to memories."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.client import Memory
from hindsight_ray.client import memory as memory_module
from hindsight_ray.core.attribution.environment import check_environment
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.credit import Attribution, Credit
from hindsight_ray.errors import AccessDenied, InvalidInput, NotFound
from tests.clients import Client, client
from tests.kitchens import SPOILT, Kitchen, cooked

BAD = f"season the stew: {SPOILT}"


@pytest.fixture
async def kitchen(tmp_path: Path) -> AsyncGenerator[Client]:
    async with client(tmp_path / "home") as opened:
        yield opened


async def utility(of: Client, memory_id: str) -> float:
    async def read() -> float:
        async with of.staged.world.ledger.reading() as unit:
            return (await unit.stats.of("acme", [memory_id]))[memory_id].utility

    return await of.loop.run(read())


async def failed_run(cook: Memory, operator: Memory) -> tuple[str, str]:
    """A run that a memory spoilt, judged by the operator: its id and the memory's."""
    stored = await cook.write(BAD, scope="user:alice", type="preference")
    run_id, found = await cooked(cook)
    assert found.ids == stored.ids
    await operator.outcome(run_id, -1.0)
    return run_id, stored.ids[0]


async def people(kitchen: Client) -> tuple[Memory, Memory]:
    cook = await kitchen.memory(agent="cook", user="alice")
    return cook, kitchen.hindsight.operator("acme")


async def environment(of: Memory, run_id: str) -> Kitchen:
    return Kitchen((await of.trajectory(run_id)).events)


@pytest.mark.covers("credit.submitted")
async def test_a_run_is_replayed_from_its_record_and_the_credit_is_kept(kitchen: Client) -> None:
    cook, operator = await people(kitchen)
    run_id, memory_id = await failed_run(cook, operator)
    given = await environment(operator, run_id)
    trajectory = await operator.trajectory(run_id)
    assert check_environment(given, trajectory) == ()
    found = await operator.attribute(run_id, method="shapley", environment=given)
    assert found.abstained is None
    assert [round(credit.value, 9) for credit in found.credits] == [-2.0, 0.0]
    kept = await operator.credits(run_id)
    assert [(one.by, one.counts, one.attribution) for one in kept] == [
        ("agent:operator", True, found)
    ]
    memories = [one for one in found.beside if one.target.kind == "memory"]
    assert [(one.target.id, one.effect) for one in memories] == [(memory_id, "harmful")]


@pytest.mark.covers("credit.bounded")
async def test_credits_come_by_the_page_and_the_client_gives_them_all(
    kitchen: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_module, "_CREDITS", 2)
    cook, operator = await people(kitchen)
    run_id, _ = await failed_run(cook, operator)
    for method in "abcd":
        given = {"run_id": run_id, "outcome": -1.0, "method": method}
        await cook.ask(build(c.SubmitCredits, {"run_id": run_id, "attribution": given}))
    kept = await cook.credits(run_id)
    assert [one.attribution.method for one in kept] == ["a", "b", "c", "d"]


@pytest.mark.covers("credit.utility")
async def test_replayed_credit_of_an_evaluators_outcome_moves_a_memorys_utility(
    kitchen: Client,
) -> None:
    cook, operator = await people(kitchen)
    run_id, memory_id = await failed_run(cook, operator)
    assert await utility(kitchen, memory_id) == 0.0
    given = await environment(operator, run_id)
    await operator.attribute(run_id, method="shapley", environment=given)
    moved = await utility(kitchen, memory_id)
    assert moved < -0.3
    await operator.attribute(run_id, method="shapley", environment=given)  # again: no further
    assert await utility(kitchen, memory_id) == moved


async def test_a_participants_outcome_or_submission_moves_nothing(kitchen: Client) -> None:
    cook, operator = await people(kitchen)
    run_id, memory_id = await failed_run(cook, operator)
    given = await environment(cook, run_id)
    await cook.attribute(run_id, method="shapley", environment=given)
    (kept,) = await cook.credits(run_id)
    assert (kept.counts, kept.why_not) == (False, "whoever submitted it took part in the run")
    assert await utility(kitchen, memory_id) == 0.0

    own, _ = await cooked(cook)
    await cook.outcome(own, -1.0)
    given = await environment(operator, own)
    await operator.attribute(own, method="shapley", environment=given)
    (kept,) = await operator.credits(own)
    assert "by an evaluator who took no part" in kept.why_not
    assert await utility(kitchen, memory_id) == 0.0


def with_credit(found: Attribution, **fields: Any) -> Attribution:
    first: Credit = found.credits[0].model_copy(update=fields)
    return found.model_copy(update={"credits": (first, *found.credits[1:])})


@pytest.mark.covers("credit.submitted")
async def test_what_is_submitted_is_checked_against_the_record(kitchen: Client) -> None:
    cook, operator = await people(kitchen)
    run_id, _ = await failed_run(cook, operator)
    other, _ = await cooked(cook)
    given = await environment(operator, run_id)
    found = await operator.attribute(run_id, method="shapley", environment=given, submit=False)
    assert await operator.credits(run_id) == ()
    target = found.credits[0].target
    forged = [
        with_credit(found, evidence="statistical"),
        with_credit(found, target=target.model_copy(update={"id": other})),
        with_credit(found, target=target.model_copy(update={"kind": "memory"})),
        with_credit(found, value=-5.0, low=-5.0),
        with_credit(found, value=0.5),
        found.model_copy(update={"run_id": other}),
        found.model_copy(update={"outcome": 1.0}),
    ]
    for one in forged:
        with pytest.raises(InvalidInput):
            await operator.ask(c.SubmitCredits(run_id=run_id, attribution=one))
    assert await operator.credits(run_id) == ()


@pytest.mark.covers("credit.submitted")
async def test_only_whoever_may_review_the_run_replays_submits_or_reads_credit(
    kitchen: Client,
) -> None:
    cook, operator = await people(kitchen)
    run_id, _ = await failed_run(cook, operator)
    given = await environment(operator, run_id)
    found = await operator.attribute(run_id, method="shapley", environment=given)
    stranger = await kitchen.memory(agent="stranger", user="bob")
    evaluator = await kitchen.memory(agent="evaluator")  # reads every run, may review none
    for asked in (
        c.ReadForReplay(run_id=found.run_id),
        c.SubmitCredits(run_id=found.run_id, attribution=found),
        c.ReadCredits(run_id=found.run_id),
    ):
        with pytest.raises(NotFound):
            await stranger.ask(asked)
        with pytest.raises(AccessDenied):
            await evaluator.ask(asked)


@pytest.mark.covers("G1.credit")
async def test_credit_shows_no_memory_that_its_reader_may_not_read(kitchen: Client) -> None:
    cook, operator = await people(kitchen)
    run_id, memory_id = await failed_run(cook, operator)
    given = await environment(operator, run_id)
    await operator.attribute(run_id, method="shapley", environment=given)
    (shown,) = await cook.credits(run_id)
    assert memory_id in shown.model_dump_json()
    await cook.forget(memory_id)
    (shown,) = await cook.credits(run_id)
    assert memory_id not in shown.model_dump_json()


@pytest.mark.covers("credit.submitted")
async def test_labels_are_the_records_own_and_no_text_of_a_memory_is_kept_in_credit(
    kitchen: Client,
) -> None:
    cook, operator = await people(kitchen)
    run_id, memory_id = await failed_run(cook, operator)
    given = await environment(operator, run_id)
    found = await operator.attribute(run_id, method="shapley", environment=given, submit=False)
    lying = found.credits[0].target.model_copy(update={"label": "cook: blameless"})
    answer = await operator.ask(
        c.SubmitCredits(
            run_id=found.run_id,
            attribution=with_credit(found, target=lying).model_copy(update={"coverage": None}),
        )
    )
    (shown,) = await operator.credits(run_id)
    assert shown.attribution == found
    assert memory_id in answer.credited.model_dump_json()
    assert BAD not in answer.credited.model_dump_json()  # as it is kept


@pytest.mark.covers("credit.decision")
async def test_the_memories_behind_one_decision_are_told_without_an_outcome(
    kitchen: Client,
) -> None:
    cook, operator = await people(kitchen)
    for content in ("season the stew: hum a tune", BAD):
        await cook.write(content, scope="user:alice", type="preference")
    run_id, found = await cooked(cook)
    given = await environment(operator, run_id)
    decisions = [event.event_id for event in given.events if event.kind == "decision"]
    played = {"method": "shapley", "players": "memories", "environment": given}
    told = await operator.attribute(run_id, **played, decision=decisions[0])
    assert {c.target.id: (c.value, c.method) for c in told.credits} == {
        found.ids[0]: (1.0, "shapley of memories in a decision"),
        found.ids[1]: (0.0, "shapley of memories in a decision"),
    }
    assert await operator.credits(run_id) == ()
    unmoved = await operator.attribute(run_id, **played, decision=decisions[1])
    assert unmoved.abstained is not None  # nothing was offered to it
    for wrong in ({"decision": run_id}, {"decision": decisions[0], "players": "agents"}):
        with pytest.raises(InvalidInput, match="decision"):
            await operator.attribute(run_id, **{**played, **wrong})


async def test_a_replay_without_its_environment_or_of_unknown_kind_is_refused(
    kitchen: Client,
) -> None:
    cook, operator = await people(kitchen)
    run_id, _ = await failed_run(cook, operator)
    given = await environment(operator, run_id)
    with pytest.raises(InvalidInput, match="environment"):
        await operator.attribute(run_id, method="shapley")
    with pytest.raises(InvalidInput, match="not known"):
        await operator.attribute(run_id, method="guess", environment=given)
    with pytest.raises(InvalidInput, match="budget"):
        await operator.attribute(run_id, method="shapley", environment=given, budget=0)


@pytest.mark.covers("credit.spectrum")
async def test_comparable_runs_rank_decisions_and_say_what_a_memory_is_worth(
    kitchen: Client,
) -> None:
    cook, operator = await people(kitchen)
    fresh = await kitchen.memory(agent="cook", user="carol")
    run_id, memory_id = await failed_run(cook, operator)
    too_few = await operator.attribute(run_id, method="spectrum")
    assert too_few.abstained is not None
    assert "at least 3" in too_few.abstained.reason
    for _ in range(3):
        failed, _ = await cooked(cook)
        await operator.outcome(failed, -1.0)
        passed, found = await cooked(fresh)
        assert not found.hits
        await operator.outcome(passed, 1.0)
    ranked = await operator.attribute(run_id, method="spectrum")
    assert ranked.abstained is None
    assert ranked.scale == "score"
    assert ranked.credits[0].target.label == f"cook: {SPOILT}"
    assert ranked.credits[0].evidence == "statistical"
    assert [one.target.id for one in ranked.beside] == [memory_id]
    assert ranked.beside[0].value == -2.0
    assert await utility(kitchen, memory_id) < -0.3
    assert (await cook.attribute(run_id, method="spectrum")).abstained is not None  # sees its own


async def test_blame_points_at_the_decision_behind_an_open_failure(kitchen: Client) -> None:
    cook, operator = await people(kitchen)
    async with cook.run(goal="Bake", task_type="cook") as run:
        first = run.decide("season well")
        second = run.decide("bake cold", causes=[first])
        run.tool("taste", error="raw", causes=[second])
        run.tool("serve", result="served", causes=[second])
    await operator.outcome(run.id, -1.0)
    found = await operator.attribute(run.id, method="blame")
    assert {one.target.id: one.value for one in found.credits} == {first: 0.0, second: -1.0}


async def test_an_option_of_replays_without_an_environment_says_what_it_needs(
    kitchen: Client,
) -> None:
    cook, operator = await people(kitchen)
    run_id, _ = await failed_run(cook, operator)
    with pytest.raises(InvalidInput, match=r"give the `environment`.*spectrum"):
        await operator.attribute(run_id, players="memories")
