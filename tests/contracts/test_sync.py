"""The synchronous client: the same calls, no `await`, from whatever kind of code."""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.client import Connection, LoopThread, Synchronous
from hindsight_ray.client.sync import opened
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.errors import InvalidInput, NotFound, Unavailable
from tests.clients import connected


def opened_in(path: Path) -> Synchronous:
    connection, _, _, loop = asyncio.run(connected(path))

    async def connect(_loop: LoopThread) -> Connection:
        return connection

    client = opened(connect)
    client.world_loop = loop  # kept, so that the world's own loop lives as long as the client
    return client


@pytest.fixture
def hindsight(tmp_path: Path) -> Generator[Any]:
    with opened_in(tmp_path) as client:
        yield client
    client.world_loop.stop()


def test_the_example_reads_the_same_without_await(hindsight: Any) -> None:
    ticket = hindsight.issue_ticket(tenant="acme", agent="planner", user="alice", session="s1")
    assert isinstance(ticket, Ticket)
    memory = hindsight.as_caller(ticket)
    with memory.run(goal="Restore checkout", task_type="operate", tools=["deploy"]) as run:
        choice = run.decide("Roll back release 41")
        call = run.tool("deploy.rollback", arguments={"release": 41}, result="ok", causes=[choice])
        run.message(to="executor", text="rolled back", causes=[call])
        run.outcome(1.0, evaluator="monitor")
    read = memory.trajectory(run)
    assert [event.kind for event in read.events] == ["decision", "tool", "message"]
    assert run.closure.events == 3
    executor = hindsight.as_caller(hindsight.issue_ticket(tenant="acme", agent="x", user="alice"))
    with memory.run(goal="another") as run, executor.join(run.id) as joined:
        joined.state("here")
        assert joined.flush().stored == 1


def test_errors_arrive_as_they_are(hindsight: Any) -> None:
    ticket = hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
    memory = hindsight.as_caller(ticket)
    with pytest.raises(InvalidInput):
        memory.trajectory("nonsense")
    with pytest.raises(NotFound):
        memory.join("00000000-0000-5000-8000-0000000000aa")
    with pytest.raises(AttributeError):
        memory.no_such_verb()
    with pytest.raises(TypeError, match="no `with`"), memory:
        pass


# Uses what it was forked with: a call, an event, and then a client of its own.
_FORKED = """
import os, sys
from hindsight_ray import compose
from hindsight_ray.errors import Unavailable

with compose.open_sync(sys.argv[1], embedding="hashed") as client:
    ticket = client.issue_ticket(tenant="acme", agent="planner", user="alice")
    memory = client.as_caller(ticket)
    run = memory.run(goal="Fork", task_type="test").__enter__()
    child = os.fork()
    if child == 0:
        for ask in (lambda: memory.search("x"), lambda: run.decide("x"), client.tenants):
            try:
                ask()
            except Unavailable as error:
                assert "forked" in error.message
            else:
                os._exit(1)
        with compose.open_sync(sys.argv[1]) as mine:
            mine.as_caller(ticket).write("Kept by the child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    run.decide("go on")
    run.__exit__(None, None, None)
    print(len(memory.search("kept by the child").ids), run.closure.events)
"""


def test_a_forked_process_is_told_to_open_a_client_of_its_own(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _FORKED, str(tmp_path / "home")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.split() == ["1", "1"], done.stderr


def test_it_works_inside_a_running_event_loop(hindsight: Any) -> None:
    """As in an actor with an asynchronous method that calls older code."""
    ticket = hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")

    async def older_code() -> int:
        with hindsight.as_caller(ticket).run(goal="g") as run:
            run.decide("d")
            return run.flush().stored

    assert asyncio.run(older_code()) == 1


def test_a_closed_client_says_so(tmp_path: Path) -> None:
    client = opened_in(tmp_path)
    ticket = client.issue_ticket(tenant="acme", agent="planner", user="alice")
    memory = client.as_caller(ticket)
    client.close()
    client.close()
    with pytest.raises(Unavailable, match="closed"):
        memory.runs()
    client.world_loop.stop()
