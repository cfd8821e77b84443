"""Outcomes of replays that were paid for once: in memory, or in a folder that outlives a kill."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

_FILE = "evaluations.log"
_KEY_DIGITS = 64


class KeptHere:
    """`Evaluations` for as long as this object lives."""

    def __init__(self) -> None:
        self._outcomes: dict[str, float] = {}

    def known(self, keys: Iterable[str]) -> Mapping[str, float]:
        return {key: self._outcomes[key] for key in keys if key in self._outcomes}

    def keep(self, outcomes: Mapping[str, float]) -> None:
        self._outcomes.update(outcomes)


class KeptInFolder:
    """`Evaluations` in a file of lines, each a key and an outcome, appended and made durable.

    Several processes may append to one file: each append is one write of whole lines. A line that
    a kill cut short is no outcome, and the next append begins on a fresh line.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / _FILE
        self._outcomes: dict[str, float] = {}
        self._read_to = 0

    def known(self, keys: Iterable[str]) -> Mapping[str, float]:
        self._catch_up()
        return {key: self._outcomes[key] for key in keys if key in self._outcomes}

    def keep(self, outcomes: Mapping[str, float]) -> None:
        if not outcomes:
            return
        lines = "".join(f"\n{key} {value.hex()};" for key, value in outcomes.items())
        with self._file.open("ab", buffering=0) as file:
            file.write(lines.encode("ascii"))
            os.fsync(file.fileno())
        self._outcomes.update(outcomes)

    def _catch_up(self) -> None:
        """Read what was appended since, whole lines only: a semicolon ends each."""
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._read_to)
            fresh = file.read()
        end = fresh.rfind(b";") + 1
        for line in fresh[:end].decode("ascii", "replace").split("\n"):
            key, _, value = line.partition(" ")
            if len(key) == _KEY_DIGITS and value.endswith(";"):
                self._outcomes[key] = float.fromhex(value[:-1])
        self._read_to += end
