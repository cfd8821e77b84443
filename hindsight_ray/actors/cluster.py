"""How this process comes to be part of a Ray cluster: joined, started here, or left running.

Ray's choices are made by environment variables that it reads when it starts. They are set here,
for the time of starting only: no usage statistics, and sockets on the loopback address alone. Ray
replaces `127.0.0.1` by the machine's outer address unless it is told that no other machine will
join; then all of its processes bind loopback. Other users of this machine are kept out by Ray's
own token (`token.py`), unless `RAY_AUTH_MODE` says otherwise.
"""

import asyncio
import contextlib
import importlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import AuthenticationError

from hindsight_ray.actors.roles import NAMESPACE
from hindsight_ray.actors.token import TOKEN_IS, use_token
from hindsight_ray.adapters.listening import answers, listens
from hindsight_ray.errors import InvalidSettings, Unavailable

_ray: Any = ray  # typed in part only
_constants: Any = importlib.import_module("ray._private.ray_constants")  # no public names

_ALONE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # this machine alone: bind loopback
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_DEDUP_LOGS": "0",
}
_CPUS = 8  # actors reserve none; it only bounds how many plain tasks run at once
_STORE_BYTES = 128 * 1024 * 1024
_JOIN = {"RAY_gcs_server_port_wait_time_s": "8"}  # that is, attempts of a second each
_JOIN_OWN = {"RAY_gcs_server_port_wait_time_s": "60"}  # what has just been started may be slow
_started: set[str] = set()  # addresses of clusters that this process has started
_START_CHECKS = 600
_START_PAUSE_S = 0.1
_END_WAIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Attached:
    """This process's tie to a cluster: made by this call or before, the cluster `ours` or not."""

    address: str
    node_id: str
    made: bool
    ours: bool

    def leave(self) -> None:
        """Undo the tie if it was made here; a cluster of this process alone ends with that."""
        if self.made:
            _ray.shutdown()


def is_part_of_one() -> bool:
    """Whether this process belongs to a cluster: as a driver, or as an actor's or task's."""
    return ray.is_initialized()


def own_name() -> str:
    """The name of the actor that this process is; `driver` for none."""
    if not ray.is_initialized():  # else Ray would look for some cluster of its own accord
        return "driver"
    return _ray.get_runtime_context().get_actor_name() or "driver"


def own_node() -> str:
    """The id of the node that this process runs on; empty outside of every cluster."""
    return _ray.get_runtime_context().get_node_id() if ray.is_initialized() else ""


def leave() -> None:
    """Part from the cluster."""
    _ray.shutdown()


def attach(address: str | None) -> Attached:
    """Join the cluster at `address`, or start one for this process if it is None.

    In a process that is part of a cluster already (an actor, a task, a driver) this only looks
    which. Raises `Unavailable` if nothing answers at the address, or Ray does not start in time.
    """
    if ray.is_initialized():
        return _attached(made=False, ours=False)
    if address is not None:
        _require_answer(address)
    join = {} if address is None else _JOIN_OWN if address in _started else _JOIN
    with _environment({**_ALONE, **join}):
        use_token(make=address is None)
        try:
            if address is None:
                _ray.init(
                    address="local",
                    namespace=NAMESPACE,
                    include_dashboard=False,
                    log_to_driver=False,
                    configure_logging=False,
                    num_cpus=_CPUS,
                    object_store_memory=_STORE_BYTES,
                )
            else:
                _ray.init(
                    address=address,
                    namespace=NAMESPACE,
                    log_to_driver=False,
                    configure_logging=False,
                )
        except ValueError as error:
            raise InvalidSettings(f"`address` {address!r} is not usable: {error}") from None
        except Exception as error:  # noqa: BLE001 - Ray raises `Exception` itself, among others
            _ray.shutdown()  # what it had begun
            raise _not_in(address, error) from None
    return _attached(made=True, ours=address is None)


