"""Every command with `--json`: one document on standard output, or one on standard error."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from hindsight_ray import compose
from hindsight_ray.entry import cli as command_line
from tests.entry.conftest import Cli

WHO = ("--tenant", "acme", "--user", "alice")
OPERATOR = ("--tenant", "acme")
# What serves until it is stopped, starts a cluster, or plays for a while: tried where that is.
ELSEWHERE = frozenset({"demo", "leakcheck", "mcp", "serve", "up", "scale"})
# What each is asked, by whom; `{memory}`, `{run}`, `{waiting}`, `{kid}`, `{folder}` are filled in.
LINES: dict[str, tuple[str, ...]] = {
    "init": (), "doctor": (), "status": (), "down": (),
    "write": ("The depot opens at ten", *WHO), "search": ("depot", *WHO),
    "search-many": ("depot", "lobby", *WHO), "get": ("{memory}", *WHO),
    "update": ("{memory}", "The depot opens at six", *WHO), "history": ("{memory}", *WHO),
    "explain": ("{memory}", *WHO), "promote": ("{memory}", *OPERATOR),
    "share": ("user:alice", "--to", "user:bob", *WHO),
    "revoke": ("user:alice", "--to", "user:bob", *WHO),
    "run list": WHO, "run show": ("{run}", *WHO), "review": ("{run}", *WHO),
    "outcome": ("{run}", "-0.5", *WHO), "policy show": OPERATOR,
    "import": ("{folder}/log.json", "--format", "openai-messages", *OPERATOR),
    "attribute": ("{run}", "--html", "{folder}/credit.html", *WHO), "spent": OPERATOR,
    "why": ("read", "user:alice", *WHO), "policy explain": ("read", "user:alice", *WHO),
    "policy check": ("team",), "policy test": (), "policy load": ("default",),
    "policy who": ("user:alice", *OPERATOR), "policy sees": WHO,
    "policy diff": ("default", "strict"), "policy lint": ("default",),
    "audit list": OPERATOR, "audit verify": OPERATOR, "audit seal": OPERATOR,
    "audit sample": OPERATOR, "audit judge": ("{memory}", "good", *OPERATOR),
    "audit report": OPERATOR, "key list": (), "key rotate": (), "key retire": ("{kid}",),
    "ticket": WHO, "privacy": OPERATOR, "tenant list": (), "pending list": WHO,
    "pending accept": ("{waiting}", *WHO), "pending reject": ("{memory}", *WHO),
    "pending edit": ("{memory}", "x", *WHO), "memory get": ("{memory}", *WHO),
    "memory history": ("{memory}", *WHO), "memory tiers": ("{memory}", *WHO),
    "memory archive": ("{memory}", *WHO), "memory restore": ("{memory}", *WHO),
    "forget": ("{memory}", *WHO), "project close": ("apollo", *WHO), "export knowledge": WHO,
    "maintain": OPERATOR,
    "reembed": ("--model", "hashed", *OPERATOR), "calibrate": ("--dry", *OPERATOR),
    "settings": (), "backup": ("{folder}/copy",),
    "restore": ("{folder}/copy", "--home", "{folder}/new"),
    "erase": ("bob", "bob", *OPERATOR), "drop-tenant": ("acme", *OPERATOR),
}  # fmt: skip
REFUSED = {"pending reject": 1, "pending edit": 1}  # nothing waits there


def _leaves(group: Any, before: tuple[str, ...] = ()) -> Iterator[str]:
    if not hasattr(group, "commands"):
        yield " ".join(before)
        return
    for word, one in group.commands.items():
        yield from _leaves(one, (*before, word))


@pytest.mark.covers("cli.json")
def test_every_command_is_tried_with_json() -> None:
    names = set(_leaves(typer.main.get_command(command_line.program())))
    assert names == set(LINES) | ELSEWHERE


@pytest.mark.covers("cli.json", "cli.errors")
def test_every_command_answers_with_one_document(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """In one home, one after the other: what one leaves behind the next one meets."""
    known = _known(home, tmp_path)
    for name, line in LINES.items():
        filled = [word.format(**known) for word in line]
        said = cli(*name.split(), *filled, "--json")
        if name in REFUSED:
            assert (said.code, said.out) == (REFUSED[name], ""), name
            told = json.loads(said.err)
            assert set(told) == {"error", "message", "exit_code"}
            assert told["exit_code"] == said.code
            continue
        assert said.code == 0, (name, said.err)
        assert said.document is not None, name
        assert said.err == "", name
        if name == "key rotate":
            known["kid"] = said.document["before"]


def _known(home: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """A home with a memory, a run and something that waits; their names."""
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    (folder / "log.json").write_text(json.dumps(messages), encoding="utf-8")
    with compose.open_sync(home, embedding="hashed") as hindsight:
        ticket = hindsight.issue_ticket(tenant="acme", user="alice")
        memory = hindsight.as_caller(ticket)
        kept = memory.write("The depot opens at nine", project="apollo")
        waiting = memory.write("The lobby may be closed", confidence=0.2)
        with memory.run(goal="Restore checkout") as run:
            run.decide("Roll back release 41")
            run.outcome(1.0)
        return {
            "memory": kept.ids[0], "waiting": waiting.ids[0], "run": run.id, "kid": "",
            "folder": str(folder),
        }  # fmt: skip


@pytest.mark.covers("cli.json", "cli.errors")
@pytest.mark.parametrize("name", sorted(set(LINES) | ELSEWHERE))
def test_misuse_of_every_command_is_one_document_on_standard_error(cli: Cli, name: str) -> None:
    said = cli(*name.split(), "--no-such-option", "--json")
    assert (said.code, said.out) == (2, "")
    told = json.loads(said.err)
    assert (told["error"], told["exit_code"]) == ("InvalidInput", 2)
    assert "--no-such-option" in told["message"]
