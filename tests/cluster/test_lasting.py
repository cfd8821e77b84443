"""`up` and `down`: a deployment that outlives its starters, and a home that is left in order."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_ray import compose
from hindsight_ray.actors.shell import STOPPING
from hindsight_ray.adapters.home import deployment_address
from hindsight_ray.adapters.starting import Head, noted_head

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
# Ends a deployment, is interrupted when that has begun, and begins it again.
_CUT_SHORT = """
import asyncio, os, signal, sys
from hindsight_ray import compose
from hindsight_ray.actors import deployment
from hindsight_ray.errors import InvalidSettings, Unavailable

home, settings = sys.argv[1], {"embedding": "hashed", "brokers": 1, "recorder_hosts": 1}

async def refused(kind, asked):
    try:
        await asked
    except kind as error:
        print(error.message)

async def main():
    found = await compose.up(home, **settings)
    await refused(InvalidSettings, compose.up(home, **{**settings, "brokers": 3}))
    host = dict(found.pids)["recorder_host-0"]
    os.kill(host, signal.SIGSTOP)
    ending = asyncio.create_task(compose.down(home=home))
    while not await deployment.half_ended():
        await asyncio.sleep(0.01)
    ending.cancel()
    await asyncio.gather(ending, return_exceptions=True)
    os.kill(host, signal.SIGCONT)
    await refused(Unavailable, compose.connect(home=home))
    again = await compose.up(home, **settings)
    async with compose.connect(home=home) as client:
        ticket = await client.issue_ticket(tenant="acme", agent="planner", user="ivan")
        print((await client.as_caller(ticket).write("Kept after all")).result)
    return again.actors

print(sum(actor.pid > 0 for actor in asyncio.run(main())))
"""


def _process(text: str, argument: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", text, argument], stdout=subprocess.PIPE, text=True
    )


def _said(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate()
    assert process.returncode == 0
    return out.strip().splitlines()[-1]


def _runs(head: Head) -> bool:
    """Whether this process is still there, and no zombie that nobody has noticed."""
    line = Path(f"/proc/{head.pid}/cmdline")
    return line.exists() and b"--head" in line.read_bytes()


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


@pytest.mark.covers("cluster.ended", "cluster.settings")
@pytest.mark.timeout(240)
def test_a_start_that_was_killed_and_an_end_that_was_interrupted_are_put_right_by_the_next(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    killed = _process(_UP, str(home))
    while (left := noted_head(home)) is None:
        assert killed.poll() is None
    killed.kill()
    killed.communicate()
    try:
        said = _process(_CUT_SHORT, str(home)).communicate()[0].splitlines()
        assert "`hindsight-ray scale` changes it" in said[-4]
        assert said[-3:] == [STOPPING, "stored", "6"]
        assert not _runs(left)
        standing = noted_head(home)
        assert standing is not None
    finally:
        ended = _said(_process(_DOWN, str(home)))
    assert ended == "True"
    assert not _runs(standing)
    assert (noted_head(home), deployment_address(home)) == (None, None)
