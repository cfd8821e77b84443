"""How the command line behaves whatever it is asked: options, documents, errors, lightness."""

import json
import pathlib
import subprocess
import sys

import pytest

from tests.entry.conftest import Cli

ALICE = ("--tenant", "acme", "--user", "alice")
COMMANDS = (
    "demo", "up", "down", "status", "doctor", "ticket", "write", "search", "forget", "import",
    "review", "attribute", "mcp", "run list", "run show", "policy check", "why",
    "policy test", "policy load",
)  # fmt: skip


@pytest.mark.covers("cli.options")
@pytest.mark.parametrize("order", ["before", "after", "between"])
def test_place_and_json_are_understood_before_and_after_a_command(
    cli: Cli, home: pathlib.Path, order: str
) -> None:
    cli("ticket", *ALICE)
    shared = ["--home", str(home), "--json"]
    line = {
        "before": [*shared, "run", "list", *ALICE],
        "after": ["run", "list", *ALICE, *shared],
        "between": ["run", *shared, "list", *ALICE],
    }[order]
    said = cli(*line, at_home=False)
    assert said.code == 0, said.err
    assert said.document == {"runs": [], "more": False}


@pytest.mark.covers("cli.options")
def test_what_is_said_after_a_command_wins(cli: Cli, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other"
    assert cli("write", "The depot opens at nine", *ALICE, "--home", str(other)).code == 0
    assert other.is_dir()
    assert not (tmp_path / "home").exists()


@pytest.mark.covers("cli.options")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_its_help_with_the_shared_options(cli: Cli, command: str) -> None:
    said = cli(*command.split(), "--help", at_home=False)
    assert said.code == 0
    for option in ("--home", "--address", "--json"):
        assert option in said.out


@pytest.mark.covers("cli.errors")
@pytest.mark.parametrize(
    "line",
    [
        ("serch", "x"),
        ("search",),
        ("search", "x", "--bogus"),
        ("search", "x"),
        ("search", "", *ALICE),
        ("search", "x", *ALICE, "-k", "0"),
        ("search", "x", *ALICE, "-k", "many"),
        ("search", "x", *ALICE, "--since", "yesterday"),
        ("search", "x", *ALICE, "--since", "2026-03-01T10:00:00"),
        ("search", "x", *ALICE, "--scope", "everywhere"),
        ("search", "x", "--tenant", "a b", "--user", "alice"),
        ("write", "x\0y", *ALICE),
        ("write", "\ud800", *ALICE),
        ("write", "x", *ALICE, "--type", "opinion"),
        ("write", "x", *ALICE, "--confidence", "nan"),
        ("forget", "not-a-uuid", *ALICE),
        ("run", "show", "not-a-uuid", *ALICE),
        ("ticket", "--tenant", "acme"),
        ("ticket", "--tenant", "acme", "--user", "alice", "--hours", "1e9"),
        ("ticket", "--tenant", "acme", "--user", "alice", "--scope", "everywhere"),
        ("write", "x", *ALICE, "--command-id", ""),
        ("run", "list", *ALICE, "--before", "x"),
        ("share", "user:alice", "--to", "bob", *ALICE),
        ("import", "absent.json", "--format", "openai-messages", "--tenant", "acme"),
        ("import", __file__, "--format", "csv", "--tenant", "acme"),
        ("policy", "check", "absent.csv"),
        ("why", "borrow", "global", "--tenant", "acme", "--agent", "a"),
        ("policy", "test", "absent.yaml"),
        ("mcp", "--tenant", "acme", "--agent", "a"),
        ("mcp", "--stdio", "--http"),
        ("mcp", "--stdio", "--tenant", "acme"),
        ("mcp", "--http", "--tenant", "acme", "--agent", "a"),
    ],
)
def test_misuse_is_one_line_on_standard_error_and_exit_code_two(
    cli: Cli, line: tuple[str, ...]
) -> None:
    said = cli(*line)
    assert (said.code, said.out) == (2, "")
    complaint = [one for one in said.err.splitlines() if not one.startswith("a new memory")]
    assert len(complaint) == 1
    assert complaint[0].startswith("error: ")
    assert "Traceback" not in said.err


UNREADABLE = {
    "binary": b"\xff\xfe\x00\x01" * 50,
    "deep": b"[" * 20_000,
    "deep and whole": b"[" * 3_000 + b"]" * 3_000,
    "long number": b"1" * 6_000,
    "long number of another base": b"address: 0x" + b"f" * 6_000,
    "tag without a value": b'address: !!int ""\n',
    "tag of another value": b"address: !!timestamp x\n",
    "no date": b"address: 2026-99-99\n",
}


@pytest.mark.covers("cli.errors")
@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize(
    "line", [("calibrate", "--tenant", "acme", "--file"), ("policy", "test"), ("up", "--config")]
)
def test_a_file_that_nobody_can_read_is_misuse(
    cli: Cli, tmp_path: pathlib.Path, line: tuple[str, ...], content: bytes
) -> None:
    file = tmp_path / "file.yaml"
    file.write_bytes(content)
    said = cli(*line, str(file))
    assert (said.code, said.out) == (2, "")
    assert len(said.err.splitlines()) == 1
    assert "No such option" not in said.err


@pytest.mark.covers("cli.errors")
def test_a_scenario_whose_profile_nobody_can_read_is_misuse(
    cli: Cli, tmp_path: pathlib.Path
) -> None:
    scenario = tmp_path / "scenarios" / "one.yaml"
    scenario.parent.mkdir()
    text = "about: x\nprofile: mine.csv\nassertions:\n  - because: y\n    caller: {agent: a}\n"
    scenario.write_text(f"{text}    allow:\n      global: [read]\n", encoding="utf-8")
    (tmp_path / "mine.csv").write_bytes(UNREADABLE["binary"])
    said = cli("policy", "test", str(scenario))
    assert said.code == 2
    assert "`profile`" in said.err


@pytest.mark.covers("cli.errors")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_refusal_is_one_line_on_standard_error_and_exit_code_one(
    cli: Cli, form: tuple[str, ...]
) -> None:
    cli("ticket", *ALICE)
    said = cli("write", "x", *ALICE, "--scope", "user:bob", *form)
    assert (said.code, said.out) == (1, "")
    assert len(said.err.splitlines()) == 1
    if form:
        told = json.loads(said.err)
        assert (told["error"], told["exit_code"]) == ("AccessDenied", 1)
        assert told["message"].startswith("`write` on `user:bob` is not allowed")
    else:
        assert said.err.startswith("error: `write` on `user:bob` is not allowed")


@pytest.mark.covers("cli.errors")
@pytest.mark.parametrize(
    ("line", "option"),
    [
        (("write", "x", *ALICE, "--expires", "2001-01-01"), "--expires"),
        (("share", "user:alice", "--to", "user:bob", "--until", "2001-01-01", *ALICE), "--until"),
        (("why", "read", "everything", "--tenant", "acme"), "OBJECT"),
        (("write", "x", *ALICE, "--tag", ""), "--tag"),
        (("get", "x", *ALICE), "ID"),
        (("erase", "a b", "a b", "--tenant", "acme"), "USER"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_typed(
    cli: Cli, line: tuple[str, ...], option: str
) -> None:
    cli("ticket", *ALICE)
    said = cli(*line)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: `{option}`")


@pytest.mark.covers("cli.errors")
def test_a_place_that_cannot_be_written_is_no_fault_of_ours(cli: Cli) -> None:
    cli("ticket", *ALICE)
    for line in (("backup", "/proc/copy"), ("export", "knowledge", "-o", "/proc/x", *ALICE)):
        said = cli(*line)
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith(("error: /proc/", "error: '/proc/"))
        assert "fault of ours" not in said.err


@pytest.mark.covers("cli.errors")
@pytest.mark.parametrize("ticket", ["x", "a.b.c", ""])
def test_a_ticket_that_is_none_is_refused(cli: Cli, ticket: str) -> None:
    cli("ticket", *ALICE)
    said = cli("search", "x", "--ticket", ticket)
    assert (said.code, said.out) == (1, "")
    assert "ticket" in said.err


@pytest.mark.covers("cli.errors")
def test_a_home_that_cannot_be_one_is_refused(cli: Cli, home: pathlib.Path) -> None:
    home.write_text("a file", encoding="utf-8")
    said = cli("search", "x", *ALICE)
    assert said.code == 1
    assert "Traceback" not in said.err


def test_misuse_leaves_no_home_behind(cli: Cli, home: pathlib.Path) -> None:
    cli("search", "x")
    cli("write", "x", "--tenant", "acme", "--user", "a b")
    cli("forget", "nonsense", *ALICE)
    assert not home.exists()


@pytest.mark.covers("cli.json")
def test_json_is_one_document_in_utf8_whatever_the_locale(home: pathlib.Path) -> None:
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).parent / "hindsight-ray", "write", "--home", str(home),
            "--json", *ALICE, "日期写成 YYYY-MM-DD",
        ],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PATH": ""},
    )  # fmt: skip
    assert json.loads(done.stdout.decode("utf-8"))["result"] == "stored"


@pytest.mark.covers("cli.light")
def test_commands_on_a_home_load_no_cluster_and_no_server(home: pathlib.Path) -> None:
    lines = [["write", "Dates as YYYY-MM-DD"], ["search", "dates"], ["run", "list"]]
    probe = (
        "import sys\n"
        "from hindsight_ray.entry.cli import run\n"
        f"for line in {lines!r}:\n"
        f"    assert run(['--home', {str(home)!r}, *line, *{list(ALICE)!r}]) == 0\n"
        "heavy = {'ray', 'litellm', 'mcp', 'uvicorn', 'starlette', 'casbin', 'wordllama'}\n"
        "sys.stderr.write('loaded: ' + ' '.join(sorted(heavy & set(sys.modules))))\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stderr.endswith("loaded: ")


def test_what_is_final_is_named_twice_and_says_how(cli: Cli) -> None:
    cli("write", "The depot opens at nine", *ALICE)
    for line, again in (
        (("erase", "alice", "--tenant", "acme"), "`erase alice alice`"),
        (("erase", "alice", "alise", "--tenant", "acme"), "nothing was erased"),
        (("drop-tenant", "acme"), "`--tenant acme`"),
    ):
        said = cli(*line)
        assert (said.code, said.out) == (2, "")
        assert again in said.err
    assert cli("search", "depot", *ALICE, "--json").document["hits"]


def test_a_tenant_begins_with_its_privacy_where_that_is_asked_for(cli: Cli) -> None:
    cli("ticket", *ALICE)
    assert cli("privacy", "--tenant", "globex").code == 1
    assert "secrets: mask" in cli("privacy", "--tenant", "globex", "--new-tenant").out
    assert "globex" in cli("tenant", "list").out


def test_the_policy_in_force_says_where_the_grants_beside_it_are_seen(cli: Cli) -> None:
    cli("write", "The depot opens at nine", *ALICE)
    cli("share", "user:alice", "--to", "user:bob", *ALICE)
    assert "with 1 grant beside it: `--json` lists" in cli("policy", "show").err
    shared = cli("policy", "show", "--json").document["shared"]
    assert [one["grantor"] for one in shared] == ["user:alice"]
