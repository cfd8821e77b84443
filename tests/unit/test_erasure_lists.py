"""The list of erasures: a line is there whole or not at all, and what was cut off keeps nobody out.

The list lies in a file, and what is tried here is what a full disk or a kill leaves of it.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_ray.adapters.erasure_lists import LISTS_FILE, erasure_list, known_lists, listed, note
from hindsight_ray.domain.erasure import Erasure
from hindsight_ray.errors import HomeInvalid, StorageFailed

pytestmark = pytest.mark.covers("erase.restore")
_MEMORY = "m1"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def _of(user: str, number: int = 0) -> Erasure:
    at = datetime(2026, 3, 2, tzinfo=UTC) + timedelta(minutes=number)
    return Erasure.model_validate(
        {"erasure_id": f"e-{user}", "tenant": "acme", "user": user, "at": at}
    )


def _users(home: Path) -> list[str]:
    return [one.user for one in listed(home, _MEMORY)]


@pytest.mark.parametrize("torn", [b'{"memory": "ab', b'{"memory": "m\xc3', b"{", b"[1]"])
def test_a_last_line_that_was_cut_off_is_not_there_and_the_next_one_takes_its_place(
    home: Path, torn: bytes
) -> None:
    note(home, _MEMORY, _of("alice"))
    whole = erasure_list(home).read_bytes()
    erasure_list(home).write_bytes(whole + torn)
    assert _users(home) == ["alice"]
    note(home, _MEMORY, _of("bob", 1))
    assert erasure_list(home).read_bytes().startswith(whole + b'{"memory": "m1"')
    assert _users(home) == ["alice", "bob"]


def test_a_last_line_that_lacks_nothing_but_its_end_counts_and_stays(home: Path) -> None:
    note(home, _MEMORY, _of("alice"))
    erasure_list(home).write_bytes(erasure_list(home).read_bytes().rstrip(b"\n"))
    assert _users(home) == ["alice"]
    note(home, _MEMORY, _of("bob", 1))
    assert _users(home) == ["alice", "bob"]


def test_a_broken_line_before_the_last_is_named_with_its_file(home: Path) -> None:
    note(home, _MEMORY, _of("alice"))
    with erasure_list(home).open("ab") as opened:
        opened.write(b'{"memory": "ab\n')
    note(home, _MEMORY, _of("bob", 1))
    with pytest.raises(HomeInvalid, match=r"line 2 of .*home\.erasures") as refusal:
        listed(home, _MEMORY)
    assert refusal.value.details == {"file": str(erasure_list(home)), "line": 2}


@pytest.mark.parametrize("tear", [True, False])
def test_a_line_that_the_disk_takes_in_part_leaves_nothing_and_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, tear: bool
) -> None:
    note(home, _MEMORY, _of("alice"))
    before = erasure_list(home).read_bytes()
    write, fsync = os.write, os.fsync

    def short(descriptor: int, data: bytes) -> int:
        return write(descriptor, data[:9] if tear else data)

    def lost(descriptor: int) -> None:
        fsync(descriptor)
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as faulty:
        faulty.setattr(os, "write", short)
        faulty.setattr(os, "fsync", lost)
        with pytest.raises(StorageFailed, match=r"home\.erasures"):
            note(home, _MEMORY, _of("bob", 1))
    assert erasure_list(home).read_bytes() == before


@pytest.mark.parametrize("torn", [b"/data/ol", b"/data/\xc3"])
def test_a_cut_off_line_of_where_the_lists_lie_hides_none_that_follows(
    home: Path, torn: bytes
) -> None:
    (home / LISTS_FILE).write_bytes(torn)
    assert erasure_list(home) in known_lists(home)
    assert known_lists(home).count(erasure_list(home)) == 1
