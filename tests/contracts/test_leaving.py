"""What a process leaves unshipped when it ends is said, with how much it is."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from hindsight_ray.client.leaving import told

pytestmark = pytest.mark.covers("record.left")


@dataclass(frozen=True, slots=True)
class _Run:
    id: str
    unshipped: int


def test_nothing_left_is_nothing_said() -> None:
    assert told([]) == ""
    assert told([_Run("a", 0)]) == ""


def test_what_is_left_is_counted_by_run_and_not_listed_without_end() -> None:
    assert "5 recorded events" in told([_Run("a", 2), _Run("b", 0), _Run("c", 3)])
    said = told([_Run(f"run-{number}", 1) for number in range(8)])
    assert "8 recorded events" in said
    assert "1 of run run-4 and 3 more runs" in said
    assert "run-5" not in said


_ENDS = """
import sqlite3, sys
import hindsight_ray as hr
home = sys.argv[1]
hindsight = hr.open_sync(home, embedding="hashed", lock_wait_s=0.2)
ticket = hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
run = hindsight.as_caller(ticket).run(goal="g")
run.decide("kept")
run.flush()
other = sqlite3.connect(home + "/hindsight.sqlite3", isolation_level=None)
other.execute("BEGIN IMMEDIATE")  # nothing more can be shipped
for number in range(3):
    run.decide(f"lost {number}")
print(run.id)
"""


def test_a_process_that_ends_without_closing_says_what_it_loses(tmp_path: Path) -> None:
    code = [sys.executable, "-c", _ENDS, str(tmp_path / "home")]
    done = subprocess.run(code, capture_output=True, text=True, check=True)
    run_id = done.stdout.strip()
    assert "3 recorded events that were not shipped" in done.stderr
    assert f"3 of run {run_id}" in done.stderr


def test_a_process_that_closes_says_nothing(tmp_path: Path) -> None:
    code = _ENDS.replace('other.execute("BEGIN IMMEDIATE")', "pass") + "hindsight.close()\n"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "home")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "not shipped" not in done.stderr
