"""Every caller sees exactly what the plain model says, after every step of seeded histories.

`make simulate SEEDS=1000 STEPS=1000` plays more and longer ones. A seed that fails is printed; it
goes into `KNOWN` with the step it failed at, so that it is played ever after.
"""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.simulation.history import play

SEEDS = int(os.environ.get("HINDSIGHT_SEEDS", "100"))
STEPS = int(os.environ.get("HINDSIGHT_STEPS", "300"))
FIRST = int(os.environ.get("HINDSIGHT_FIRST_SEED", "1"))

KNOWN: dict[str, tuple[int, int]] = {}  # what went wrong once: its seed, and steps until there

Playing = dict[int, Future[dict[str, int]]]


def _play(seed: int, steps: int) -> dict[str, int]:
    return asyncio.run(play(seed, steps))


@pytest.fixture(scope="module")
def playing(request: pytest.FixtureRequest) -> Iterator[Playing]:
    """The seeds that are asked for, each played in a process beside: as many as there are cores."""
    calls = [getattr(item, "callspec", None) for item in request.session.items]
    seeds = [call.params["seed"] for call in calls if call is not None and "seed" in call.params]
    asked = [seed for seed in seeds if isinstance(seed, int) and FIRST <= seed < FIRST + SEEDS]
    workers = min(os.cpu_count() or 1, len(asked))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield {seed: pool.submit(_play, seed, STEPS) for seed in dict.fromkeys(asked)}
        pool.shutdown(cancel_futures=True)


@pytest.mark.covers("G1.oracle")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_everybody_sees_exactly_what_the_model_says(playing: Playing, seed: int) -> None:
    counts = playing[seed].result()
    assert sum(number for what, number in counts.items() if what.startswith("step")) == STEPS


@pytest.mark.parametrize("name", KNOWN)
async def test_what_went_wrong_once_does_not_again(name: str) -> None:
    await play(*KNOWN[name])


async def test_a_seed_is_one_history() -> None:
    assert await play(4_711, 40) == await play(4_711, 40)
