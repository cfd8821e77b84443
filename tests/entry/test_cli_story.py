"""What a person does with the command line, from a first memory to the credit of a run."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.entry.conftest import Cli

Document = Callable[..., Any]
ALICE = ("--tenant", "acme", "--user", "alice")
PLANNER = ("--tenant", "acme", "--agent", "planner", "--user", "alice")

LOG = [
    {"role": "user", "content": "Where is my parcel?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "find_order", "arguments": '{"order": "W1"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "name": "find_order", "content": "Error: not found"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_2",
                "type": "function",
                "function": {"name": "find_order", "arguments": '{"order": "#W1"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_2", "name": "find_order", "content": '{"at": "depot"}'},
    {"role": "assistant", "content": "It is at the depot."},
]


@pytest.fixture
def log(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "log.json"
    runs = [{"task_id": 0, "traj": LOG, "reward": 1.0}]
    path.write_text(json.dumps(runs), encoding="utf-8")
    return path


@pytest.mark.covers("cli.story")
def test_what_is_written_is_found_and_what_is_forgotten_is_not(cli_json: Document) -> None:
    receipt = cli_json(
        "write", "Dates as YYYY-MM-DD", *ALICE, "--type", "preference", "--topic", "date_format"
    )
    assert receipt["result"] == "stored"
    found = cli_json("search", "how are dates written?", *PLANNER)
    assert [hit["memory"]["id"] for hit in found["hits"]] == receipt["ids"]
    assert cli_json("search", "dates", "--tenant", "acme", "--user", "bob")["hits"] == []
    assert cli_json("forget", *receipt["ids"], *ALICE)["result"] == "forgotten"
    assert cli_json("search", "how are dates written?", *PLANNER)["hits"] == []


@pytest.mark.covers("cli.story")
def test_a_repeated_command_id_has_one_effect(cli_json: Document, cli: Cli) -> None:
    line = ("write", "The depot opens at nine", *ALICE, "--command-id", "c1")
    assert cli_json(*line)["ids"] == cli_json(*line)["ids"]
    other = cli("write", "The depot opens at ten", *ALICE, "--command-id", "c1")
    assert other.code == 1
    assert "c1" in other.err


@pytest.mark.covers("cli.story")
def test_people_are_shown_words_and_no_markup_is_read_into_them(cli: Cli) -> None:
    cli("write", "Write [bold]loudly[/bold] to [alice]", *ALICE)
    said = cli("search", "loudly", *ALICE)
    assert "Write [bold]loudly[/bold] to [alice]" in said.out
    assert "\x1b[" not in said.out
    rendered = cli("search", "loudly", *ALICE, "--render")
    assert "[bold]loudly[/bold]" in rendered.out


@pytest.mark.covers("cli.story")
def test_a_ticket_stands_for_its_holder(cli: Cli, cli_json: Document) -> None:
    cli_json("write", "The depot opens at nine", *ALICE)
    token = cli("ticket", *PLANNER).out.strip()
    assert "\n" not in token
    assert len(cli_json("search", "depot", "--ticket", token)["hits"]) == 1
    bob = cli("ticket", "--tenant", "acme", "--user", "bob").out.strip()
    assert cli_json("search", "depot", "--ticket", bob)["hits"] == []


@pytest.mark.covers("cli.story", "G2.ticket")
def test_a_revoked_ticket_is_refused_by_the_next_command(cli: Cli, cli_json: Document) -> None:
    issued = cli_json("ticket", *PLANNER)
    assert cli("search", "x", "--ticket", issued["token"]).code == 0
    cli_json("ticket", "--tenant", "acme", "--revoke", issued["caller"]["ticket_id"])
    assert cli("search", "x", "--ticket", issued["token"]).code == 1


@pytest.mark.covers("cli.story", "G3.import")
def test_a_log_is_imported_once_reviewed_found_and_credited(
    cli: Cli, cli_json: Document, log: pathlib.Path
) -> None:
    line = ("import", str(log), "--format", "openai-messages", "--tenant", "acme")
    first = cli_json(*line)
    assert (first["runs"], first["refused"]) == (1, [])
    assert first["events"] >= len(LOG) // 2
    cli_json(*line)  # again: nothing is added
    runs = cli_json("run", "list", "--tenant", "acme")["runs"]
    assert len(runs) == 1
    run_id = runs[0]["run"]["run_id"]
    assert runs[0]["events"] == first["events"]

    shown = cli("run", "show", run_id, "--tenant", "acme")
    assert "failed  find_order" in shown.out
    assert "outcome +1.00" in shown.out
    trajectory = cli_json("run", "show", run_id, "--tenant", "acme")
    assert len(trajectory["events"]) == first["events"]

    review = cli_json("review", run_id, "--tenant", "acme")
    assert review["stored"]
    hits = cli_json("search", "find_order order number", "--tenant", "acme")["hits"]
    assert {hit["memory"]["id"] for hit in hits} & set(review["stored"])
    attribution = cli_json("attribute", run_id, "--tenant", "acme")
    assert attribution["credits"] or attribution["abstained"]["reason"]
    assert cli("attribute", run_id, "--tenant", "acme").code == 0


@pytest.mark.parametrize("text", ["", "{", "[1, 2", "null", "[[[[[[", "nonsense"])
def test_a_file_that_is_no_log_is_refused_and_nothing_is_recorded(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path, text: str
) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text, encoding="utf-8")
    said = cli("import", str(path), "--format", "openai-messages", "--tenant", "acme")
    assert (said.code, said.out) == (2, "")
    assert not home.exists()


def test_a_file_that_is_not_utf8_is_refused(cli: Cli, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(b"\xff\xfe[]")
    said = cli("import", str(path), "--format", "who-and-when", "--tenant", "acme")
    assert said.code == 2
    assert "UTF-8" in said.err


@pytest.mark.covers("cli.policy")
def test_a_decision_is_explained_by_its_rule(cli_json: Document, cli: Cli) -> None:
    cli("ticket", *PLANNER)
    allowed = cli_json("why", "read", "user:alice", *PLANNER)
    assert allowed["allowed"] is True
    assert "user:{acting}" in allowed["decisions"][0]["rule"]
    denied = cli_json("why", "read", "user:bob", *PLANNER)
    assert denied["allowed"] is False
    assert "denied" in cli("why", "read", "user:bob", *PLANNER).out


@pytest.mark.covers("cli.policy", "G5.reload")
def test_a_sound_policy_is_put_in_force_and_a_faulty_one_changes_nothing(
    cli: Cli, cli_json: Document, tmp_path: pathlib.Path
) -> None:
    shipped = pathlib.Path(__file__).parents[2] / "policies" / "default.csv"
    mine = tmp_path / "mine.csv"
    text = shipped.read_text(encoding="utf-8")
    mine.write_text(text + "p, role:agent, *, global, write, allow\n", encoding="utf-8")
    assert cli_json("policy", "check", str(mine))["valid"] is True
    cli("ticket", *PLANNER)
    assert cli("write", "Known to all", *PLANNER, "--scope", "global").code == 1
    cli_json("policy", "load", str(mine), "--tenant", "acme")
    assert cli("write", "Known to all", *PLANNER, "--scope", "global").code == 0
    mine.write_text(text + "p, role:agent, *, global, write, alow\n", encoding="utf-8")
    for line in (("check", str(mine)), ("load", str(mine), "--tenant", "acme")):
        said = cli("policy", *line)
        assert said.code == 2
        assert "alow" in said.err
    assert cli("write", "Known to all as well", *PLANNER, "--scope", "global").code == 0


@pytest.mark.covers("cli.policy")
def test_scenarios_are_held_against_their_profiles(
    cli: Cli, cli_json: Document, tmp_path: pathlib.Path
) -> None:
    shipped = cli_json("policy", "test")
    assert shipped["assertions"] > 0
    assert shipped["failed"] == []
    wishful = tmp_path / "wishful.yaml"
    wishful.write_text(
        "about: wishes\nassertions:\n  - because: It would be nice.\n"
        "    caller: {agent: planner}\n    allow: {global: [administer]}\n",
        encoding="utf-8",
    )
    said = cli("policy", "test", str(wishful), "--json")
    assert said.code == 1
    assert said.document["failed"][0]["because"] == "It would be nice."
    assert "It would be nice." in cli("policy", "test", str(tmp_path)).out


@pytest.mark.covers("cli.doctor")
def test_the_doctor_finds_a_used_home_sound(cli: Cli, cli_json: Document) -> None:
    cli_json("write", "The depot opens at nine", *ALICE)
    document = cli_json("doctor")
    assert document["sound"] is True
    assert {one["what"] for one in document["findings"]} >= {"operator key", "ledger", "embedding"}
    assert cli("doctor").code == 0


@pytest.mark.covers("cli.doctor")
def test_the_doctor_names_an_exposed_key_and_what_to_do(
    cli: Cli, cli_json: Document, home: pathlib.Path
) -> None:
    cli_json("init")
    (home / "operator.key").chmod(0o644)
    said = cli("doctor", "--json")
    assert said.code == 1
    finding = next(one for one in said.document["findings"] if one["what"] == "operator key")
    assert finding["state"] == "fault"
    assert "chmod 600" in finding["next_step"] + finding["seen"]


@pytest.mark.covers("cli.doctor")
def test_the_doctor_makes_nothing_and_mends_nothing(cli: Cli, home: pathlib.Path) -> None:
    assert cli("doctor").code == 0
    assert not home.exists()
    home.mkdir()
    (home / "settings.json").write_text("{", encoding="utf-8")
    assert cli("doctor").code == 1
    assert [path.name for path in home.iterdir()] == ["settings.json"]


@pytest.mark.covers("cli.doctor")
def test_the_doctor_makes_no_ledger_where_one_is_missing(
    cli: Cli, cli_json: Document, home: pathlib.Path
) -> None:
    cli_json("init")
    for file in home.glob("hindsight.sqlite3*"):
        file.unlink()
    said = cli("doctor", "--json")
    assert said.code == 1
    finding = next(one for one in said.document["findings"] if one["what"] == "ledger")
    assert (finding["state"], finding["next_step"]) == ("fault", "restore the home from a backup")
    assert not (home / "hindsight.sqlite3").exists()


def test_the_status_of_a_home_says_how_it_is_used(cli: Cli, cli_json: Document) -> None:
    assert cli_json("status")["state"] == "absent"
    cli("init")
    assert cli_json("status")["state"] == "embedded"
    assert cli_json("down") == {"ended": False}
