"""A process is killed while it records: what was acknowledged is there, whole and in order."""

import subprocess
import sys
from pathlib import Path

import pytest

import hindsight_ray as hr

_ROOT = Path(__file__).parents[2]
_CHILD = """
import sys
import hindsight_ray as hr

with hr.open_sync(sys.argv[1]) as hindsight:
    ticket = hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
    with hindsight.as_caller(ticket).run(goal="Count") as run:
        print(run.id, flush=True)
        number = 0
        while True:
            for _ in range(7):
                run.state(f"step {number}")
                number += 1
            done = run.flush()
            print(done.stored + done.repeated, flush=True)
"""


def recorded_and_killed(home: Path, acknowledgements: int) -> tuple[str, int]:
    """The run's id and how many events were acknowledged when the process was killed."""
    command = [sys.executable, "-c", _CHILD, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as child:
        assert child.stdout is not None
        run_id = child.stdout.readline().strip()
        lines = [child.stdout.readline() for _ in range(acknowledgements)]
        child.kill()
        lines += [line for line in child.stdout if line.endswith("\n")]
    return run_id, int(lines[-1])


@pytest.mark.covers("G3.kill", "record.flush")
@pytest.mark.parametrize("acknowledgements", [1, 9])
async def test_events_that_flush_acknowledged_survive_a_kill(
    tmp_path: Path, acknowledgements: int
) -> None:
    run_id, acknowledged = recorded_and_killed(tmp_path, acknowledgements)
    async with hr.open(tmp_path) as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
        memory = hindsight.as_caller(ticket)
        read = await memory.trajectory(run_id)
        assert len(read.events) >= acknowledged >= 7 * acknowledgements
        assert [event.seq for event in read.events] == list(range(len(read.events)))
        assert read.run.closed_at is None
        async with memory.join(run_id) as run:  # a successor goes on where it broke off
            run.state("again")
            assert (await run.flush()).gaps == ()
