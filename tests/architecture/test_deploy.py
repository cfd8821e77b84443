"""The deployment files are what their schemas say, and say what the program understands."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import ray
import yaml
from compose_spec import ComposeSpecification
from ray._private.ray_constants import DEFAULT_DASHBOARD_AGENT_LISTEN_PORT
from ray.scripts.scripts import start as ray_start
from typer.main import get_command

from hindsight_ray.actors.roles import Crew
from hindsight_ray.entry.cli import program
from hindsight_ray.settings import build_settings, read_config

_DEPLOY = Path(__file__).parents[2] / "deploy"
_MANIFESTS = sorted((_DEPLOY / "kubernetes").glob("*.yaml"))
_SECRETS = {
    "POSTGRES_PASSWORD", "RAY_AUTH_TOKEN", "HINDSIGHT_POSTGRES_DSN", "HINDSIGHT_WEAVIATE_API_KEY",
    "AUTHENTICATION_APIKEY_ALLOWED_KEYS",
}  # fmt: skip


def _documents(path: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


def _compose() -> dict[str, Any]:
    return _documents(_DEPLOY / "compose.yaml")[0]


def _pods(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The pod templates that lie anywhere in a manifest."""
    for key, value in document.items():
        if key == "template" and isinstance(value, dict):
            yield value
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from _pods(one)


def _all_pods() -> list[dict[str, Any]]:
    return [pod for path in _MANIFESTS for doc in _documents(path) for pod in _pods(doc)]


@pytest.mark.covers("deploy.valid")
def test_the_compose_file_is_one() -> None:
    ComposeSpecification.model_validate(_compose())
    services = _compose()["services"]
    assert set(services) == {"postgres", "weaviate", "app"}
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)


@pytest.mark.covers("deploy.valid")
@pytest.mark.parametrize("path", _MANIFESTS, ids=lambda path: path.name)
def test_every_manifest_and_every_pod_in_it_is_what_the_cluster_takes(path: Path) -> None:
    for document in _documents(path):
        if document["apiVersion"].startswith("ray.io/"):
            spec = document["spec"]
            assert document["kind"] == "RayCluster"
            assert {"rayVersion", "headGroupSpec", "workerGroupSpecs"} == set(spec)
            assert all(
                group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
                for group in spec["workerGroupSpecs"]
            )
        else:
            kubernetes_validate.validate(document, "1.37", strict=True)
        for pod in _pods(document):
            whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **pod}
            whole["metadata"] = {"name": "p"}
            kubernetes_validate.validate(whole, "1.37", strict=True)


@pytest.mark.covers("deploy.secrets")
def test_no_file_holds_a_secret_and_ray_asks_for_its_token() -> None:
    text = (_DEPLOY / "compose.yaml").read_text()
    for service in _compose()["services"].values():
        for name, value in service.get("environment", {}).items():
            if name in _SECRETS:
                assert "${" in value, name
    assert "RAY_AUTH_MODE: token" in text
    for pod in _all_pods():
        for container in pod["spec"]["containers"]:
            variables = {one["name"]: one for one in container["env"]}
            assert all("valueFrom" in variables[name] for name in _SECRETS & set(variables))
            if container["image"].startswith("hindsight-ray"):
                assert variables["RAY_AUTH_MODE"]["value"] == "token"
                assert "RAY_AUTH_TOKEN" in variables


@pytest.mark.covers("deploy.valid")
def test_the_settings_in_them_are_settings() -> None:
    assert read_config(_DEPLOY / "settings.yaml")["ledger"] == "postgresql"
    (settings,) = [
        document["data"]["settings.yaml"]
        for document in _documents(_DEPLOY / "kubernetes" / "base.yaml")
        if document["kind"] == "ConfigMap"
    ]
    assert build_settings(yaml.safe_load(settings)).ledger == "postgresql"


@pytest.mark.covers("deploy.valid")
def test_both_deployments_name_their_servers_alike() -> None:
    """But for the sizes, one cluster's settings are the other's."""
    sizes = {"brokers", "recorder_hosts", "reviewers", "embedding"}
    (config,) = [one for one in _documents(_DEPLOY / "kubernetes/base.yaml") if "data" in one]
    there = yaml.safe_load(config["data"]["settings.yaml"])
    here = read_config(_DEPLOY / "settings.yaml")
    assert {name: here[name] for name in here if name not in sizes} == {
        name: there[name] for name in there if name not in sizes
    }


