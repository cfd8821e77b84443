"""The home folder: what is in it, and who may use it now.

A home is used by any number of embedded processes or by one deployment, never by both. That is
kept by a lock on a file, shared or exclusive, which the operating system lets go when its process
ends, however it ends. What is written beside it says where the deployment is: to whoever is
refused, and while nobody holds the lock because the authority was killed and is being started
again. Such a home is the deployment's for as long as its cluster listens.
"""

import errno
import fcntl
import json
import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from hindsight_ray.adapters.listening import listens
from hindsight_ray.adapters.whole_files import replace_file
from hindsight_ray.errors import HomeInUse, HomeInvalid, StorageFailed

R = TypeVar("R")

LEDGER_FILE = "hindsight.sqlite3"
SETTINGS_FILE = "settings.json"
LOCK_FILE = "home.lock"
MODE_FILE = "mode.json"
DRAFT_FOLDER = ".restoring"  # while a copy is being put back: no home yet
_HELD_UNNAMED = "auto"  # the lock is taken, and by whom is not written yet
_LOOKS = 200
_LOOK_S = 0.001


class Home:
    """A folder, held for as long as this value is not released.

    Take one with `embedded` or `deployed`; it is a context manager too.
    """

    def __init__(self, path: Path, lock: int, *, deployment: bool) -> None:
        self.path = path
        self._lock: int | None = lock
        self._deployment = deployment

    @property
    def ledger(self) -> Path:
        """The database of the ledger, with memories and vectors."""
        return self.path / LEDGER_FILE

    @property
    def settings(self) -> Path:
        return self.path / SETTINGS_FILE

    @classmethod
    def embedded(cls, path: Path | str) -> Self:
        """Hold the home beside other embedded processes, making it if it is not there.

        Raises `HomeInUse`, naming the address, while a deployment holds it or is about to take it
        again; `HomeInvalid` if the path cannot be a home.
        """
        folder = _folder(path)
        written = _written_address(folder)  # asked before the lock, which others need at once
        if written is not None and listens(written):
            raise _used_by_deployment(folder)
        lock = _locked(folder, fcntl.LOCK_SH)
        if lock is None:
            raise _used_by_deployment(folder)
        if _written_address(folder) not in (None, written):  # begun meanwhile, and may return
            os.close(lock)
            raise _used_by_deployment(folder)
        return cls(folder, lock, deployment=False)

    @classmethod
    def deployed(cls, path: Path | str, address: str) -> Self:
        """Hold the home alone, for a deployment at `address`, making it if it is not there.

        Raises `HomeInUse` while an embedded process or another deployment holds it, or another is
        about to take it again.
        """
        folder = _folder(path)
        written = _written_address(folder)
        if written not in (None, address) and listens(written):
            raise _used_by_deployment(folder)
        lock = _alone(folder)
        if lock is None:
            other = _locked(folder, fcntl.LOCK_SH)
            if other is None:
                raise _used_by_deployment(folder)
            os.close(other)
            raise HomeInUse(
                f"`home` {str(folder)!r} is open in an embedded process; close it, then start the"
                " deployment",
                home=str(folder),
            )
        _write_mode(folder, address)
        return cls(folder, lock, deployment=True)

    def release(self) -> None:
        """Let the home go. Nothing happens a second time."""
        if self._lock is None:
            return
        if self._deployment:
            (self.path / MODE_FILE).unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def deployment_address(path: Path | str) -> str | None:
    """Where the deployment is that holds this home or is about to take it again; None for none."""
    folder = Path(path)
    if not (folder / LOCK_FILE).is_file():
        return None
    written = _written_address(folder)
    lock = _locked(folder, fcntl.LOCK_SH)
    if lock is None:
        return _written_address(folder) or _HELD_UNNAMED
    os.close(lock)
    return written if written is not None and listens(written) else None


def forget_deployment(path: Path | str) -> None:
    """Let go a home whose deployment has ended without a word. Nothing if somebody holds it."""
    folder = Path(path)
    lock = _alone(folder)
    if lock is not None:
        (folder / MODE_FILE).unlink(missing_ok=True)
        os.close(lock)


def check_whole(folder: Path) -> None:
    """Raise `HomeInvalid` while a copy is being put back into the folder, or if that was cut short.

    What was begun there meanwhile would mix with it.
    """
    if (folder / DRAFT_FOLDER).is_dir():
        raise HomeInvalid(
            f"`home` {str(folder)!r}: a copy is being put back into it, or that was cut short; the"
            " same `hindsight-ray restore` once more brings it to its end",
            home=str(folder),
        )


def _folder(path: Path | str) -> Path:
    folder = Path(path).expanduser().absolute()
    _checked(lambda: folder.mkdir(mode=0o700, parents=True, exist_ok=True), folder)
    check_whole(folder)
    return folder


def _alone(folder: Path) -> int | None:
    """A descriptor that holds the lock alone, or None if somebody else has it for longer.

    Whoever only looks has it for an instant.
    """
    for _ in range(_LOOKS):
        lock = _locked(folder, fcntl.LOCK_EX)
        if lock is not None:
            return lock
        time.sleep(_LOOK_S)
    return None


def _locked(folder: Path, kind: int) -> int | None:
    """A descriptor that holds the lock, or None if somebody else's stands against it."""
    path = folder / LOCK_FILE
    lock = _checked(lambda: os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), folder)
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except OSError:
        os.close(lock)
        raise
    return lock


def _checked(action: Callable[[], R], folder: Path) -> R:
    try:
        return action()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT):
            raise StorageFailed(
                f"`home` {str(folder)!r} cannot be written: {error.strerror}", home=str(folder)
            ) from error
        raise HomeInvalid(
            f"`home` {str(folder)!r} cannot be a home: {error.strerror}; name a folder of yours",
            home=str(folder),
        ) from error


def _write_mode(folder: Path, address: str) -> None:
    text = json.dumps({"mode": "deployment", "address": address})
    replace_file(folder / MODE_FILE, f"{text}\n".encode())


def _written_address(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / MODE_FILE).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _used_by_deployment(folder: Path) -> HomeInUse:
    address = _written_address(folder) or _HELD_UNNAMED
    return HomeInUse(
        f"`home` {str(folder)!r} is used by a deployment; reach it with `--address {address}`, or"
        " if none is there any more, let the home go with"
        f" `hindsight-ray --home {shlex.quote(str(folder))} down`",
        home=str(folder),
        address=address,
    )
