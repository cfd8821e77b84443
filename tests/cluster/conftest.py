"""One local cluster and one deployment for all tests of this folder; they are slow to start."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from hindsight_ray import compose
from hindsight_ray.actors import cluster as clusters
from hindsight_ray.actors.plan import Deployed
from hindsight_ray.client.sync import Synchronous
from hindsight_ray.domain.caller import Ticket

STARTERS = 4
TENANT = "acme"


class Team:
    """The deployment, a client of it, and the means to harm its processes."""

    def __init__(self, home: Path, client: Synchronous, authorities: set[int]) -> None:
        self.home = home
        self.client = client
        self.authorities = authorities  # what each of several starters found
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
def started_by(home: str) -> int:
    """Start or join the deployment as any driver would; the authority's process id."""

    async def main() -> int:
        client = await compose.connect(home=home, embedding="hashed")
        found = await compose.status(home=home)
        await client.close()
        assert found is not None
        return dict(found.pids)["authority-0"]

    return asyncio.run(main())


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    home = tmp_path_factory.mktemp("deployment") / "home"
    tie = clusters.attach(None)
    try:
        found = ray.get([started_by.remote(str(home)) for _ in range(STARTERS)])
        client = compose.connect_sync(home=home)
        try:
            yield Team(home, client, set(found))
        finally:
            client.close()
        asyncio.run(compose.down(home=home))
    finally:
        tie.leave()
