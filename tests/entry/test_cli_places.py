"""A mistyped home, tenant, ticket or name is refused with what is there; reading begins nothing."""

import json
import pathlib

import pytest

from hindsight_ray import compose
from tests.entry.conftest import Cli, Said

ALICE = ("--tenant", "acme", "--user", "alice")
MEMORY = "018f2f6e-0000-7000-8000-000000000001"
READING = (
    ("search", "depot"), ("search-many", "depot"), ("run", "list"), ("run", "show", MEMORY),
    ("get", MEMORY), ("history", MEMORY), ("explain", MEMORY), ("forget", MEMORY),
    ("update", MEMORY, "x"), ("promote", MEMORY), ("share", "user:alice", "--to", "user:bob"),
    ("review", MEMORY), ("attribute", MEMORY), ("spent",), ("why", "read", "global"),
    ("policy", "who", "global"), ("policy", "sees"), ("policy", "load", "team"),
    ("audit", "list"), ("audit", "verify"), ("audit", "seal"), ("pending", "list"),
    ("memory", "tiers", MEMORY), ("project", "close", "apollo"), ("export", "knowledge"),
    ("maintain",), ("erase", "bob", "bob"), ("privacy",), ("drop-tenant", "acmee"),
    ("ticket", "--revoke", "0" * 32),
)  # fmt: skip


def _tenants(home: pathlib.Path) -> tuple[str, ...]:
    with compose.open_sync(home) as hindsight:
        return hindsight.tenants()


@pytest.mark.covers("cli.places")
@pytest.mark.parametrize("line", READING, ids=" ".join)
def test_what_keeps_nothing_begins_neither_a_home_nor_a_tenant(
    cli: Cli, home: pathlib.Path, line: tuple[str, ...]
) -> None:
    said = cli(*line, "--tenant", "acmee")
    assert said.code == 1
    assert f"no memory is in `--home` {home}" in said.err
    assert not home.exists()
    cli("ticket", *ALICE)
    said = cli(*line, "--tenant", "acmee")
    assert said.code == 1
    assert "no tenant is called 'acmee'; there is `acme`" in said.err
    assert _tenants(home) == ("acme",)


@pytest.mark.covers("cli.places")
def test_a_home_that_is_mistyped_names_those_beside_it(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    cli("ticket", *ALICE)
    said = cli("search", "x", *ALICE, "--home", str(tmp_path / "hom"), at_home=False)
    assert said.code == 1
    assert f"there is one in `{home}`" in said.err


@pytest.mark.covers("cli.places")
@pytest.mark.parametrize("line", [("write", "The depot opens at nine"), ("ticket",)])
def test_what_keeps_something_begins_the_first_tenant_and_others_only_when_asked(
    cli: Cli, home: pathlib.Path, line: tuple[str, ...]
) -> None:
    first = cli(*line, *ALICE)
    assert first.code == 0
    assert "a new memory begins" in first.err
    assert "the tenant acme begins" in first.err
    refused = cli(*line, "--tenant", "globex", "--user", "bob")
    assert refused.code == 1
    assert "`--new-tenant` begins another" in refused.err
    assert _tenants(home) == ("acme",)
    assert cli(*line, "--tenant", "globex", "--user", "bob", "--new-tenant").code == 0
    assert _tenants(home) == ("acme", "globex")
    assert cli("tenant", "list").out.split() == ["acme", "globex"]
    assert cli("tenant", "list", "--json").document == {"tenants": ["acme", "globex"]}


REFUSED = (
    ("write", "x", "--agent", "planner", "--scope", "global"),
    ("write", "x", "--agent", "planner", "--source", "user"),
    ("write", "x", "--user", "alice", "--expires", "2020-01-01"),
    ("import", "LOG", "--format", "openai-messages", "--agent", "planner"),
    ("privacy", "--personal", "keep", "--user", "alice"),
)


@pytest.mark.covers("cli.places")
@pytest.mark.parametrize("line", REFUSED, ids=" ".join)
def test_what_is_refused_begins_neither_a_home_nor_a_tenant(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path, line: tuple[str, ...]
) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps([{"role": "user", "content": "Hello"}]), encoding="utf-8")
    said = [str(log) if word == "LOG" else word for word in line]
    first = cli(*said, "--tenant", "acme")
    assert first.code in (1, 2)
    assert len(first.err.splitlines()) == 1
    assert not home.exists()
    cli("ticket", *ALICE)
    other = cli(*said, "--tenant", "globex", "--new-tenant")
    assert (other.code, other.err) == (first.code, first.err)
    assert _tenants(home) == ("acme",)


