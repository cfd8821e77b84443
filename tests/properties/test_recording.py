"""However the way to the memory fails, what was recorded arrives once, whole and in order."""

import random
from pathlib import Path

import pytest

from hindsight_ray.client import shipping
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.commands import Command
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import Busy, Unavailable
from tests.clients import client

_FAILING = (c.RecordEvents, c.AssertOutcome, c.CloseRun)


class Storm:
    """Fails commands by chance, until its strength is spent."""

    def __init__(self, chance: random.Random, strength: int) -> None:
        self._chance = chance
        self.strength = strength

    def __call__(self, command: Command) -> None:
        if isinstance(command, _FAILING) and self.strength and self._chance.random() < 0.5:
            self.strength -= 1
            raise self._chance.choice((Busy, Unavailable))("`transport` failed")


@pytest.mark.covers("G3.commands", "G3.faults", "record.order")
@pytest.mark.parametrize("seed", range(12))
async def test_events_arrive_once_and_in_order_through_any_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(shipping, "_PAUSE_FIRST_S", 0.0)
    chance = random.Random(seed)
    settings = Settings(
        buffer_events=chance.randint(2, 40), batch_events=chance.randint(1, 10), lock_wait_s=5.0
    )
    async with client(tmp_path, settings=settings) as home:
        memory = await home.memory(agent="planner", user="alice")
        run = await memory.run(goal="g")
        home.transport.before = Storm(chance, strength=10)
        home.transport.after = Storm(chance, strength=10)
        wanted: list[str] = []
        for number in range(chance.randint(20, 60)):
            run.state(f"step {number}")
            wanted.append(f"step {number}")
            if chance.random() < 0.2:
                try:
                    await run.flush()
                except (Busy, Unavailable):
                    assert run.unshipped >= 0
        run.outcome(0.5)
        while run.closure is None:
            try:
                flushed = await run.close()
            except (Busy, Unavailable):
                continue
        read = await memory.trajectory(run)
        assert [event.summary for event in read.events] == wanted
        assert [event.seq for event in read.events] == list(range(len(wanted)))
        assert flushed.stored + flushed.repeated == len(wanted)
        assert [(one.value, one.revision) for one in read.outcomes] == [(0.5, 1)]
        assert (read.gaps, read.dangling) == ((), ())