def _not_in(address: str | None, error: Exception) -> Unavailable:
    """Why Ray has not made this process part of a cluster, and what to do about it."""
    if address is None or address in _started:
        return Unavailable(
            f"Ray has not started in time: {error}; the machine may be busy, so try again"
        )
    refused = f"refuses the token ({TOKEN_IS})"
    if not isinstance(error, AuthenticationError):  # Ray takes some refusals for silence
        refused = f"does not answer in time, as while it starts on a busy machine, or {refused}"
    return Unavailable(
        f"no Ray cluster at {address!r} takes this process in: it {refused}; {error}",
        address=address,
    )


def hangs(address: str) -> bool:
    """Whether a cluster's head is there and does not answer, so that Ray is not to be asked."""
    return listens(address) and not answers(address)


def start_lasting(home: Path) -> tuple[str, int]:
    """Start a cluster that outlives this process; its address and the id of its head process.

    Ended by `end_lasting`. What Ray prints goes to `ray.log` in the home.
    """
    port = _free_port()
    with _environment(_ALONE):
        use_token(make=True)
    command = (
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
        *("--node-ip-address", "127.0.0.1", "--port", str(port), "--num-cpus", str(_CPUS)),
        *("--include-dashboard", "false", "--disable-usage-stats"),
        *("--object-store-memory", str(_STORE_BYTES)),
    )
    with (home / "ray.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter, arguments built above
            command,
            env={**os.environ, **_ALONE},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    process.returncode = 0  # it outlives this process, which waits for it in other ways
    address = f"127.0.0.1:{port}"
    _started.add(address)
    return address, process.pid


async def wait_until_up(address: str, pid: int) -> None:
    """Return once the cluster's head listens. Raises `Unavailable` if it ended or never does."""
    for _ in range(_START_CHECKS):
        if _ended(pid):
            raise Unavailable("Ray ended while starting; `ray.log` in the home says why")
        if listens(address):
            return
        await asyncio.sleep(_START_PAUSE_S)
    raise Unavailable(f"Ray did not start to listen at {address}; see `ray.log` in the home")


async def end_lasting(pid: int, address: str = "") -> None:
    """End the cluster whose head process is `pid`, if that is still such a process, at `address`.

    One that does not end when it is asked to, as while it starts, is ended all the same.
    """
    if not _is_head(pid, address):
        return
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, how) if how is signal.SIGKILL else os.kill(pid, how)
        for _ in range(int(_END_WAIT_S / _START_PAUSE_S)):
            if _ended(pid):
                return
            await asyncio.sleep(_START_PAUSE_S)
    raise Unavailable(f"Ray's head process {pid} does not end")


def _attached(*, made: bool, ours: bool) -> Attached:
    context = _ray.get_runtime_context()
    return Attached(context.gcs_address, context.get_node_id(), made, ours)


@contextmanager
def _environment(chosen: Mapping[str, str]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in chosen}
    switch = _constants.ENABLE_RAY_CLUSTER
    log = logging.getLogger("ray")  # announces its token, and a thread that is not the main one
    level = log.level
    log.setLevel(logging.ERROR)
    os.environ.update(chosen)
    _constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        log.setLevel(level)
        _constants.ENABLE_RAY_CLUSTER = switch
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _require_answer(address: str) -> None:
    """Refuse `host:port` where nobody is or nobody answers.

    Ray would try for minutes and report on each try, or wait without end for who is stopped.
    """
    plain = address.removeprefix("ray://")
    host, _, port = plain.rpartition(":")
    if not host or not port.isdigit():
        return  # `auto` and the like: Ray knows where to look
    if answers(plain):
        return
    why = ""
    if listens(plain):
        why = (
            ": who listens there says nothing, as a process that is stopped or hangs;"
            " `hindsight-ray down` with the home whose `up` has started it ends it"
        )
    raise Unavailable(f"no Ray cluster answers at {address!r}{why}", address=address)


def _ended(pid: int) -> bool:
    """Whether the process is gone, or waits as a zombie for its parent to notice."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return status.rsplit(")", 1)[-1].split()[0] == "Z"


def _is_head(pid: int, address: str) -> bool:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").split()
    except OSError:
        return False
    port = address.rpartition(":")[2].encode()
    return b"ray.scripts.scripts" in line and b"--head" in line and (not port or port in line)
