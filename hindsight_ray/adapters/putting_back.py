"""A home that is being made from a copy: filled in a folder of its own within it, then all at once.

Within, since the home may be a volume. As long as that folder is there the home opens to nobody.
The home's own lock says that somebody is at it; the system lets that go with its process. What was
left before it was whole is thrown away by the next who puts a copy back, but for its name: a server
may hold by it what was committed there. What was left whole becomes the home.
"""

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from hindsight_ray.adapters.home import DRAFT_FOLDER, LOCK_FILE
from hindsight_ray.adapters.whole_files import replace_file
from hindsight_ray.errors import HomeInUse, HomeInvalid

_WHOLE = "whole.json"
_NAME = "name"


@dataclass(frozen=True, slots=True)
class Whole:
    """What a draft says of itself once nothing is missing: of which copy it is, and its rows."""

    copy: str
    rows: Mapping[str, int]


class Draft:
    """The folder to fill, which nobody else fills until it is left."""

    def __init__(self, home: Path, lock: int, *, made: bool) -> None:
        self.path = home / DRAFT_FOLDER
        self._home = home
        self._lock = lock
        self._made = made
        self._taken_over = (self.path / _NAME).is_file()
        if not self._taken_over:
            self.path.mkdir(mode=0o700, exist_ok=True)
            replace_file(self.path / _NAME, secrets.token_hex(16).encode())

    @property
    def name(self) -> str:
        """What it is called, whoever is at it."""
        return (self.path / _NAME).read_text(encoding="ascii")

    @classmethod
    def begin(cls, home: Path) -> Self:
        """Make the folder, or take over what was left of one.

        Raises `HomeInUse` if somebody is at it, `HomeInvalid` if this cannot become a home.
        """
        made = not home.exists()
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_empty(home)
            lock = _locked(home / LOCK_FILE)
        except OSError as error:
            raise HomeInvalid(
                f"`home` {str(home)!r} cannot be a home: {error.strerror}; name a folder of yours",
                home=str(home),
            ) from error
        if lock is None:
            raise HomeInUse(
                f"`home` {str(home)!r}: somebody else is putting a copy back into it",
                home=str(home),
            )
        try:
            _check_empty(home)  # whoever was at it before may have ended well
            return cls(home, lock, made=made)
        except BaseException:
            os.close(lock)
            raise

    def whole(self) -> Whole | None:
        """What it is, if nothing is missing."""
        try:
            return Whole(**json.loads((self.path / _WHOLE).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    def clear(self) -> None:
        """Throw away what was left in it. Raises `HomeInvalid` if the home holds anything else."""
        for one in self.path.iterdir():
            if one.name != _NAME:
                shutil.rmtree(one) if one.is_dir() else one.unlink()
        if _others(self._home):
            raise not_empty(self._home)

    def finish(self, copy: str, rows: Mapping[str, int]) -> None:
        """Say that nothing is missing."""
        text = json.dumps(asdict(Whole(copy, dict(rows))))
        replace_file(self.path / _WHOLE, text.encode())

    def become_home(self) -> Whole:
        """Put everything in its place, the rest of it where some is there already."""
        whole = self.whole()
        assert whole is not None  # noqa: S101 - its caller has seen to it
        for one in sorted(self.path.iterdir()):
            if one.name not in (_NAME, _WHOLE):
                one.replace(self._home / one.name)
        (self.path / _NAME).unlink(missing_ok=True)
        (self.path / _WHOLE).unlink()
        self.path.rmdir()
        return whole

    def leave(self) -> None:
        """Let it go: nothing is left of one that is not whole, unless somebody left it before."""
        if self.path.is_dir() and self.whole() is None and not self._taken_over:
            shutil.rmtree(self.path, ignore_errors=True)
            (self._home / LOCK_FILE).unlink(missing_ok=True)
        os.close(self._lock)
        if self._made:
            with suppress(OSError):  # it is a home, or somebody else has put something there
                self._home.rmdir()


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock alone, or None if somebody else does."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_ino == path.stat().st_ino:
            return lock
    except (BlockingIOError, FileNotFoundError):  # or whoever was at it has just ended
        pass
    except OSError:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _check_empty(home: Path) -> None:
    if not (home / DRAFT_FOLDER).is_dir() and _others(home):
        raise not_empty(home)


def _others(home: Path) -> bool:
    """Whether there is anything in it besides a draft and what is locked."""
    return any(one.name not in (DRAFT_FOLDER, LOCK_FILE) for one in home.iterdir())


def not_empty(home: Path, why: str = "") -> HomeInvalid:
    said = f" ({why})" if why else ""
    return HomeInvalid(f"`home` {str(home)!r} is not empty{said}; restore into a new one")
