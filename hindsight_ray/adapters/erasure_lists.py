"""Where the erasures of a memory are listed: beside its home, and known to every copy of it.

The list of a home lies beside the folder and not in it, so that a copy of the folder, put back
later, meets the erasures that it has not seen. A copy under another name, or in another folder, has
a list of its own; in the home a file says where those lists lie that it descends from, and a copy
takes it along. Entries name the memory that they are of, since a path may be another's by then.

A line is written whole or not at all. A last line that was cut off with its writer is of an erasure
that nobody was told of: it counts as not written, and the next writer takes it away.
"""

import errno
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from hindsight_ray.domain.erasure import Erasure
from hindsight_ray.errors import HomeInvalid, InvalidInput, StorageFailed

LISTS_FILE = "erasures.lists"  # in a home or a copy: absolute paths of lists, one in a line


def erasure_list(folder: Path) -> Path:
    """Where the erasures of a home, or for a copy of one, are listed: beside its folder."""
    return folder.parent / f"{folder.name}.erasures"


def note(home: Path, memory: str, erasure: Erasure) -> None:
    """Put an erasure of this memory into the home's list, durably. Raises `StorageFailed`."""
    line = json.dumps({"memory": memory, **erasure.model_dump(mode="json")}, ensure_ascii=False)
    _append(erasure_list(home), line.encode("utf-8"), whole=lambda left: _entry(left) is not None)


def listed(home: Path, memory: str) -> list[Erasure]:
    """Every erasure that this home must have carried out, oldest first.

    Those of other lists that it descends from are put into its own. Raises `HomeInvalid` for a list
    with a line that cannot be read: an erasure may be missing there.
    """
    known_lists(home)
    own = dict(_entries(erasure_list(home), memory, nameless=True))
    for other in _others(home):
        for name, erasure in _entries(other, memory, nameless=False):
            if name not in own:
                own[name] = erasure
                note(home, memory, erasure)
    return sorted(own.values(), key=lambda one: one.at)


def known_lists(home: Path) -> list[Path]:
    """The lists that this home's copies will look at: its own, which is added, and earlier ones."""
    own = erasure_list(home.absolute())
    named = _named(home / LISTS_FILE)
    if own not in named:
        named.append(own)
        _append(home / LISTS_FILE, os.fsencode(own))
    return named


def copied_lists(source: Path, target: Path, *, beside: Path) -> None:
    """Let a copy know the lists that its source knows, and the one that lies beside a folder."""
    for one in dict.fromkeys((*_named(source / LISTS_FILE), erasure_list(beside.absolute()))):
        _append(target / LISTS_FILE, os.fsencode(one))


def _others(home: Path) -> list[Path]:
    """Lists of other names: where they were, and beside this home if they moved along with it."""
    own = erasure_list(home.absolute())
    found = [one for path in _named(home / LISTS_FILE) for one in (path, own.parent / path.name)]
    return [one for one in dict.fromkeys(found) if one != own]


def _named(file: Path) -> list[Path]:
    if not file.is_file():
        return []
    return [Path(os.fsdecode(line)) for line in file.read_bytes().split(b"\n") if line]


def _entries(file: Path, memory: str, *, nameless: bool) -> Iterator[tuple[str, Erasure]]:
    if not file.is_file():
        return
    lines = file.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is None:
            if number == len(lines):
                continue  # cut off: what it would have said was never acknowledged
            raise HomeInvalid(
                f"line {number} of {str(file)!r} is not an erasure; put the list back as it was, or"
                " take the line out if you know that it was none",
                file=str(file),
                line=number,
            )
        of, erasure = entry
        if (of if of is not None or not nameless else memory) == memory:
            yield erasure.erasure_id, erasure


def _entry(line: bytes) -> tuple[str | None, Erasure] | None:
    """What a line says, and of which memory if it names one; None if it is not whole."""
    try:
        document: dict[str, str] = dict(json.loads(line))
        of = document.pop("memory", None)
        return of, Erasure.model_validate(document)
    except (ValueError, TypeError, InvalidInput):
        return None


def _append(file: Path, line: bytes, *, whole: Callable[[bytes], bool] = bool) -> None:
    """Add a line, or nothing. A last one without its end stays only if it is `whole`."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            # So that no line which somebody is writing is taken for one that was cut off.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            kept = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            end = kept.rfind(b"\n") + 1
            if end < len(kept) and whole(kept[end:]):
                end, line = len(kept), b"\n" + line
            os.ftruncate(descriptor, end)
            _write_whole(descriptor, line + b"\n", end)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageFailed(
            f"{str(file)!r} cannot be written: {error.strerror}; nothing was changed",
            file=str(file),
        ) from error


def _write_whole(descriptor: int, data: bytes, end: int) -> None:
    try:
        if (written := os.write(descriptor, data)) == len(data):
            os.fsync(descriptor)
            return
        fault = OSError(errno.ENOSPC, f"{written} of {len(data)} bytes were taken")
    except OSError as error:
        fault = error
    with suppress(OSError):  # else the next writer does
        os.ftruncate(descriptor, end)
    raise fault
