"""Where the erasures of a memory are listed: beside its home, and known to every copy of it.

The list of a home lies beside the folder and not in it, so that a copy of the folder, put back
later, meets the erasures that it has not seen. A copy under another name, or in another folder, has
a list of its own; in the home a file says where those lists lie that it descends from, and a copy
takes it along. Entries name the memory that they are of, since a path may be another's by then.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from hindsight_ray.domain.erasure import Erasure

LISTS_FILE = "erasures.lists"  # in a home or a copy: absolute paths of lists, one in a line


def erasure_list(folder: Path) -> Path:
    """Where the erasures of a home, or for a copy of one, are listed: beside its folder."""
    return folder.parent / f"{folder.name}.erasures"


def note(home: Path, memory: str, erasure: Erasure) -> None:
    """Put an erasure of this memory into the home's list, durably."""
    line = json.dumps({"memory": memory, **erasure.model_dump(mode="json")}, ensure_ascii=False)
    _append(erasure_list(home), f"{line}\n")


def listed(home: Path, memory: str) -> list[Erasure]:
    """Every erasure that this home must have carried out, oldest first.

    Those of other lists that it descends from are put into its own.
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
        _append(home / LISTS_FILE, f"{own}\n")
    return named


def copied_lists(source: Path, target: Path, *, beside: Path) -> None:
    """Let a copy know the lists that its source knows, and the one that lies beside a folder."""
    for one in dict.fromkeys((*_named(source / LISTS_FILE), erasure_list(beside.absolute()))):
        _append(target / LISTS_FILE, f"{one}\n")


def _others(home: Path) -> list[Path]:
    """Lists of other names: where they were, and beside this home if they moved along with it."""
    own = erasure_list(home.absolute())
    found = [one for path in _named(home / LISTS_FILE) for one in (path, own.parent / path.name)]
    return [one for one in dict.fromkeys(found) if one != own]


def _named(file: Path) -> list[Path]:
    if not file.is_file():
        return []
    return [Path(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def _entries(file: Path, memory: str, *, nameless: bool) -> Iterator[tuple[str, Erasure]]:
    if not file.is_file():
        return
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.strip():
            document = json.loads(line)
            if document.pop("memory", memory if nameless else "") == memory:
                erasure = Erasure.model_validate(document)
                yield erasure.erasure_id, erasure


def _append(file: Path, line: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line.encode("utf-8"))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
