"""Ctrl-C at any moment ends a command line quietly: exit code 130, no traceback."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

START = "from hindsight_ray.entry.start import main; main()"
# Interrupts this process as it begins to import the module that the test names.
HOOK = """
import os, signal, sys
def hook(event, arguments, wanted=os.environ["INTERRUPT_AT"]):
    if event == "import" and arguments[0] == wanted and not done:
        done.append(True)
        os.kill(os.getpid(), int(os.environ["INTERRUPT_WITH"]))
done = []
sys.addaudithook(hook)
# As in a terminal: what a shell runs behind is started with interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
MOMENTS = (
    "hindsight_ray.entry.cli",
    "typer",
    "hindsight_ray.compose",
    "hindsight_ray.domain.commands",
    "sqlalchemy",
    "hindsight_ray.entry.cli.options",
    "hindsight_ray.entry.cli.upkeep",
    "hindsight_ray.adapters.models.local",
)


def _interrupted(
    folder: pathlib.Path, module: str, *line: str, how: signal.Signals = signal.SIGINT
) -> tuple[int, str, str]:
    (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", START, "--home", str(folder / "home"), *line],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": path,
            "INTERRUPT_AT": module,
            "INTERRUPT_WITH": str(int(how)),
        },
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.covers("cli.interrupt")
@pytest.mark.parametrize("module", MOMENTS)
def test_an_interrupt_while_modules_load_is_a_quiet_exit(
    tmp_path: pathlib.Path, module: str
) -> None:
    line = ("write", "The depot opens at nine", "--tenant", "acme", "--user", "alice")
    code, out, err = _interrupted(tmp_path, module, *line)
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    said = [one for one in err.splitlines() if "begins" not in one]
    assert said in ([], ["error: interrupted"])


@pytest.mark.covers("cli.interrupt", "cluster.ended")
def test_a_start_that_is_asked_to_end_ends_as_if_it_were_interrupted(
    tmp_path: pathlib.Path,
) -> None:
    module = "ray"
    code, out, err = _interrupted(tmp_path, module, "up", how=signal.SIGTERM)
    assert (code, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.covers("cli.interrupt")
def test_without_an_interrupt_the_same_start_answers(tmp_path: pathlib.Path) -> None:
    code, out, err = _interrupted(tmp_path, "no.such.module", "status", "--json")
    assert (code, err) == (0, "")
    assert '"state": "absent"' in out
