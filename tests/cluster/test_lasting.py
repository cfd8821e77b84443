"""`up` and `down`: a deployment that outlives its starters, and a home that is left in order."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_ray import compose
from hindsight_ray.adapters.home import deployment_address

_UP = """
import asyncio, json, sys
from hindsight_ray import compose

found = asyncio.run(compose.up(sys.argv[1], embedding="hashed", brokers=1, recorder_hosts=1))
print(json.dumps({"address": found.address, "authority": dict(found.pids)["authority-0"]}))
"""
_WRITE = """
import sys
from hindsight_ray import compose

with compose.connect_sync(address=sys.argv[1]) as client:
    memory = client.as_caller(client.issue_ticket(tenant="acme", agent="planner", user="ivan"))
    with memory.run(goal="Leave something behind", task_type="test") as run:
        run.decide("write it down")
    memory.write("Left by a process that has ended", command_id="left")
    print(run.id)
"""
_JOIN = """
import sys
import ray
from hindsight_ray import compose

with compose.connect_sync(home=sys.argv[1]) as client:
    client.issue_ticket(tenant="acme", agent="planner", user="ivan")
print(ray.is_initialized())
"""
_DOWN = """
import asyncio, sys
from hindsight_ray import compose

print(asyncio.run(compose.down(home=sys.argv[1])))
"""


def _process(text: str, argument: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", text, argument], stdout=subprocess.PIPE, text=True
    )


def _said(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate()
    assert process.returncode == 0
    return out.strip().splitlines()[-1]


@pytest.mark.timeout(240)
def test_two_processes_that_start_at_once_get_one_deployment_which_leaves_its_home_in_order(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    starters = [_process(_UP, str(home)) for _ in range(2)]
    try:
        first, second = (json.loads(_said(starter)) for starter in starters)
        assert first == second
        assert first["authority"] > 0
        assert deployment_address(home) == first["address"]
        run_id = _said(_process(_WRITE, first["address"]))
        assert _said(_process(_JOIN, str(home))) == "False"  # who has left is part of it no more
    finally:
        ended = _said(_process(_DOWN, str(home)))
    assert ended == "True"
    assert deployment_address(home) is None
    assert asyncio.run(compose.status(home=home)) is None
    with compose.open_sync(home) as client:
        memory = client.as_caller(client.issue_ticket(tenant="acme", agent="planner", user="ivan"))
        assert len(memory.trajectory(run_id).events) == 1
        assert len(memory.search("left by a process").ids) == 1
