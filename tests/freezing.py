"""Stopping a process where it holds nothing that others wait for."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path


def freeze(pid: int, database: Path) -> None:
    """Stop a process in the middle of whatever it does but a commit: a file's lock would stay with
    it, for everybody, until it goes on."""
    while True:
        os.kill(pid, signal.SIGSTOP)
        while not _stands(pid):
            """The signal is on its way: its threads stop one after the other."""
        if _unlocked(database, wait_s=1.0):
            return
        os.kill(pid, signal.SIGCONT)
        _unlocked(database, wait_s=10.0)


def _stands(pid: int) -> bool:
    threads = Path(f"/proc/{pid}/task").iterdir()
    told = (thread.joinpath("stat").read_text().rpartition(")")[2] for thread in threads)
    return all(state.split()[0] == "T" for state in told)


def _unlocked(database: Path, *, wait_s: float) -> bool:
    with closing(sqlite3.connect(database, timeout=wait_s, isolation_level=None)) as raw:
        try:
            raw.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True
