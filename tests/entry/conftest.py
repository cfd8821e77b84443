"""A command line in this process, over a home in the test's own folder."""

import json
import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hindsight_ray.entry.cli import run


@dataclass(frozen=True, slots=True)
class Said:
    """What a command line answered."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


Cli = Callable[..., Said]


@pytest.fixture
def home(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "home"


@pytest.fixture
def cli(home: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`cli("search", "x", …)` runs `hindsight-ray --home HOME search x …`."""

    def call(*arguments: str, at_home: bool = True) -> Said:
        before = ("--home", str(home)) if at_home else ()
        code = run([*before, *arguments])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call


@pytest.fixture
def cli_json(cli: Cli) -> Callable[..., Any]:
    """The same with `--json`: the document of a command that must succeed."""

    def call(*arguments: str) -> Any:
        said = cli(*arguments, "--json")
        assert said.code == 0, said.err
        return said.document

    return call
