"""Small files that are seen whole, old or new, by whoever reads them at any moment, and survive."""

import os
import secrets
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hindsight_ray.errors import StorageFailed

PRIVATE, PUBLIC = 0o600, 0o644


def replace_file(path: Path, data: bytes, *, mode: int = PUBLIC) -> None:
    """Have `data` at `path`, whatever was there. Raises `StorageFailed`, leaving what was."""
    with _drafted(path, data, mode) as draft:
        draft.replace(path)
        _sync_folder(path.parent)


def write_once(path: Path, data: bytes, *, mode: int = PUBLIC) -> None:
    """Have `data` at `path` unless a file is there by then. Raises `StorageFailed`."""
    with _drafted(path, data, mode) as draft:
        with suppress(FileExistsError):  # another process was first, and its file counts
            os.link(draft, path)
        draft.unlink()
        _sync_folder(path.parent)


@contextmanager
def as_before_unless_done(paths: Sequence[Path]) -> Generator[None]:
    """Within the block files may be replaced; if it fails, these are what they were.

    The old ones stay on the disk meanwhile, so that putting them back needs no room.
    """
    kept: dict[Path, Path] = {}
    try:
        for path in paths:
            beside = _beside(path)
            with _told(path):
                os.link(path, beside)
            kept[path] = beside
        yield
    except BaseException:
        for path, beside in kept.items():
            beside.replace(path)
        raise
    finally:
        for beside in kept.values():
            beside.unlink(missing_ok=True)


@contextmanager
def _drafted(path: Path, data: bytes, mode: int) -> Generator[Path]:
    draft = _beside(path)
    with _told(path):
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(file.fileno(), mode)  # whatever the umask is
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield draft
        finally:
            draft.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


@contextmanager
def _told(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            f"{str(path)!r} cannot be written: {error.strerror}; what was there stays",
            path=str(path),
        ) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
