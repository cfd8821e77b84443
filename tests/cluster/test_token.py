"""Ray's token: whoever does not bring it is refused, and its file is nobody else's to read."""

import logging
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_ray.actors.token import tighten

_START = """
import sys
from hindsight_ray.actors import cluster
tie = cluster.attach(None)
print(tie.address, flush=True)
sys.stdin.read()
tie.leave()
"""
_JOIN = """
import sys
from hindsight_ray.actors import cluster
from hindsight_ray.errors import Unavailable
try:
    cluster.attach(sys.argv[1])
except Unavailable as refused:
    print("refused", refused.message)
else:
    print("joined")
    cluster.leave()
"""
_OPEN = 0o644


def _environment(home: Path, **more: str) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    return {**kept, "HOME": str(home), **more}


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Somebody's folder with a token that lies open, and the address of their cluster."""
    home = tmp_path_factory.mktemp("owner")
    token = home / ".ray" / "auth_token"
    token.parent.mkdir()
    token.write_text("5" * 64)
    token.chmod(_OPEN)
    with subprocess.Popen(
        [sys.executable, "-c", _START],
        env=_environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield home, process.stdout.readline().strip()
        process.communicate()


def _joining(address: str, environment: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _JOIN, address],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _said(process: "subprocess.Popen[str]") -> str:
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    return out.strip()


@pytest.mark.covers("cluster.token")
@pytest.mark.timeout(120)
def test_who_brings_no_token_or_a_wrong_one_is_refused_by_name(
    owner: tuple[Path, str], tmp_path: Path
) -> None:
    home, address = owner
    wrong: tuple[dict[str, str], ...] = (
        {}, {"RAY_AUTH_TOKEN": "0" * 64}, {"RAY_AUTH_MODE": "token"}, {"RAY_AUTH_MODE": "disabled"}
    )  # fmt: skip
    right = (_environment(home), _environment(tmp_path / "friend", RAY_AUTH_TOKEN="5" * 64))
    strangers = [_joining(address, _environment(tmp_path / "s", **given)) for given in wrong]
    friends = [_joining(address, environment) for environment in right]
    for stranger in strangers:
        said = _said(stranger)
        assert said.startswith("refused")
        for word in (address, "token", "RAY_AUTH_TOKEN", "~/.ray/auth_token"):
            assert word in said
    assert [_said(friend) for friend in friends] == ["joined", "joined"]


@pytest.mark.covers("cluster.token")
def test_a_token_that_lies_open_is_shut_when_a_cluster_starts(owner: tuple[Path, str]) -> None:
    home, _ = owner
    token = home / ".ray" / "auth_token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert token.read_text() == "5" * 64


@pytest.mark.covers("cluster.token")
def test_a_token_that_is_not_ours_to_shut_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    token = tmp_path / "auth_token"
    token.write_text("5" * 64)
    token.chmod(_OPEN)

    def refused(_path: Path, _mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    with caplog.at_level(logging.WARNING), monkeypatch.context() as patched:
        patched.setattr(Path, "chmod", refused)
        tighten(token)
    assert "run code on every node" in caplog.text
    assert str(token) in caplog.text
    caplog.clear()
    tighten(token)
    tighten(tmp_path / "absent")
    assert "shut to them now" in caplog.text
    caplog.clear()
    tighten(token)
    assert caplog.text == ""