@pytest.mark.covers("cli.places")
def test_another_tenant_begins_under_the_policy_that_is_in_force(
    cli: Cli, tmp_path: pathlib.Path
) -> None:
    cli("ticket", *ALICE)
    policy = cli("policy", "show").out + "p, role:agent, *, global, write, allow\n"
    line = ("write", "x", "--agent", "planner", "--scope", "global", "--tenant", "globex")
    assert cli(*line, "--new-tenant").code == 1
    file = tmp_path / "mine.csv"
    file.write_text(policy, encoding="utf-8")
    assert cli("policy", "load", str(file)).code == 0
    assert cli(*line, "--new-tenant").code == 0


@pytest.mark.covers("cli.places")
def test_names_that_are_not_the_ticket_s_are_refused(cli: Cli) -> None:
    token = cli("ticket", *ALICE, "--agent", "planner").out.strip()
    assert cli("search", "x", "--ticket", token).code == 0
    assert cli("search", "x", "--ticket", token, *ALICE, "--agent", "planner").code == 0
    for name, other in (("tenant", "globex"), ("agent", "spy"), ("user", "bob"), ("session", "s")):
        said = cli("search", "x", "--ticket", token, f"--{name}", other)
        assert said.code == 2
        assert f"`--{name}` '{other}' is not what the ticket says" in said.err


@pytest.mark.covers("cli.places")
def test_a_ticket_is_ended_by_its_text_or_its_id_and_nothing_else_is_taken(cli: Cli) -> None:
    def fresh() -> Said:
        return cli("ticket", *ALICE, "--json")

    by_text, by_id = fresh().document, fresh().document
    for said in (by_text["token"], by_id["caller"]["ticket_id"]):
        assert cli("ticket", "--tenant", "acme", "--revoke", said).code == 0
    for one in (by_text, by_id):
        assert cli("search", "x", "--ticket", one["token"]).code == 1
    for wrong in ("x", "", "a.b.c", "0" * 31, "not a ticket", by_id["caller"]["ticket_id"] + "0"):
        said = cli("ticket", "--tenant", "acme", "--revoke", wrong)
        assert said.code == 2
        assert "--revoke" in said.err


@pytest.mark.covers("cli.places")
def test_an_import_says_what_it_took_and_exits_with_one_where_that_is_nothing(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    log = tmp_path / "log.json"
    line = ("import", str(log), "--format", "openai-messages", "--tenant", "acme")
    log.write_text("[]", encoding="utf-8")
    nothing = cli(*line)
    assert nothing.code == 1
    assert "nothing was taken" in nothing.out
    assert not home.exists()
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    log.write_text(json.dumps(messages), encoding="utf-8")
    assert cli(*line).code == 0
    again = cli(*line)
    assert again.code == 0
    assert "nothing new: 1 run was there before" in again.out


@pytest.mark.covers("cli.lists")
def test_a_list_of_runs_says_whether_there_are_more_and_goes_on(
    cli: Cli, home: pathlib.Path
) -> None:
    with compose.open_sync(home) as hindsight:
        memory = hindsight.as_caller(hindsight.issue_ticket(tenant="acme", user="alice"))
        for number in range(3):
            with memory.run(goal=f"Goal {number}"):
                pass
    first = cli("run", "list", *ALICE, "--limit", "2", "--json").document
    assert (len(first["runs"]), first["more"]) == (2, True)
    last = first["runs"][-1]["run"]["run_id"]
    assert f"--before {last}" in cli("run", "list", *ALICE, "--limit", "2").out
    rest = cli("run", "list", *ALICE, "--before", last, "--json").document
    assert ([one["run"]["goal"] for one in rest["runs"]], rest["more"]) == (["Goal 0"], False)
    stranger = ("--tenant", "acme", "--user", "bob")
    said = cli("run", "list", *stranger, "--before", last)
    absent = cli("run", "list", *stranger, "--before", MEMORY)
    assert said.code == 1
    assert said.err.replace(last, "ID") == absent.err.replace(MEMORY, "ID")


@pytest.mark.covers("cli.places")
def test_the_audit_of_a_dropped_tenant_is_read_by_the_operator_and_begins_nothing(
    cli: Cli, home: pathlib.Path
) -> None:
    cli("ticket", *ALICE)
    globex = ("--tenant", "globex")
    ticket = cli("ticket", *globex, "--agent", "spy", "--new-tenant").out.strip()
    assert cli("drop-tenant", "globex", *globex).code == 0
    listed = cli("audit", "list", *globex, "--json")
    assert [one["verb"] for one in listed.document][:2] == ["DropTenant", "IssueTicket"]
    assert cli("audit", "verify", *globex, "--json").document["sound"]
    assert cli("audit", "seal", *globex).document["tenant"] == "globex"
    for who in ((*globex, "--agent", "auditor"), ("--ticket", ticket), ("--tenant", "globexx")):
        said = cli("audit", "list", *who)
        assert (said.code, said.out) == (1, "")
    assert cli("search", "x", *globex).code == 1
    assert _tenants(home) == ("acme",)
    with compose.open_sync(home) as hindsight:
        assert hindsight.dropped_tenants() == ("globex",)
