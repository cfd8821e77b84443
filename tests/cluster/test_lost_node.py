"""Two nodes over one PostgreSQL: one is lost in the middle of writing, and nothing with it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ledgers import new_database
from tests.servers.postgres import Postgres

_ROOT = Path(__file__).parents[2]


@pytest.mark.covers("cluster.node")
@pytest.mark.timeout(400)
def test_a_node_that_is_lost_amid_work_takes_nothing_acknowledged_along(
    postgres_server: Postgres, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.cluster.losing_a_node", str(tmp_path / "home")],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        env={**os.environ, "HINDSIGHT_POSTGRES_DSN": new_database(postgres_server)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.strip().splitlines()[-1])
    # Which actors a node has is a preference; whoever acknowledges must be among the lost.
    assert {name.split("-")[0] for name in said["lost"]} & {"broker", "recorder_host"}
    for writer in said["writers"]:
        assert len(writer["events"]) == len(writer["memories"]) == said["steps"]
        assert writer["found"] == writer["events"]
        assert writer["gaps"] == 0
        assert writer["kept"] == writer["memories"]
        assert len(set(writer["memories"])) == len(writer["memories"])
