"""What somebody meets who uses the command line for the first time."""

import json
import pathlib
from collections.abc import Callable
from importlib import metadata
from typing import Any

import pytest

from hindsight_ray.core.report.counts import counted
from tests.entry.conftest import Cli

Document = Callable[..., Any]
ACME = ("--tenant", "acme")
ALICE = (*ACME, "--user", "alice")
MESSAGES = [
    {"role": "user", "content": "Where is my parcel?"},
    {"role": "assistant", "content": "It is at the depot."},
]


@pytest.fixture
def imported(cli_json: Document, tmp_path: pathlib.Path) -> str:
    """A run that was recorded elsewhere, and that nobody has scored."""
    log = tmp_path / "log.json"
    log.write_text(json.dumps(MESSAGES), encoding="utf-8")
    cli_json("import", str(log), "--format", "openai-messages", *ACME)
    return cli_json("run", "list", *ACME)["runs"][0]["run"]["run_id"]


@pytest.mark.covers("knowledge.export", "cli.advice")
def test_what_an_empty_export_says_approves_an_experience_does_approve_it(
    cli: Cli, cli_json: Document, tmp_path: pathlib.Path
) -> None:
    line = ("write", "You should call the depot first", "--type", "experience", *ALICE)
    kept = cli_json(*line)["ids"][0]
    cli_json("audit", "judge", kept, "good", *ACME)
    file = tmp_path / "knowledge.jsonl"
    for where in ((), ("-o", str(file))):
        said = cli("export", "knowledge", *ALICE, *where)
        assert said.code == 0
        assert "`promote ID --scope SCOPE`" in said.err
        assert "judge" not in said.err
    cli_json("promote", kept, "--scope", "user:alice", *ACME)
    said = cli("export", "knowledge", *ALICE, "-o", str(file))
    assert (said.out.split(" in ")[0], said.err) == ("1 document", "")
    assert kept in file.read_text(encoding="utf-8")


@pytest.mark.covers("cli.story")
def test_a_statement_is_the_word_of_the_user_who_is_named_else_of_the_agent(
    cli: Cli, cli_json: Document
) -> None:
    def weight(*who: str) -> tuple[str, float]:
        kept = cli_json("write", f"The depot opens at nine for {who[-1][-8:]}", *who)["ids"][0]
        source = cli_json("get", kept, *who)["source"]
        return source["kind"], source["weight"]

    planner = (*ACME, "--agent", "planner")
    assert weight(*planner) == ("agent", 0.6)
    assert weight(*planner, "--user", "alice") == ("user", 1.0)
    for who, kind in ((planner, "agent"), ((*planner, "--user", "alice"), "user")):
        token = cli("ticket", *who).out.strip()
        assert weight("--ticket", token)[0] == kind
    refused = cli("write", "The depot opens at ten", *planner, "--source", "user")
    assert refused.code == 2


@pytest.mark.covers("cli.places")
def test_a_ticket_is_of_a_memory_that_is_there(cli: Cli, tmp_path: pathlib.Path) -> None:
    token = cli("ticket", *ALICE).out.strip()
    other = tmp_path / "other"
    said = cli("write", "x", "--ticket", token, "--home", str(other))
    assert said.code == 1
    assert "no memory is in" in said.err
    assert not other.exists()


@pytest.mark.covers("cli.outcome")
def test_a_run_without_an_outcome_is_given_one_by_the_verb_that_its_abstention_names(
    cli: Cli, cli_json: Document, imported: str
) -> None:
    before = cli("attribute", imported, *ACME)
    assert "`outcome` records one" in before.out
    assert "no outcome, credit by provenance" in before.out
    said = cli("outcome", imported, "-0.5", "--evaluator", "monitor", *ACME)
    assert (said.code, said.out) == (0, "outcome -0.50 by agent:operator (monitor)\n")
    assert cli_json("attribute", imported, *ACME)["outcome"] == -0.5
    anew = cli_json("outcome", "--success", imported, "0", *ACME)
    assert (anew["value"], anew["success"], anew["revision"]) == (0.0, True, 2)


@pytest.mark.covers("cli.outcome", "cli.errors")
@pytest.mark.parametrize("value", ["2", "-2", "-1e9", "well"])
def test_an_outcome_that_is_no_score_is_misuse(cli: Cli, imported: str, value: str) -> None:
    said = cli("outcome", imported, value, *ACME)
    assert (said.code, said.out) == (2, "")
    assert "VALUE" in said.err


@pytest.mark.covers("cli.policy")
def test_the_policy_in_force_is_printed_so_that_it_can_be_loaded_again(
    cli: Cli, cli_json: Document, tmp_path: pathlib.Path
) -> None:
    cli("ticket", *ALICE)
    shown = cli("policy", "show")
    assert shown.code == 0
    assert "role:agent" in shown.out
    assert "policy revision" in shown.err
    file = tmp_path / "mine.csv"
    file.write_text(shown.out, encoding="utf-8")
    cli_json("policy", "load", str(file))
    assert cli("policy", "show").out == shown.out
    assert cli_json("policy", "show")["text"] == shown.out


def test_a_status_without_a_deployment_has_no_empty_table(cli: Cli) -> None:
    cli("init")
    said = cli("status")
    assert "embedded" in said.out
    assert "actor" not in said.out


@pytest.mark.covers("cli.options")
def test_the_version_is_told(cli: Cli) -> None:
    version = metadata.version("hindsight-ray")
    assert cli("--version").out == f"hindsight-ray {version}\n"
    for line in (("--version", "--json"), ("--json", "--version")):
        assert cli(*line).document == {"version": version}


@pytest.mark.covers("cli.places")
def test_the_audit_of_a_deployment_itself_is_no_first_tenant(cli: Cli, cli_json: Document) -> None:
    cli("init")
    cli_json("key", "rotate")
    assert cli_json("tenant", "list")["tenants"] == ["hindsight-ray"]
    assert cli("write", "The depot opens at nine", *ALICE).code == 0


def test_what_is_counted_is_one_or_many() -> None:
    said = [counted(number, "memory") for number in (0, 1, 2, 1_200)]
    assert said == ["0 memories", "1 memory", "2 memories", "1,200 memories"]
    assert (counted(2, "replay"), counted(1, "run"), counted(2, "run")) == (
        "2 replays", "1 run", "2 runs",
    )  # fmt: skip


def test_what_people_are_shown_has_no_underscores(cli: Cli) -> None:
    cli("ticket", *ALICE)
    said = cli("policy", "load", "team")
    assert "grants ended" in said.out
    kept = cli("write", "The depot opens at nine", *ALICE, "--json").document["ids"][0]
    assert "created at" in cli("get", kept, *ALICE).out
