"""The settings of a home from a shell."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.domain.settings import Settings
from hindsight_ray.settings import load_settings
from tests.entry.conftest import Cli


def test_every_setting_says_what_it_is_for() -> None:
    assert [n for n, field in Settings.model_fields.items() if not field.description] == []


def test_what_is_chosen_is_in_force_for_whatever_opens_the_home(
    home: Path, cli: Cli, cli_json: Callable[..., Any]
) -> None:
    cli_json("init")
    assert cli_json("settings") == Settings().model_dump(mode="json")
    chosen = cli_json("settings", "reviewers=3", "chat_fallbacks=one/a, two", "chat_timeout_s=5")
    assert chosen == {"reviewers": 3, "chat_fallbacks": ["one/a", "two"], "chat_timeout_s": 5.0}
    assert load_settings(home) == Settings(
        reviewers=3, chat_fallbacks=("one/a", "two"), chat_timeout_s=5.0
    )
    assert cli_json("settings", "reviewers") == {"reviewers": 3}
    assert cli_json("settings", "reviewers=") == {"reviewers": 1}
    assert load_settings(home).chat_timeout_s == 5.0
    assert "block, drop, fail" in cli("settings", "buffer_full").out


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("reviewers=0", "`reviewers`"),
        ("reviewers=x", "`reviewers`"),
        ("reviewerz=3", "settings are"),
        ("reviewerz", "settings are"),
        ("store_outage=later", "`store_outage`"),
        ("embedding=static", "reembed"),
        ("policy=team", "policy load"),
        ("ledger=postgresql", "restore"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_and_nothing_is_chosen(
    home: Path, cli: Cli, cli_json: Callable[..., Any], choice: str, told: str
) -> None:
    cli_json("init")
    cli_json("settings", "brokers=3")
    said = cli("settings", "batch_events=7", choice)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert json.loads((home / "settings.json").read_text(encoding="utf-8")) == {"brokers": 3}


def test_there_are_no_settings_where_no_memory_is(home: Path, cli: Cli) -> None:
    assert cli("settings", "brokers=3").code == 1
    assert cli("settings", "--address", "127.0.0.1:1").code == 2
    assert not home.exists()
