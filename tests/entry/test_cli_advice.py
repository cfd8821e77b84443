"""Every command that is printed as advice, example or in the README can be run as printed."""

import ast
import pathlib
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from hindsight_ray import compose
from hindsight_ray.entry import cli as command_line
from hindsight_ray.errors import InvalidSettings
from tests.entry.conftest import Cli

_ROOT = pathlib.Path(__file__).parents[2]
_ADVISED = re.compile(r"`(hindsight-ray [^`]+)`")
ALICE = ("--tenant", "acme", "--user", "alice")


def _advised(text: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in _ADVISED.findall(" ".join(text.split()))]


def _runs(cli: Cli, text: str) -> None:
    lines = _advised(text)
    assert lines, text
    for line in lines:
        said = cli(*line, at_home=False)
        assert said.code == 0, said.err


@pytest.mark.covers("cli.advice")
def test_the_advice_for_a_policy_of_a_home_that_is_there_works(cli: Cli) -> None:
    cli("init")
    empty = cli("init", "--policy", "strict")
    assert empty.code == 2
    _runs(cli, empty.err)
    cli("ticket", *ALICE)
    used = cli("init", "--policy", "strict")
    assert used.code == 2
    _runs(cli, used.err)
    assert cli("init", "--policy", "default").code == 0


@pytest.mark.covers("cli.advice")
def test_the_advice_of_an_open_that_contradicts_its_home_works(
    cli: Cli, home: pathlib.Path
) -> None:
    cli("ticket", *ALICE)
    for other in ({"policy": "team"}, {"ledger": "postgresql"}):
        with pytest.raises(InvalidSettings) as refused, compose.open_sync(home, **other):
            pass
        _runs(cli, refused.value.message)


@pytest.mark.covers("cli.advice")
def test_the_advice_after_a_rotation_works(cli: Cli) -> None:
    cli("ticket", *ALICE)
    _runs(cli, cli("key", "rotate").out)


def _leaves(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if not hasattr(group, "commands"):
        yield " ".join(before), group
        return
    for word, one in group.commands.items():
        yield from _leaves(one, (*before, word))


_PROGRAM: Any = typer.main.get_command(command_line.program())
_COMMANDS = dict(_leaves(_PROGRAM))


def _parsed(words: list[str]) -> str:
    """The command that these words name, if it takes them. Raises what the program would."""
    context = _PROGRAM.make_context("hindsight-ray", list(words))
    group, named = _PROGRAM, []
    while hasattr(group, "commands"):
        rest = [*context._protected_args, *context.args]
        name, group, rest = group.resolve_command(context, rest)
        named.append(name)
        context = group.make_context(name, rest, parent=context)
    return " ".join(named)


@pytest.mark.covers("cli.help")
@pytest.mark.parametrize("name", sorted(_COMMANDS))
def test_every_command_says_what_it_does_and_its_example_is_one_of_it(name: str) -> None:
    one = _COMMANDS[name]
    assert one.help
    assert one.help.rstrip().endswith(".")
    assert one.epilog
    examples = re.findall(r"hindsight-ray ([^;`)]+(?:\([^)]*\))?[^;`)]*)", one.epilog)
    assert examples, one.epilog
    for example in examples[: 1 if "export" in one.epilog else None]:
        line = example.split(" > ")[0]
        assert _parsed(shlex.split(line)) in (
            name,
            name.rsplit(maxsplit=1)[-1],
            name.replace("policy explain", "why"),
        )
    for option in one.params:
        assert option.name == option.name.lower()
        if option.param_type_name == "option" and option.help:
            assert option.help.endswith("."), (name, option.name)


@pytest.mark.covers("cli.help")
def test_the_commands_are_listed_in_groups(cli: Cli) -> None:
    shown = cli("--help", at_home=False).out
    places = [shown.index(f" {panel} ") for panel in (
        "Beginning", "Memories", "Runs and credit", "Who may know what", "Keeping it in order",
        "Serving",
    )]  # fmt: skip
    assert places == sorted(places)
    assert "─ Commands ─" not in shown


@pytest.mark.covers("cli.advice")
def test_the_commands_of_the_readme_are_commands() -> None:
    text = (_ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    mine = [line for line in lines if line.startswith("hindsight-ray ")]
    assert mine
    for line in mine:
        _parsed(shlex.split(line, comments=True)[1:])


@pytest.mark.covers("cli.advice")
def test_every_command_that_a_message_names_is_one() -> None:
    """Texts in the code: what is filled in at run time stands as one word."""
    for path in sorted((_ROOT / "hindsight_ray").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = _text(node)
            for line in _advised(text or ""):
                named = [word for word in line if not word.startswith("-") and word != "filled"]
                first = next((word for word in named if word in _PROGRAM.commands), None)
                assert first is not None, f"{path.name}: {line}"


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "filled" for part in node.values
        )
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None