def _said() -> list[list[str]]:
    """Every call of the program in the files and in their README, as words."""
    texts = [path.read_text() for path in (_DEPLOY / "start.sh", _DEPLOY / "README.md")]
    lines = "\n".join(texts).replace("\\\n", " ").splitlines()
    calls = [line.split(" hindsight-ray ")[-1] for line in (f" {one}" for one in lines)]
    said = [
        call.split("#")[0].split()
        for line, call in zip(lines, calls, strict=True)
        if call.strip() != line.strip() and not line.strip().startswith(("#", "-", "|"))
    ]
    return [words for words in said if words and words[0].startswith("--")]


@pytest.mark.covers("deploy.valid")
def test_the_commands_in_them_are_commands() -> None:
    group: Any = get_command(program())
    common = {"--home", "--address"}
    named: set[str] = set()
    for words in _said():
        verb = next(word for word in words if word in group.commands)
        known = {name for p in group.commands[verb].params for name in p.opts}
        assert {word for word in words if word.startswith("--")} <= known | common, words
        named.add(verb)
    assert named == {"up", "mcp", "scale", "status", "down", "backup", "restore"}


@pytest.mark.covers("deploy.valid")
def test_ray_is_started_by_options_that_it_has_and_exports_numbers_where_they_are_read() -> None:
    known = {name for p in ray_start.params for name in p.opts}
    (started,) = [
        line.split() for line in (_DEPLOY / "start.sh").read_text().splitlines()
        if line.startswith("ray start")
    ]  # fmt: skip
    assert {word for word in started if word.startswith("--")} <= known
    assert started[started.index("--metrics-export-port") + 1] == "8080"
    (cluster,) = _documents(_DEPLOY / "kubernetes/raycluster.yaml")
    spec = cluster["spec"]
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        assert {f"--{name}" for name in group["rayStartParams"]} <= known
        assert group["rayStartParams"]["metrics-export-port"] == "8080"
        (container,) = group["template"]["spec"]["containers"]
        assert {"name": "metrics", "containerPort": 8080} in container["ports"]
    assert spec["rayVersion"] == ray.__version__


@pytest.mark.covers("deploy.valid")
def test_a_node_is_asked_for_its_health_where_ray_answers_without_a_dashboard() -> None:
    """An operator's own probes ask the dashboard, which is off, with a program the image lacks."""
    (cluster,) = _documents(_DEPLOY / "kubernetes/raycluster.yaml")
    for pod in _pods(cluster):
        (container,) = pod["spec"]["containers"]
        for probe in ("readinessProbe", "livenessProbe"):
            asked = container[probe]["httpGet"]
            assert asked == {"path": "/api/healthz", "port": DEFAULT_DASHBOARD_AGENT_LISTEN_PORT}


@pytest.mark.covers("deploy.valid")
def test_the_databases_connections_suffice_for_every_process_that_keeps_some() -> None:
    """Each actor but that of the models has the ledger open."""
    served = yaml.safe_load((_DEPLOY / "kubernetes/postgres.yaml").read_text().split("---")[1])
    (container,) = served["spec"]["template"]["spec"]["containers"]
    (config,) = [one for one in _documents(_DEPLOY / "kubernetes/base.yaml") if "data" in one]
    for said, fields in (
        (container["args"], yaml.safe_load(config["data"]["settings.yaml"])),
        (_compose()["services"]["postgres"]["command"], read_config(_DEPLOY / "settings.yaml")),
    ):
        (most,) = [int(one.partition("=")[2]) for one in said if "max_connections" in one]
        settings = build_settings(fields)
        crew = Crew(settings.brokers, settings.recorder_hosts, settings.reviewers)
        keeping = [name for name in crew.names() if not name.startswith("models")]
        assert most > len(keeping) * (settings.ledger_readers + 1)
        assert len(keeping) == settings.brokers + settings.recorder_hosts + settings.reviewers + 2


@pytest.mark.covers("deploy.valid")
def test_the_numbers_that_the_page_asks_for_are_told() -> None:
    asked = set(re.findall(r"ray_(hindsight_[a-z_]+)", (_DEPLOY / "README.md").read_text()))
    page = (_DEPLOY.parent / "docs/architecture.md").read_text()
    listed = set(re.findall(r"^\| `(hindsight_[a-z_]+)`", page, re.MULTILINE))
    assert {name.removesuffix("_bucket") for name in asked if name != "hindsight_"} <= listed
    told = (_DEPLOY.parent / "hindsight_ray/adapters/watching.py").read_text()
    names = set(re.findall(r'"(hindsight_[a-z_]+)"', told)) - {"hindsight_ray"}
    assert {name.removesuffix("_total") for name in listed} == names
