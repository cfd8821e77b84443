"""The home folder: what is in it, and who may use it now.

A home is used by any number of embedded processes or by one deployment, never by both. That is
kept by a lock on a file, shared or exclusive, which the operating system lets go when its process
ends, however it ends. What is written beside it only lets a refusal say where the deployment is.
"""

import errno
import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from hindsight_ray.errors import HomeInUse, HomeInvalid, StorageFailed

R = TypeVar("R")

LEDGER_FILE = "hindsight.sqlite3"
SETTINGS_FILE = "settings.json"
LOCK_FILE = "home.lock"
MODE_FILE = "mode.json"


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

        Raises `HomeInUse`, naming the address, while a deployment holds it; `HomeInvalid` if the
        path cannot be a home.
        """
        folder = _folder(path)
        lock = _locked(folder, fcntl.LOCK_SH)
        if lock is None:
            raise _used_by_deployment(folder)
        return cls(folder, lock, deployment=False)

    @classmethod
    def deployed(cls, path: Path | str, address: str) -> Self:
        """Hold the home alone, for a deployment at `address`, making it if it is not there.

        Raises `HomeInUse` while an embedded process or another deployment holds it.
        """
        folder = _folder(path)
        lock = _locked(folder, fcntl.LOCK_EX)
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
    """Where the deployment that holds this home is, or None while none does."""
    folder = Path(path)
    if not (folder / LOCK_FILE).is_file():
        return None
    lock = _locked(folder, fcntl.LOCK_SH)
    if lock is None:
        return _written_address(folder)
    os.close(lock)
    return None


def _folder(path: Path | str) -> Path:
    folder = Path(path).expanduser().absolute()
    _checked(lambda: folder.mkdir(mode=0o700, parents=True, exist_ok=True), folder)
    return folder


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
    draft = folder / f".{MODE_FILE}.{os.getpid()}"
    text = json.dumps({"mode": "deployment", "address": address}) + "\n"
    _checked(lambda: draft.write_text(text, encoding="utf-8"), folder)
    draft.replace(folder / MODE_FILE)


def _written_address(folder: Path) -> str:
    try:
        return str(json.loads((folder / MODE_FILE).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError):
        return "auto"  # held, and not written yet


def _used_by_deployment(folder: Path) -> HomeInUse:
    address = _written_address(folder)
    return HomeInUse(
        f"`home` {str(folder)!r} is used by a deployment; reach it with `--address {address}`",
        home=str(folder),
        address=address,
    )
