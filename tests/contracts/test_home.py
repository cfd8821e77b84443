"""Who may use a home: any number of embedded processes, or one deployment."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_ray.adapters.home import Home, deployment_address, forget_deployment
from hindsight_ray.errors import HomeInUse, HomeInvalid

_HOLDER = """
import sys
from hindsight_ray.adapters.home import Home
home = Home.deployed(sys.argv[1], sys.argv[2]) if len(sys.argv) > 2 else Home.embedded(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""

_LOOKER = """
import sys
from hindsight_ray.adapters.home import deployment_address
print("held", flush=True)
while True:
    deployment_address(sys.argv[1])
"""


def _holder(home: Path, *address: str, text: str = _HOLDER) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", text, str(home), *address],
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


@pytest.fixture
def cluster() -> Iterator[str]:
    """The address of somebody who listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def ended() -> str:
    """An address at which nobody listens any more."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def test_a_home_that_a_deployment_uses_refuses_and_names_the_address(
    tmp_path: Path, ended: str
) -> None:
    deployment = _holder(tmp_path, ended)
    try:
        with pytest.raises(HomeInUse, match=f"--address {ended}.*`hindsight-ray --home .* down`"):
            Home.embedded(tmp_path)
        with pytest.raises(HomeInUse):
            Home.deployed(tmp_path, "127.0.0.1:1")
        assert deployment_address(tmp_path) == ended
    finally:
        _end(deployment)


def test_a_deployment_that_was_killed_with_its_cluster_leaves_the_home_free(
    tmp_path: Path, ended: str
) -> None:
    _end(_holder(tmp_path, ended))
    assert deployment_address(tmp_path) is None
    Home.embedded(tmp_path).release()
    Home.deployed(tmp_path, "127.0.0.1:1").release()


@pytest.mark.covers("home.returning")
def test_a_killed_authority_finds_its_home_as_it_left_it_while_its_cluster_lives(
    tmp_path: Path, cluster: str
) -> None:
    _end(_holder(tmp_path, cluster))
    assert deployment_address(tmp_path) == cluster
    with pytest.raises(HomeInUse, match=f"--address {cluster}"):
        Home.embedded(tmp_path)
    with pytest.raises(HomeInUse, match=f"--address {cluster}"):
        Home.deployed(tmp_path, "127.0.0.1:1")
    with Home.deployed(tmp_path, cluster):
        forget_deployment(tmp_path)
        assert deployment_address(tmp_path) == cluster


def test_a_home_that_a_deployment_has_left_without_a_word_can_be_let_go(
    tmp_path: Path, cluster: str
) -> None:
    _end(_holder(tmp_path, cluster))
    forget_deployment(tmp_path)
    assert deployment_address(tmp_path) is None
    Home.embedded(tmp_path).release()


def test_who_only_looks_at_a_home_keeps_no_deployment_from_it(tmp_path: Path, ended: str) -> None:
    looker = _holder(tmp_path, text=_LOOKER)
    try:
        for _ in range(100):
            Home.deployed(tmp_path, ended).release()
    finally:
        _end(looker)


def test_a_deployment_waits_for_nobody_it_is_refused_while_embedded_ones_are_open(
    tmp_path: Path,
) -> None:
    with Home.embedded(tmp_path), pytest.raises(HomeInUse, match="embedded process"):
        Home.deployed(tmp_path, "127.0.0.1:1")
    with Home.deployed(tmp_path, "127.0.0.1:1") as home:
        assert home.settings.name == "settings.json"
        assert deployment_address(tmp_path) == "127.0.0.1:1"
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
