"""A deployment gets more and fewer processes while it works; nobody loses order or a record."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_ray import compose
from hindsight_ray.errors import HindsightError
from tests.cluster.conftest import Team

_AGENTS = 6
_BATCHES = 30


class Stream(threading.Thread):
    """Does one thing after another and remembers what was acknowledged."""

    def __init__(self, count: int, step: Callable[[int], Any]) -> None:
        super().__init__()
        self._count = count
        self._step = step
        self.acknowledged: list[Any] = []
        self.failure: HindsightError | None = None

    def run(self) -> None:
        try:
            for i in range(self._count):
                self.acknowledged.append(self._step(i))
        except HindsightError as failure:
            self.failure = failure

    def finished(self) -> list[Any]:
        self.join()
        if self.failure is not None:
            raise self.failure
        return self.acknowledged


def _scaled(team: Team, brokers: int, hosts: int) -> None:
    found = asyncio.run(compose.scale(home=team.home, brokers=brokers, recorder_hosts=hosts))
    assert (found.crew.brokers, found.crew.recorder_hosts) == (brokers, hosts)
    assert all(pid > 0 for _, pid in found.pids)


@pytest.mark.covers("cluster.scale")
@pytest.mark.timeout(240)
def test_scaling_up_and_down_amid_work_keeps_order_and_everything_acknowledged(team: Team) -> None:
    before = team.deployed().crew
    memories = [team.memory(f"scaled-{i}", "ken") for i in range(_AGENTS)]
    runs = [memory.run(goal=f"Count {i}", task_type="count") for i, memory in enumerate(memories)]
    stop = threading.Event()

    def recorder(i: int) -> Stream:
        def step(number: int) -> str | None:
            if number >= _BATCHES and stop.is_set():
                return None
            runs[i].decide(f"step {number}")
            runs[i].flush()
            return f"step {number}"

        return Stream(400, step)

    def write(number: int) -> tuple[str, ...]:
        if number >= _BATCHES and stop.is_set():
            return ()
        text = f"Crate {number} holds item {number * 7919}"
        return memories[0].write(text, scope="user:ken", command_id=f"crate-{number}").ids

    streams = [*(recorder(i) for i in range(_AGENTS)), Stream(400, write)]
    for stream in streams:
        stream.start()
    try:
        _scaled(team, 3, 4)
        _scaled(team, 1, 1)
    finally:
        stop.set()
    *recorded, written = [stream.finished() for stream in streams]
    for memory, run, said in zip(memories, runs, recorded, strict=True):
        run.close()
        acknowledged = [one for one in said if one is not None]
        assert len(acknowledged) >= _BATCHES
        trajectory = memory.trajectory(run.id)
        assert [event.summary for event in trajectory.events] == acknowledged
        assert trajectory.gaps == ()
    ids = [name for ids in written for name in ids]
    assert len(ids) == len(set(ids)) >= _BATCHES
    assert [memories[0].get(name).content.split()[1] for name in ids] == [
        str(number) for number in range(len(ids))
    ]
    killed = team.kill("authority-0")  # its successor remembers how many there are
    team.restarted("authority-0", killed)
    assert team.deployed().crew.brokers == 1
    _scaled(team, before.brokers, before.recorder_hosts)
    states = {one.name: one for one in team.deployed().actors}
    assert states["broker-0"].answered > 0
    assert len({one.revision for name, one in states.items() if name != "models-0"}) == 1
