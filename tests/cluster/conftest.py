"""One local cluster and one deployment for all tests of this folder; they are slow to start."""

import asyncio
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import ray

from hindsight_ray import compose
from hindsight_ray.actors import cluster as clusters
from hindsight_ray.actors.plan import Deployed
from hindsight_ray.client.sync import Synchronous
from hindsight_ray.domain.caller import Ticket
from tests.stores import kills

STATEMENT = "Sam wants reports on Mondays"
STARTERS = 20
TENANT = "acme"
_LOOPS = 5 if kills() <= 3 else 1  # `make crash` gives each starter a process of its own


class Team:
    """The deployment, a client of it, and the means to harm its processes."""

    def __init__(self, home: Path, client: Synchronous, started: list[tuple[int, str]]) -> None:
        self.home = home
        self.client = client
        self.started = started  # the authority's process and the memory that each starter met
        self._commands = 0

    def ticket(self, agent: str, user: str | None = None, tenant: str = TENANT) -> Ticket:
        return self.client.issue_ticket(tenant=tenant, agent=agent, user=user)

    def memory(self, agent: str, user: str | None = None, tenant: str = TENANT) -> Any:
        return self.client.as_caller(self.ticket(agent, user, tenant))

    def command(self) -> str:
        self._commands += 1
        return f"command-{self._commands}"

    def deployed(self) -> Deployed:
        found = asyncio.run(compose.status(home=self.home))
        assert found is not None
        return found

    def kill(self, actor: str) -> int:
        """End an actor's process as a machine would; its process id."""
        pid = dict(self.deployed().pids)[actor]
        assert pid > 0
        os.kill(pid, signal.SIGKILL)
        return pid

    def restarted(self, actor: str, killed: int) -> int:
        """The process id of the successor, once it answers."""
        for _ in range(20):
            pid = dict(self.deployed().pids)[actor]
            if pid not in (0, killed):
                return pid
        raise AssertionError(f"{actor} was not restarted")


@ray.remote
def started_by(home: str, at_once: int) -> list[tuple[int, str]]:
    """Start or join the deployment as any driver would, from so many event loops at once.

    For each the authority's process id, and the memory that it found or made of one statement.
    """

    async def main() -> tuple[int, str]:
        async with compose.connect(home=home, embedding="hashed") as client:
            found = await compose.status(home=home)
            assert found is not None
            ticket = await client.issue_ticket(tenant=TENANT, agent="starter", user="sam")
            kept = await client.as_caller(ticket).write(STATEMENT, scope="user:sam")
            return dict(found.pids)["authority-0"], kept.ids[0]

    with ThreadPoolExecutor(at_once) as loops:
        return list(loops.map(lambda _: asyncio.run(main()), range(at_once)))


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    home = tmp_path_factory.mktemp("deployment") / "home"
    tie = clusters.attach(None)
    try:
        starters = [started_by.remote(str(home), _LOOPS) for _ in range(STARTERS // _LOOPS)]
        found = [one for some in ray.get(starters) for one in some]
        client = compose.connect_sync(home=home)
        try:
            yield Team(home, client, found)
        finally:
            client.close()
        asyncio.run(compose.down(home=home))
    finally:
        tie.leave()
