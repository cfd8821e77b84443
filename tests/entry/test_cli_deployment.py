"""What `status` says before anything of a deployment runs."""

import json
import pathlib

from hindsight_ray.adapters.home import SETTINGS_FILE
from tests.entry.conftest import Cli


def test_a_home_whose_ledger_is_elsewhere_is_there(cli: Cli, home: pathlib.Path) -> None:
    home.mkdir()
    (home / SETTINGS_FILE).write_text(json.dumps({"ledger": "postgresql"}), encoding="utf-8")
    assert json.loads(cli("status", "--json").out)["state"] == "embedded"
