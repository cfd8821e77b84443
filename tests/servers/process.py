"""One server process of ours: free ports, waited for within a bound, stopped by its pid.

It is stopped as well when whoever started it ends without doing so, whatever ended that.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

READY_S_MAX = 60.0
_STOP_S_MAX = 20.0
_POLL_S = 0.05


class ServerMissing(Exception):
    """The server's program is not on this machine; the message says how to get it."""


class ServerFailed(Exception):
    """The program is there and did not come up."""


def free_ports(number: int) -> list[int]:
    """Ports of the loopback address that nobody listens on now, all different."""
    with ExitStack() as held:
        ports: list[int] = []
        for _ in range(number):
            one = held.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            ports.append(int(one.getsockname()[1]))
        return ports


# Waits for the end of a pipe that its starter alone holds open, then ends the process of its pid.
# A process of its own, since a parent's death tells a child nothing once that has changed its user.
_WATCHER = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.stdin.buffer.read()
server, began = int(sys.argv[1]), sys.argv[2]
try:
    with open(f"/proc/{server}/stat") as stat:
        if stat.read().rsplit(")", 1)[1].split()[19] == began:
            os.kill(server, signal.SIGKILL)
except OSError:
    pass
"""


class ServerProcess:
    """A running server. `kill` is `kill -9`; `stop` asks first."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        ready: Callable[[], bool],
        environment: Mapping[str, str],
        user: int | None = None,
    ) -> None:
        self._command = list(command)
        self._log = log
        self._ready = ready
        self._environment = dict(environment)
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def start(self) -> None:
        """Start and wait until it answers. Raises `ServerFailed` with the end of its log."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self._environment,
                user=self._user,
                group=self._user,
                extra_groups=None if self._user is None else [],
                cwd=self._log.parent,
                start_new_session=True,
            )
        self._watcher = _watched(self._process.pid)
        limit = time.monotonic() + READY_S_MAX
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > limit:
                self.kill()
                raise ServerFailed(f"{self._command[0]} did not come up:\n{self._end_of_log()}")
            time.sleep(_POLL_S)

    def kill(self) -> None:
        """End it as a power cut would, and wait until it is gone."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            os.kill(process.pid, how)
        try:
            process.wait(_STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        watcher, self._watcher = self._watcher, None
        if watcher is not None and watcher.stdin is not None:
            watcher.stdin.close()
            watcher.wait(_STOP_S_MAX)

    def _end_of_log(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-25:])


def _watched(pid: int) -> subprocess.Popen[bytes]:
    """Whoever ends the process with this one; told when it began, since numbers are given again."""
    began = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCHER, str(pid), began.rsplit(")", 1)[1].split()[19]],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
