"""A deployment over a real PostgreSQL and a real Weaviate: used, watched, killed, down and up."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import health
from tests.cluster.on_servers import BROKERS
from tests.cluster.servers import environment
from tests.cluster.storms import whole
from tests.servers.postgres import Postgres
from tests.servers.weaviate import Weaviate
from tests.stores import kills

_ROOT = Path(__file__).parents[2]
_ACTORS = 1 + 1 + 1 + 2 + 2 + 1


@pytest.fixture(scope="module")
def served(
    postgres_server: Postgres, weaviate_server: Weaviate, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """What the story in `on_servers` says of itself."""
    folder = tmp_path_factory.mktemp("served")
    return _told(
        folder, environment(postgres_server, weaviate_server, **health.environment(folder)), "3"
    )


def _told(folder: Path, variables: dict[str, str], *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.cluster.on_servers", str(folder / "home"), *arguments],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        env=variables,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


pytestmark = pytest.mark.timeout(400)


@pytest.mark.covers("cluster.servers")
def test_it_comes_up_is_used_and_comes_up_again_with_all_that_was_kept(served: Any) -> None:
    assert served["up"]["settings"]["ledger"] == "postgresql"
    assert served["up"]["settings"]["store"] == "weaviate"
    assert len(served["up"]["actors"]) == _ACTORS
    used = served["used"]
    assert (used["routes"], used["degraded"]) == (["keyword", "vector"], [])
    assert (used["events"], used["gaps"]) == (13, 0)
    assert (used["shared"], used["revoked"]) == (1, 0)
    assert used["looked at"] > 0
    assert used["swept"] == 0  # the steward has been there, and nothing is in the store too much
    assert used["credit"] == pytest.approx(1.0)
    brokers = [one for one in served["scaled"]["actors"] if one["name"].startswith("broker")]
    assert len(brokers) == BROKERS
    assert all(one["pid"] for one in brokers)
    assert served["down"]["ended"]
    assert served["after"]
    assert len(served["again"]["actors"]) == _ACTORS - 2
    assert served["kept"] == [True]


@pytest.mark.covers("review.pool", "review.resumed")
def test_a_models_review_that_loses_its_reviewer_is_made_by_another(served: Any) -> None:
    used = served["used"]
    assert len(used["reviewers killed"]) >= 1
    assert used["learned"]
    assert used["questions"] >= 2  # asked again: the first answer had nobody left to hear it
    first, second = used["reviewed"]  # what was kept by itself is news to the first who asks
    assert first > second == 0
    assert used["asked again"] == 0


@pytest.mark.covers("health.exported")
def test_every_node_exports_names_and_values_that_prometheus_reads(served: Any) -> None:
    told = served["health"]
    assert {
        "calls_total", "call_seconds_bucket", "call_seconds_count", "call_seconds_sum",
        "refusals_total", "calls_in_hand", "waiting", "policy_revision", "policy_read_at_seconds",
    } <= set(told["names"])  # fmt: skip
    assert told["gets"] == told["absent"] == told["refused"] == 3
    assert told["timed"] == told["within 10 s"] == 3
    assert told["in hand"] == 0
    assert told["queues"] == ["intents", "jobs", "recalls", "writers"]
    assert told["revisions"]["broker-0"] == served["used"]["revision"]
    assert told["read at"] > 1_600_000_000


@pytest.mark.covers("health.line", "health.spans")
def test_every_process_writes_lines_and_spans_without_a_word_of_what_was_said(served: Any) -> None:
    told = served["health"]
    assert len(told["lines"]) == 3
    for line in told["lines"]:
        assert (line["process"], line["tenant"], line["ended"]) == ("broker-0", "acme", "NotFound")
        assert line["ms"] > 0
    assert {"Write", "Search", "RecordEvents", "Share", "Revoke"} <= set(told["verbs"])
    assert {"hindsight Write", "hindsight RecordEvents", "hindsight Share"} <= set(told["spans"])
    assert [one["hindsight.tenant"] for one in told["traced"]] == ["acme"] * 3
    assert not told["leaks"]


@pytest.mark.covers("G3.kill", "G3.restart")
def test_kills_of_broker_host_and_authority_lose_nothing_acknowledged(served: Any) -> None:
    (told,) = served["stormed"]
    assert whole(told), told
    assert {name: len(taken) for name, taken in told["again_s"].items()} == {
        "broker": 3, "recorder_host": 3, "authority": 3,
    }  # fmt: skip


@pytest.mark.covers("G3.kill", "G3.restart")
@pytest.mark.timeout(3_600)
@pytest.mark.skipif(kills() <= 3, reason="`make crash` kills the servers under a deployment too")
def test_many_kills_of_actors_and_of_their_servers_lose_nothing(tmp_path: Path) -> None:
    variables = {**os.environ, **health.environment(tmp_path)}
    told = _told(tmp_path, variables, str(kills()), "own")
    for storm in told["stormed"]:
        assert whole(storm), storm
