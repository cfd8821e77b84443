"""The deployment files are what their schemas say, and say what the program understands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec import ComposeSpecification
from typer.main import get_command

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
def test_the_commands_in_them_are_commands() -> None:
    lines = (_DEPLOY / "start.sh").read_text().splitlines()
    mine = [line.removeprefix("exec ").split() for line in lines if "hindsight-ray " in line]
    assert len(mine) == 2
    group = get_command(program())
    for words in mine:
        assert {"up", "mcp"} & set(words[1:])
        named = next(word for word in words if word in ("up", "mcp"))
        known = {name for p in group.commands[named].params for name in p.opts}  # type: ignore[attr-defined]
        assert {word for word in words if word.startswith("--")} <= known
