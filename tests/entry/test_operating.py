"""The page for operators: its commands are run as they are printed, in their order."""

import pathlib
import re
import shlex

import pytest

from hindsight_ray.entry.cli import run

_PAGE = pathlib.Path(__file__).parents[2] / "docs" / "operating.md"
_SHOWN = [
    line
    for block in re.findall(r"(?ms)^```sh\n(.*?)```", _PAGE.read_text(encoding="utf-8"))
    for line in block.splitlines()
]


def test_the_commands_for_operators_run_as_printed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(_SHOWN) > 20
    for line in _SHOWN:
        program, *arguments = shlex.split(line)
        assert program == "hindsight-ray"
        assert run(arguments) == 0, f"{line}: {capsys.readouterr().err}"
