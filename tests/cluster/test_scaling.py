"""A deployment gets more and fewer processes while it works; nobody loses order or a record."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
import ray

from hindsight_ray import compose
from hindsight_ray.actors import deployment
from hindsight_ray.actors.roles import NAMESPACE, Crew
from hindsight_ray.errors import HindsightError
from tests.cluster.conftest import Team

_ray: Any = ray  # typed in part only
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


class Stray:
    """Bears the name of a deployment's actor and was left by another one."""

    async def drain(self, leaving: bool = False) -> None: ...


_stray = _ray.remote(num_cpus=0)(Stray)


def _there() -> set[str]:
    found = _ray.util.list_named_actors(all_namespaces=True)
    return {one["name"] for one in found if one["namespace"] == NAMESPACE}


def _crew() -> Crew | None:
    """How many there are by now, which waits for none of them but the authority."""
    return asyncio.run(deployment.crew_now())


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


@pytest.mark.covers("cluster.crew", "cluster.scale")
@pytest.mark.timeout(240)
def test_whoever_is_not_of_the_crew_goes_though_the_authority_is_killed_in_the_middle_of_it(
    team: Team,
) -> None:
    before = team.deployed().crew

    async def both() -> None:
        await asyncio.gather(
            compose.scale(home=team.home, brokers=before.brokers + 1),
            compose.scale(home=team.home, recorder_hosts=before.recorder_hosts + 1),
        )

    asyncio.run(both())
    grown = team.deployed()
    assert (grown.crew.brokers, grown.crew.recorder_hosts) == (
        before.brokers + 1, before.recorder_hosts + 1,
    )  # fmt: skip
    pids = dict(grown.pids)
    leaving = pids[f"broker-{before.brokers}"]
    os.kill(leaving, signal.SIGSTOP)  # it cannot finish what it has in hand
    try:
        scaling = threading.Thread(
            target=_scaled, args=(team, before.brokers, before.recorder_hosts)
        )
        scaling.start()
        while _crew() != before:
            pass
        os.kill(pids["authority-0"], signal.SIGKILL)
    finally:
        os.kill(leaving, signal.SIGCONT)
    scaling.join()
    assert _there() == set(before.names())
    _stray.options(name="broker-77", namespace=NAMESPACE, lifetime="detached").remote()
    pipeline = _stray.options(name="pipeline-1", namespace=NAMESPACE, lifetime="detached").remote()
    with compose.connect_sync(home=team.home):
        assert _there() == {*before.names(), "pipeline-1"}
    _ray.kill(pipeline)
