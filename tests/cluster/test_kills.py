"""Actors end at any moment, as `kill -9` does it; what was acknowledged is there, once."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_ray import compose
from hindsight_ray.errors import HindsightError, HomeInUse
from tests.cluster.conftest import Team

BATCHES = 40
EVENTS_PER_BATCH = 5


class Stream(threading.Thread):
    """Does one thing after another and remembers what was acknowledged; `half` when half is."""

    def __init__(self, count: int, step: Callable[[int], Any]) -> None:
        super().__init__()
        self._count = count
        self._step = step
        self.half = threading.Event()
        self.acknowledged: list[Any] = []
        self.failure: HindsightError | None = None

    def run(self) -> None:
        try:
            for i in range(self._count):
                self.acknowledged.append(self._step(i))
                if i + 1 == self._count // 2:
                    self.half.set()
        except HindsightError as failure:
            self.failure = failure
        finally:
            self.half.set()

    def finished(self) -> list[Any]:
        self.join()
        if self.failure is not None:
            raise self.failure
        return self.acknowledged


def _struck(team: Team, stream: Stream, actors: tuple[str, ...]) -> list[Any]:
    """Run the stream, end the actors in the middle of it, and return what was acknowledged."""
    stream.start()
    stream.half.wait()
    killed = {actor: team.kill(actor) for actor in actors}
    acknowledged = stream.finished()
    for actor, pid in killed.items():
        team.restarted(actor, pid)
    return acknowledged


@pytest.mark.covers("G3.kill", "G3.restart")
def test_a_killed_recorder_host_loses_no_acknowledged_event_and_doubles_none(team: Team) -> None:
    memory = team.memory("recorded", "grace")
    run = memory.run(goal="Count to the end", task_type="count")

    def batch(number: int) -> int:
        for i in range(EVENTS_PER_BATCH):
            run.decide(f"step {number}.{i}")
        run.flush()
        return number

    hosts = tuple(name for name in team.deployed().crew.names() if name.startswith("recorder"))
    assert len(_struck(team, Stream(BATCHES, batch), hosts)) == BATCHES
    run.close()
    trajectory = memory.trajectory(run.id)
    expected = [f"step {b}.{i}" for b in range(BATCHES) for i in range(EVENTS_PER_BATCH)]
    assert [event.summary for event in trajectory.events] == expected
    assert trajectory.gaps == ()


@pytest.mark.covers("G3.kill", "G3.restart")
def test_killed_brokers_lose_no_acknowledged_memory_and_double_none(team: Team) -> None:
    memory = team.memory("writer", "heidi")

    def write(number: int) -> tuple[str, ...]:
        receipt = memory.write(
            f"Shelf {number} holds item {number * 7919}", scope="user:heidi",
            command_id=f"shelf-{number}",
        )  # fmt: skip
        return receipt.ids

    brokers = tuple(name for name in team.deployed().crew.names() if name.startswith("broker"))
    acknowledged = _struck(team, Stream(BATCHES, write), brokers)
    ids = [name for ids in acknowledged for name in ids]
    assert len(ids) == len(set(ids)) == BATCHES
    assert [memory.get(name).content.split()[1] for name in ids] == [
        str(number) for number in range(BATCHES)
    ]
    assert [write(number) for number in range(BATCHES)] == acknowledged


@pytest.mark.covers("G3.restart")
def test_a_killed_authority_keeps_grants_revocations_and_the_home(team: Team) -> None:
    owner = team.memory("landlord")
    ended = team.ticket("ended")
    team.client.operator("acme").revoke_ticket(ended.caller.ticket_id)

    def share(number: int) -> int:
        return owner.share(
            "agent:landlord", to=f"agent:guest-{number}", command_id=f"grant-{number}"
        ).revision

    revisions = _struck(team, Stream(12, share), ("authority-0",))
    assert revisions == sorted(set(revisions))
    owner.write("The key is under the mat", scope="agent:landlord", command_id=team.command())
    for number in range(12):
        found = team.memory(f"guest-{number}").search("key", scopes=["agent:landlord"])
        assert len(found.ids) == 1
        assert found.revision >= revisions[-1]
    with pytest.raises(Exception, match="not valid here"):
        team.client.as_caller(ended).search("key")
    with pytest.raises(HomeInUse):
        compose.open_sync(team.home)
