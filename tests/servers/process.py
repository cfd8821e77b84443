"""One server process of ours: free ports, waited for within a bound, stopped by its pid."""

import os
import signal
import socket
import subprocess
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

    def _end_of_log(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-25:])
