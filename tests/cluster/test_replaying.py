"""Replays as tasks of the cluster: the same credit for any number of workers, whoever dies."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.actors.tasks import RayTasks
from hindsight_ray.adapters.tasks.local import LocalTasks
from tests.cluster.conftest import Team
from tests.kitchens import Kitchen, cooked


def squared(number: int) -> int:
    return number * number


class DiesOnce:
    """A job whose first worker is killed in the middle of it, as a machine would."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __call__(self, number: int) -> int:
        if number == 7 and not self._mark.exists():
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number


def refuses(number: int) -> int:
    raise ValueError(f"{number} is refused")


@pytest.mark.covers("credit.workers")
def test_results_come_in_order_for_any_number_of_workers(team: Team) -> None:
    numbers = list(range(50))
    for workers in (1, 2, 3):
        heard: dict[int, int] = {}
        found = asyncio.run(RayTasks(workers).map(squared, numbers, done=heard.__setitem__))
        assert list(found) == [n * n for n in numbers]
        assert heard == dict(enumerate(found))
    assert asyncio.run(RayTasks(2).map(squared, [])) == []


@pytest.mark.covers("credit.workers")
def test_a_worker_that_dies_costs_no_result(team: Team, tmp_path: Path) -> None:
    found = asyncio.run(RayTasks(2).map(DiesOnce(tmp_path / "died"), list(range(20))))
    assert (tmp_path / "died").exists()
    assert list(found) == [n * n for n in range(20)]


def test_the_error_of_a_job_is_raised_as_it_is(team: Team) -> None:
    with pytest.raises(ValueError, match="is refused"):
        asyncio.run(RayTasks(2).map(refuses, [1, 2, 3]))


@pytest.mark.covers("credit.workers")
async def test_a_client_of_the_cluster_replays_on_it_and_finds_what_is_found_here(
    team: Team,
) -> None:
    cook, operator = _memories(team)
    await cook.write("season the stew: salt twice", scope="user:stewart", type="preference")
    run_id, _ = await cooked(cook, goal="Cook on a cluster")
    await operator.outcome(run_id, -1.0)
    given = Kitchen((await operator.trajectory(run_id)).events)
    there = await operator.attribute(run_id, method="shapley", environment=given)
    here = await operator.attribute(
        run_id, method="shapley", environment=given, workers=LocalTasks(), submit=False
    )
    assert there == here
    assert there.credits[0].value == pytest.approx(-2.0)
    assert [one.attribution for one in await operator.credits(run_id)] == [there]


def _memories(team: Team) -> tuple[Any, Any]:
    """The asynchronous memories behind the team's synchronous ones."""
    hindsight: Any = team.client.target
    return hindsight.as_caller(team.ticket("cook", "stewart")), hindsight.operator("acme")
