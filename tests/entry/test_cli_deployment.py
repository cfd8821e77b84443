"""What `up` and `status` say before anything of a deployment runs."""

import json
import pathlib

import pytest

from hindsight_ray.adapters.home import SETTINGS_FILE
from tests.entry.conftest import Cli
from tests.servers.process import free_ports


@pytest.mark.covers("cluster.settings")
@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ('embedding: "../x"', "embedding"),
        ("ledger: postgresql\npostgres_dsn_env: NOWHERE_SET", "NOWHERE_SET"),
    ],
    ids=["embedding", "ledger"],
)
def test_a_setting_that_cannot_be_is_refused_before_ray_is_started(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path, settings: str, named: str
) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(settings, encoding="utf-8")
    said = cli("up", "--config", str(config))
    assert said.code == 2
    assert named in said.err
    assert not any((home / name).exists() for name in ("ray.log", "ray.json", SETTINGS_FILE))


@pytest.mark.covers("cluster.settings")
@pytest.mark.parametrize("server", ["postgresql", "weaviate"])
def test_a_server_that_is_away_is_named_before_ray_is_started(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path, server: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (port,) = free_ports(1)
    where = f"127.0.0.1:{port}"
    monkeypatch.setenv("DSN_AWAY", f"postgresql://me:secret@{where}/mine")
    chosen = {
        "postgresql": {"ledger": "postgresql", "postgres_dsn_env": "DSN_AWAY"},
        "weaviate": {"store": "weaviate", "weaviate_url": f"http://{where}"},
    }
    config = tmp_path / "settings.yaml"
    config.write_text(json.dumps({"embedding": "hashed", **chosen[server]}), encoding="utf-8")
    said = cli("up", "--config", str(config))
    assert said.code == 1
    assert where in said.err
    assert not any((home / name).exists() for name in ("ray.log", "ray.json", SETTINGS_FILE))


def test_a_home_whose_ledger_is_elsewhere_is_there(cli: Cli, home: pathlib.Path) -> None:
    home.mkdir()
    (home / SETTINGS_FILE).write_text(json.dumps({"ledger": "postgresql"}), encoding="utf-8")
    assert json.loads(cli("status", "--json").out)["state"] == "embedded"
