"""Servers that tests start end with whoever started them, whatever ended that."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

_STARTER = """
import sys
from pathlib import Path
from tests.servers.process import ServerProcess
server = ServerProcess(
    [sys.executable, "-c", "import signal; signal.pause()"],
    log=Path(sys.argv[1]), ready=lambda: True, environment={},
)
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""
_GONE_S_MAX = 20


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["asked", "killed"])
def test_a_server_ends_with_whoever_started_it(tmp_path: Path, how: signal.Signals) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", _STARTER, str(tmp_path / "log")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert starter.stdout is not None
    assert starter.stdin is not None
    server = os.pidfd_open(int(starter.stdout.readline()))
    try:
        assert not select.select([server], [], [], 0)[0], "it runs while its starter does"
        starter.send_signal(how)
        starter.wait()
        assert select.select([server], [], [], _GONE_S_MAX)[0], "it is left behind"
    finally:
        os.close(server)
        starter.stdin.close()
        starter.stdout.close()
