"""Files that are seen whole, old or new, whatever stops their writer."""

import errno
from pathlib import Path

import pytest

from hindsight_ray.adapters import whole_files
from hindsight_ray.adapters.whole_files import as_before_unless_done, replace_file, write_once
from hindsight_ray.errors import StorageFailed


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("write", [replace_file, write_once])
@pytest.mark.parametrize("step", ["fsync", "open", "fchmod"])
def test_a_full_disk_is_told_and_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: object, step: str
) -> None:
    path = tmp_path / "keys"
    path.write_bytes(b"before")
    monkeypatch.setattr(whole_files.os, step, _full)
    with pytest.raises(StorageFailed, match="No space left"):
        (replace_file if write is replace_file else write_once)(path, b"after")
    assert path.read_bytes() == b"before"
    assert _names(tmp_path) == ["keys"]


def test_a_file_is_replaced_or_made_once(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    write_once(path, b"first", mode=whole_files.PRIVATE)
    write_once(path, b"second")
    assert path.read_bytes() == b"first"
    assert path.stat().st_mode & 0o777 == 0o600
    replace_file(path, b"third")
    assert path.read_bytes() == b"third"
    assert path.stat().st_mode & 0o777 == 0o644
    assert _names(tmp_path) == ["keys"]


def test_what_fails_leaves_the_files_as_they_were(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        replace_file(path, b"before")
    kept = one.stat().st_ino
    with pytest.raises(ZeroDivisionError), as_before_unless_done([one, other]):
        replace_file(one, b"after")
        raise ZeroDivisionError
    assert (one.read_bytes(), other.read_bytes()) == (b"before", b"before")
    assert one.stat().st_ino == kept  # no room was needed for it
    with as_before_unless_done([one, other]):
        replace_file(other, b"after")
    assert (one.read_bytes(), other.read_bytes()) == (b"before", b"after")
    assert _names(tmp_path) == ["one", "other"]
