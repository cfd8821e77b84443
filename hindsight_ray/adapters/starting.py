"""One starter at a time: of many processes that want a deployment over a home, one makes it.

A lock of its own, beside the home's: it is held while a cluster comes up, when the home itself is
not taken yet. The operating system lets it go with its process.
"""

import asyncio
import fcntl
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hindsight_ray.adapters.home import check_whole
from hindsight_ray.adapters.whole_files import replace_file
from hindsight_ray.errors import Busy, HomeInvalid

START_FILE = "start.lock"
HEAD_FILE = "ray.json"
_CHECKS = 1_200
_PAUSE_S = 0.1


@asynccontextmanager
async def starting(home: Path) -> AsyncGenerator[None]:
    """Be the only one who starts a deployment over `home`, or finds that one is there by now.

    Raises `Busy` if somebody else's start takes two minutes.
    """
    lock = _opened(home)
    try:
        await _locked(lock, home)
        yield
    finally:
        os.close(lock)


@dataclass(frozen=True, slots=True)
class Head:
    """The head process of a cluster that was started for a home, and where the cluster listens."""

    pid: int
    address: str

    def is_at(self, address: str | None) -> bool:
        """Whether its cluster is the one at this address; any is, where none is named."""
        return not address or not self.address or address == self.address


def note_head(home: Path, head: Head) -> None:
    """Remember the cluster that is being started for this home, whatever becomes of the start."""
    replace_file(home / HEAD_FILE, f"{json.dumps(asdict(head))}\n".encode())


def noted_head(home: Path) -> Head | None:
    """The cluster that was started for this home, if one was."""
    try:
        noted = json.loads((home / HEAD_FILE).read_text(encoding="utf-8"))
        return Head(int(noted["pid"]), str(noted.get("address", "")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget_head(home: Path) -> None:
    (home / HEAD_FILE).unlink(missing_ok=True)


def _opened(home: Path) -> int:
    check_whole(home)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(home / START_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HomeInvalid(
            f"`home` {str(home)!r} cannot be a home: {error.strerror}; name a folder of yours",
            home=str(home),
        ) from error


async def _locked(lock: int, home: Path) -> None:
    for _ in range(_CHECKS):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(_PAUSE_S)
        else:
            return
    raise Busy(f"`home` {str(home)!r}: somebody else has been starting a deployment for too long")
