"""Independent jobs beside this process: the same results for any number of workers."""

import asyncio

import pytest

from benchmarks._planted import by_replay, made
from hindsight_ray.adapters.tasks.kept import KeptHere
from hindsight_ray.adapters.tasks.local import LocalTasks, chunk_size
from hindsight_ray.core.attribution.draws import draws_of
from hindsight_ray.service.replayed import Laboratory, Question, replayed


def halved(number: int) -> float:
    if number < 0:
        raise ValueError(f"{number} is refused")
    return number / 2


@pytest.mark.covers("credit.workers")
async def test_results_come_in_order_and_every_one_is_heard() -> None:
    for workers in (1, 2):
        heard: dict[int, float] = {}
        found = await LocalTasks(workers).map(halved, range(40), done=heard.__setitem__)
        assert list(found) == [n / 2 for n in range(40)]
        assert heard == dict(enumerate(found))


async def test_the_first_error_of_a_job_is_raised() -> None:
    for workers in (1, 2):
        with pytest.raises(ValueError, match="-1 is refused"):
            await LocalTasks(workers).map(halved, [1, -1, 2])


def test_chunks_leave_no_worker_idle_for_long_and_are_never_empty() -> None:
    assert [chunk_size(n, 2) for n in (0, 1, 15, 160, 10_000)] == [1, 1, 1, 10, 64]


@pytest.mark.covers("credit.workers")
@pytest.mark.parametrize("kind", ["two, erring again", "unused bad memory"])
def test_credit_is_the_same_for_one_worker_and_for_two(kind: str) -> None:
    case = made(kind, 4)
    lab = Laboratory(case.environment, LocalTasks(2), KeptHere(), draws_of(0))
    beside = asyncio.run(replayed(case.trajectory, case.texts, Question(), lab))
    assert beside == by_replay(case)
