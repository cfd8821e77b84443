"""What holds for every test: order of folders, no strangers on the network, quiet libraries."""

import ipaddress
import os
import pathlib
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn, TypeVar

import pytest
from hypothesis import settings

from tests.servers import postgres, weaviate
from tests.servers.process import ServerMissing

S = TypeVar("S", weaviate.Weaviate, postgres.Postgres)

# Before anything imports them: no statistics sent, no price list fetched, no credentials used.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
for _name in ("HINDSIGHT_TICKET", "HINDSIGHT_HOME", "HINDSIGHT_ADDRESS", "RAY_ADDRESS"):
    os.environ.pop(_name, None)

settings.register_profile("no_clock", parent=settings.default, deadline=None)
settings.load_profile("no_clock")  # how long an example takes is the machine's affair

FASTEST_FIRST = (
    "unit", "policies", "properties", "architecture", "contracts", "simulation", "entry", "mcp",
    "crash", "examples", "cluster",
)  # fmt: skip
_HERE = pathlib.Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Folders fastest first; within a folder the random order that pytest-randomly chose."""
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    parts = item.path.relative_to(_HERE).parts if item.path.is_relative_to(_HERE) else ()
    return FASTEST_FIRST.index(parts[0]) if parts and parts[0] in FASTEST_FIRST else -1


def _is_loopback(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket's path
    host = str(address[0])
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches another machine: a real model or hub that is asked fails its test here."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if not _is_loopback(address) and address[0] not in _own_addresses():
            raise AssertionError(f"a test tried to reach {address!r}; tests stay on this machine")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def _own_addresses() -> frozenset[str]:
    """Addresses of this machine: Ray's processes find each other by one of them."""
    try:
        found = socket.gethostbyname_ex(socket.gethostname())[2]
    except OSError:
        found = []
    return frozenset(found)


@pytest.fixture(scope="session")
def data_folder() -> pathlib.Path:
    """The folder of public logs; a test that needs it is skipped where it is not."""
    folder = pathlib.Path(
        os.environ.get("HINDSIGHT_TEST_DATA", _HERE.parent.parent / "shared/data")
    )
    if not folder.is_dir():
        pytest.skip(f"no public logs in {folder}; pass DATA=… to make")
    return folder


def _without(reason: str) -> NoReturn:
    """A missing server skips its tests, and fails them where every server has to be."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def served(start: Callable[[pathlib.Path], S], folder: pathlib.Path) -> Iterator[S]:
    try:
        server = start(folder)
    except ServerMissing as missing:
        _without(str(missing))
    try:
        yield server
    finally:
        server.process.stop()


@pytest.fixture(scope="session")
def weaviate_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[weaviate.Weaviate]:
    """One Weaviate for the whole session. Tests keep apart by tenants of their own."""
    yield from served(weaviate.start, tmp_path_factory.mktemp("weaviate"))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Postgres]:
    """One PostgreSQL for the whole session. Tests keep apart by databases of their own."""
    with postgres.own_folder() as folder:
        yield from served(partial(postgres.start, durable=False), folder)
