"""Who may use a home: any number of embedded processes, or one deployment."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_ray.adapters.home import Home, deployment_address
from hindsight_ray.errors import HomeInUse, HomeInvalid

_HOLDER = """
import sys
from hindsight_ray.adapters.home import Home
home = Home.deployed(sys.argv[1], sys.argv[2]) if len(sys.argv) > 2 else Home.embedded(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def _holder(home: Path, *address: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(home), *address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def _end(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.covers("home.shared")
def test_embedded_processes_share_a_home(tmp_path: Path) -> None:
    other = _holder(tmp_path)
    try:
        with Home.embedded(tmp_path) as home, Home.embedded(tmp_path):
            assert home.ledger.parent == tmp_path
    finally:
        _end(other)


def test_a_home_that_a_deployment_uses_refuses_and_names_the_address(tmp_path: Path) -> None:
    deployment = _holder(tmp_path, "10.0.0.7:6379")
    try:
        with pytest.raises(HomeInUse, match=r"--address 10\.0\.0\.7:6379"):
            Home.embedded(tmp_path)
        with pytest.raises(HomeInUse):
            Home.deployed(tmp_path, "elsewhere:1")
        assert deployment_address(tmp_path) == "10.0.0.7:6379"
    finally:
        _end(deployment)


def test_a_deployment_that_was_killed_leaves_the_home_free(tmp_path: Path) -> None:
    _end(_holder(tmp_path, "10.0.0.7:6379"))
    assert deployment_address(tmp_path) is None
    Home.embedded(tmp_path).release()
    Home.deployed(tmp_path, "again:1").release()


def test_a_deployment_waits_for_nobody_it_is_refused_while_embedded_ones_are_open(
    tmp_path: Path,
) -> None:
    with Home.embedded(tmp_path), pytest.raises(HomeInUse, match="embedded process"):
        Home.deployed(tmp_path, "here:1")
    with Home.deployed(tmp_path, "here:1") as home:
        assert home.settings.name == "settings.json"
        assert deployment_address(tmp_path) == "here:1"
    assert deployment_address(tmp_path) is None


def test_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(HomeInvalid):
        Home.embedded(tmp_path / "file")
    with pytest.raises(HomeInvalid):
        Home.embedded(tmp_path / "file" / "below")


def test_asking_for_the_address_makes_no_home(tmp_path: Path) -> None:
    assert deployment_address(tmp_path / "none") is None
    assert not (tmp_path / "none").exists()
