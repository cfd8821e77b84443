"""Attribution in stages: cheap evidence shortlists, replay decides, a budget bounds it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import numpy as np
import pytest

from hindsight_ray.client import Memory
from hindsight_ray.core.attribution.features import FEATURES
from hindsight_ray.core.attribution.prior import Prior
from hindsight_ray.errors import InvalidInput
from tests.clients import Client, client
from tests.kitchens import SPOILT, Kitchen, digest_of

_COOKS = 12


@pytest.fixture
async def kitchen(tmp_path: Path) -> AsyncGenerator[Client]:
    async with client(tmp_path / "home") as opened:
        yield opened


async def _spoilt(cook: Memory, at: int | None, *, noticed: bool = False) -> tuple[str, list[str]]:
    """A run of many choices of which one spoilt the dish; its id and the choices' ids."""
    made: list[str] = []
    ids: list[str] = []
    async with cook.run(goal="Cook a stew", task_type="cook", seed=3) as run:
        last: str | None = None
        for n in range(_COOKS):
            run.state(f"before choice {n}", state_digest=digest_of(made))
            made.append(SPOILT if n == at else "season well")
            causes = [last] if last else []
            last = run.decide(made[-1], causes=causes, edge_evidence="observed")
            ids.append(last)
            if noticed and n == at:
                run.tool("taste", error="far too salty", causes=[last], edge_evidence="observed")
        run.tool("serve", result="served", causes=[str(last)], edge_evidence="observed")
    return run.id, ids


async def _people(kitchen: Client) -> tuple[Memory, Memory]:
    return await kitchen.memory(agent="cook", user="alice"), kitchen.hindsight.operator("acme")


@pytest.mark.covers("staged.shortlist")
async def test_where_a_failure_points_is_replayed_first(kitchen: Client) -> None:
    cook, operator = await _people(kitchen)
    run_id, ids = await _spoilt(cook, 10, noticed=True)
    await operator.outcome(run_id, -1.0)
    given = Kitchen((await operator.trajectory(run_id)).events)
    found = await operator.attribute(run_id, method="staged", environment=given, group=3)
    assert found.abstained is None
    culprits = [one.target.id for one in found.credits if one.value < 0]
    assert culprits == [ids[10]]
    assert found.evaluations <= 2**3 + 1
    (kept,) = await operator.credits(run_id)
    assert kept.attribution == found


@pytest.mark.covers("staged.shortlist")
async def test_without_a_hint_groups_are_tried_in_order_of_time(kitchen: Client) -> None:
    cook, operator = await _people(kitchen)
    run_id, ids = await _spoilt(cook, 7)
    await operator.outcome(run_id, -1.0)
    given = Kitchen((await operator.trajectory(run_id)).events)
    found = await operator.attribute(run_id, environment=given, group=4)  # the default way
    assert found.method == "staged"
    assert [one.target.id for one in found.credits if one.value < 0] == [ids[7]]
    assert 2**4 < found.evaluations <= 2 * (2**4 + 1)


@pytest.mark.covers("staged.prior")
async def test_a_prior_orders_suspects_only_where_it_is_handed_over(kitchen: Client) -> None:
    cook, operator = await _people(kitchen)
    run_id, ids = await _spoilt(cook, 11)
    await operator.outcome(run_id, -1.0)
    given = Kitchen((await operator.trajectory(run_id)).events)
    weights = np.array([-9.0 if name == "early" else 0.0 for name in FEATURES])
    prior = Prior(weights, np.ones(len(FEATURES)))  # blames what is late
    plain = await operator.attribute(run_id, method="staged", environment=given, group=2)
    led = await operator.attribute(run_id, method="staged", environment=given, group=2, prior=prior)
    assert [one.target.id for one in led.credits if one.value < 0] == [ids[11]]
    assert led.evaluations < plain.evaluations


@pytest.mark.covers("staged.budget")
async def test_the_budget_bounds_all_groups_together(kitchen: Client) -> None:
    cook, operator = await _people(kitchen)
    run_id, _ = await _spoilt(cook, 11)
    await operator.outcome(run_id, -1.0)
    given = Kitchen((await operator.trajectory(run_id)).events)
    found = await operator.attribute(run_id, method="staged", environment=given, group=4, budget=20)
    assert found.evaluations <= 20
    assert found.abstained is not None
    assert f"of {_COOKS} decisions were tried" in found.abstained.reason


async def test_where_nobody_is_to_blame_it_abstains_and_says_what_it_tried(kitchen: Client) -> None:
    cook, operator = await _people(kitchen)
    run_id, _ = await _spoilt(cook, None)
    await operator.outcome(run_id, 1.0)
    given = Kitchen((await operator.trajectory(run_id)).events)
    found = await operator.attribute(run_id, method="staged", environment=given)
    assert found.abstained is not None
    assert f"{_COOKS} of {_COOKS} decisions were tried" in found.abstained.reason


async def test_without_an_environment_or_a_group_it_is_refused(kitchen: Client) -> None:
    cook, operator = await _people(kitchen)
    run_id, _ = await _spoilt(cook, 1)
    with pytest.raises(InvalidInput, match="environment"):
        await operator.attribute(run_id, method="staged")
    given = Kitchen((await operator.trajectory(run_id)).events)
    with pytest.raises(InvalidInput, match="group"):
        await operator.attribute(run_id, method="staged", environment=given, group=0)
