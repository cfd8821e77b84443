"""What a deployment tells of itself: the numbers of its nodes, its lines, its spans."""

import json
import os
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ray

_ray: Any = ray
_SPANS = "HINDSIGHT_TEST_SPANS"
_TURNS = 120
_PAUSE_S = 0.25
_GETS = 3  # so many calls of this verb were made, and refused
_STATE = {"waiting", "policy_revision", "policy_read_at_seconds"}
SETTINGS = {"request_log": "stderr", "tracing_setup": "tests.tracing:to_file"}


def environment(folder: Path) -> dict[str, str]:
    """What the processes of a deployment must know: where spans go, and to tell numbers soon."""
    return {
        _SPANS: str(folder / "spans.jsonl"),
        "RAY_metrics_report_interval_ms": "500",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }


def told(secret: str, revision: int) -> dict[str, Any]:
    """Names and values of numbers, the lines and the spans, and whether any holds the secret.

    Numbers come some time after what they count: this waits until the last of all have come.
    """
    for _ in range(_TURNS):
        text = "".join(_scraped())
        numbers = list(_numbers(text))
        revisions = {
            labels["process"]: value for n, labels, value in numbers if n == "policy_revision"
        }
        if (
            {name for name, _, _ in numbers} >= _STATE
            and revisions.get("broker-0") == revision
            and _sum(numbers, "calls_total", verb="Get") >= _GETS
            and _sum(numbers, "calls_in_hand") == 0
        ):
            break
        threading.Event().wait(_PAUSE_S)
    lines = list(_lines())
    spans = [json.loads(line) for line in Path(os.environ[_SPANS]).read_text().splitlines()]
    return {
        "names": sorted({name for name, _, _ in numbers}),
        "gets": _sum(numbers, "calls_total", verb="Get"),
        "absent": _sum(numbers, "calls_total", verb="Get", ended="NotFound"),
        "refused": _sum(numbers, "refusals_total", verb="Get"),
        "timed": _sum(numbers, "call_seconds_count", verb="Get"),
        "within 10 s": _sum(numbers, "call_seconds_bucket", verb="Get", le="10.0"),
        "in hand": _sum(numbers, "calls_in_hand"),
        "queues": sorted(
            {
                labels["queue"]
                for n, labels, _ in numbers
                if (n, labels["process"]) == ("waiting", "broker-0")
            }
        ),
        "revisions": revisions,
        "read at": min(value for n, _, value in numbers if n == "policy_read_at_seconds"),
        "lines": [line for line in lines if line["verb"] == "Get"],
        "verbs": sorted({line["verb"] for line in lines}),
        "spans": sorted({span["name"] for span in spans}),
        "traced": [span["attributes"] for span in spans if span["name"] == "hindsight Get"],
        "leaks": secret in text or secret in json.dumps(lines) or secret in json.dumps(spans),
    }


def _scraped() -> Iterator[str]:
    for node in _ray.nodes():
        address = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
        with urllib.request.urlopen(address, timeout=5) as answer:
            yield answer.read().decode()


def _numbers(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Ours among all numbers: their names without what is before them, labels, values."""
    for line in text.splitlines():
        if line.startswith("ray_hindsight_"):
            name, _, rest = line.removeprefix("ray_hindsight_").partition("{")
            labels, _, value = rest.rpartition("} ")
            pairs = (one.partition("=") for one in labels.split(",") if "=" in one)
            yield name, {key: said.strip('"') for key, _, said in pairs}, float(value)


def _sum(numbers: list[tuple[str, dict[str, str], float]], name: str, **wanted: str) -> float:
    return sum(
        value
        for found, labels, value in numbers
        if found == name and wanted.items() <= labels.items()
    )


def _lines() -> Iterator[dict[str, Any]]:
    """The lines of all calls, from the logs of every process of this node."""
    logs = Path(_ray._private.worker._global_node.get_logs_dir_path())
    for path in sorted(logs.glob("worker-*.err")):
        for line in path.read_text(errors="replace").splitlines():
            if line.startswith('{"request"'):
                yield json.loads(line)
