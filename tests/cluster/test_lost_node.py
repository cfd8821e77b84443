"""Two nodes over PostgreSQL and Weaviate: one is lost amid writing, and nothing with it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.servers import environment
from tests.servers.postgres import Postgres
from tests.servers.weaviate import Weaviate

_ROOT = Path(__file__).parents[2]


@pytest.mark.covers("cluster.node", "cluster.place")
@pytest.mark.timeout(400)
def test_a_node_that_is_lost_amid_work_takes_nothing_acknowledged_along(
    postgres_server: Postgres, weaviate_server: Weaviate, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.cluster.losing_a_node", str(tmp_path / "home")],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        env=environment(postgres_server, weaviate_server),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.strip().splitlines()[-1])
    assert {name.split("-")[0] for name in said["lost"]} >= {"broker", "recorder_host"}
    assert said["placed"] == said["meant"]  # on every start, however new the node was
    for writer in said["writers"]:
        assert len(writer["events"]) == len(writer["memories"]) == said["steps"]
        assert writer["found"] == writer["events"]
        assert writer["gaps"] == 0
        assert writer["kept"] == writer["memories"]
        assert len(set(writer["memories"])) == len(writer["memories"])
        assert writer["best"] == [True, "keyword", "vector"]
    assert said["moved"]
