"""Every caller sees exactly what the plain model says, after every step of seeded histories.

`make simulate SEEDS=1000 STEPS=1000` plays more and longer ones. A seed that fails is printed; it
goes into `KNOWN` with the step it failed at, so that it is played ever after.
"""

import os

import pytest

from tests.simulation.history import play

SEEDS = int(os.environ.get("HINDSIGHT_SEEDS", "8"))
STEPS = int(os.environ.get("HINDSIGHT_STEPS", "300"))
FIRST = int(os.environ.get("HINDSIGHT_FIRST_SEED", "1"))

KNOWN: dict[str, tuple[int, int]] = {}  # what went wrong once: its seed, and steps until there


@pytest.mark.covers("G1.oracle")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
async def test_everybody_sees_exactly_what_the_model_says(seed: int) -> None:
    counts = await play(seed, STEPS)
    assert sum(number for what, number in counts.items() if what.startswith("step")) == STEPS


@pytest.mark.parametrize("name", KNOWN)
async def test_what_went_wrong_once_does_not_again(name: str) -> None:
    await play(*KNOWN[name])


async def test_a_seed_is_one_history() -> None:
    assert await play(4_711, 40) == await play(4_711, 40)
