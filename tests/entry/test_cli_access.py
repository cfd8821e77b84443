"""Access from a shell: who sees what, what would change, is the audit whole, keys in and out."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray import compose
from hindsight_ray.adapters.ledger.sql.schema import metadata
from hindsight_ray.adapters.policy.profiles import policies_folder
from hindsight_ray.entry import cli


def _ran(capfd: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> Any:
    assert cli.run([*map(str, arguments), "--json"]) == code, capfd.readouterr().err
    out = capfd.readouterr().out
    return json.loads(out) if out else None


def _home(path: Path, **settings: object) -> tuple[str, ...]:
    with compose.open_sync(path, embedding="hashed", **settings) as hindsight:
        ticket = hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
        hindsight.as_caller(ticket).write("Alice hides the spare key under the mat")
        (path / "ticket").write_text(ticket.token, encoding="utf-8")
    return ("--home", str(path), "--tenant", "acme")


@pytest.mark.covers("policy.who", "policy.sees")
def test_who_and_sees_answer_from_a_shell(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = _home(tmp_path / "home")
    who = _ran(capfd, "policy", "who", "user:alice", *place)
    assert "an agent for user:alice" in [one["who"] for one in who["seers"]]
    sees = _ran(capfd, "policy", "sees", *place, "--agent", "planner", "--user", "alice")
    assert sees["scopes"]["user:alice"] == ["read", "write", "forget", "review"]
    assert cli.run(["policy", "who", "user:alice", *place]) == 0
    assert cli.run(["policy", "sees", *place, "--agent", "planner"]) == 0
    assert "read write forget share review" in capfd.readouterr().out


@pytest.mark.covers("policy.diff", "policy.lint")
def test_diff_and_lint_answer_from_a_shell(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    old = policies_folder() / "default.csv"
    new = tmp_path / "new.csv"
    new.write_text(
        old.read_text(encoding="utf-8") + "p, agent:spy, acme, user:alice, read, allow\n",
        encoding="utf-8",
    )
    found = _ran(capfd, "policy", "diff", old, new)
    assert [(one["who"], one["change"]) for one in found["changes"]] == [("agent:spy", "gains")]
    assert _ran(capfd, "policy", "lint", old) == []
    new.write_text(
        old.read_text(encoding="utf-8") + "p, role:ghost, *, global, read, allow\n",
        encoding="utf-8",
    )
    assert _ran(capfd, "policy", "lint", new, code=1)[0]["finding"] == "unreachable"
    assert cli.run(["policy", "diff", str(old), str(policies_folder() / "strict.csv")]) == 0
    assert cli.run(["policy", "lint", str(new)]) == 1
    assert "loses" in capfd.readouterr().out


@pytest.mark.covers("policy.diff", "policy.lint")
def test_diff_and_lint_look_at_what_is_in_force(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    place = _home(home)
    _ran(capfd, "share", "user:alice", "--to", "agent:guest", *place, "--user", "alice")
    assert _ran(capfd, "policy", "diff", "current", "default", "--home", home)["changes"] == []
    _ran(capfd, "share", "agent:lender", "--to", "agent:guest", *place, "--agent", "lender")
    found = _ran(capfd, "policy", "diff", "current", "strict", "--home", home)
    assert {one["change"] for one in found["changes"]} == {"loses"}
    lent = [one["who"] for one in found["changes"] if one["object"] == "agent:lender"]
    assert "agent:guest" in lent  # since agents share nothing there
    assert found["grants_ended"] == 1
    mine = tmp_path / "mine.csv"
    text = (policies_folder() / "default.csv").read_text(encoding="utf-8")
    mine.write_text(text + "p, role:ghost, *, global, read, allow\n", encoding="utf-8")
    _ran(capfd, "policy", "load", mine, *place)
    (one,) = _ran(capfd, "policy", "lint", "current", "--home", home, code=1)
    assert one["line"] == "p, role:ghost, *, global, read, allow"
    assert _ran(capfd, "policy", "diff", "current", mine, "--home", home)["changes"] == []
    assert cli.run(["policy", "lint", "current", "--home", str(tmp_path / "none")]) != 0


@pytest.mark.covers("policy.lint")
@pytest.mark.parametrize("profile", ["default", "strict", "team", "research"])
def test_what_lint_says_of_a_shipped_profile_is_a_note(
    profile: str, capfd: pytest.CaptureFixture[str]
) -> None:
    found = _ran(capfd, "policy", "lint", profile)
    assert bool(found) == (profile in ("team", "research"))


@pytest.mark.covers("policy.check", "G5.loader")
def test_check_refuses_what_load_would_refuse(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = _home(tmp_path / "home")
    default = (policies_folder() / "default.csv").read_text(encoding="utf-8")
    faulty = {
        "effect": default + "p, role:x, *, global, read, alow\n",
        "no operator": default.replace("g, agent:operator, role:operator, *", ""),
        "denied": default + "p, agent:operator, *, global, administer, deny\n",
        "empty": "",
    }
    for name, text in faulty.items():
        file = tmp_path / f"{name}.csv"
        file.write_text(text, encoding="utf-8")
        for command in (("check", file), ("load", file, *place)):
            assert cli.run(["policy", *map(str, command)]) == 2, name
    assert _ran(capfd, "policy", "check", policies_folder() / "team.csv")["valid"]
    assert _ran(capfd, "policy", "load", "strict", *place)["revision"] == 2
    capfd.readouterr()
    assert "global" not in _ran(capfd, "policy", "sees", *place, "--agent", "a")["scopes"]


@pytest.mark.covers("audit.chain", "audit.seal")
def test_the_audit_is_listed_verified_and_sealed_from_a_shell(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = _home(tmp_path / "home")
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(_ran(capfd, "audit", "seal", *place)), encoding="utf-8")
    verbs = [one["verb"] for one in _ran(capfd, "audit", "list", *place)]
    assert verbs[:2] == ["Write", "IssueTicket"]
    assert _ran(capfd, "audit", "verify", *place, "--seal", kept)["sound"]
    other = _home(tmp_path / "other")
    assert not _ran(capfd, "audit", "verify", *other, "--seal", kept, code=1)["sound"]
    assert cli.run(["audit", "verify", *place]) == 0
    assert cli.run(["audit", "list", *place]) == 0
    assert cli.run(["audit", "verify", *place, "--seal", str(tmp_path / "home" / "ticket")]) == 2


@pytest.mark.covers("G5.profile")
def test_a_memory_is_begun_with_the_policy_that_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = ("--home", str(tmp_path / "home"))
    begun = _ran(capfd, "init", "--policy", "strict", "--embedding", "hashed", *home)
    assert begun["policy"] == "strict"
    _ran(capfd, "ticket", *home, "--tenant", "acme", "--agent", "planner")
    sees = _ran(capfd, "policy", "sees", *home, "--tenant", "acme", "--agent", "planner")
    assert "global" not in sees["scopes"]
    assert cli.run(["init", "--policy", "team", *home]) == 2
    assert cli.run(["init", "--policy", "nonsense", "--home", str(tmp_path / "other")]) == 2


@pytest.mark.covers("key.rotate")
def test_keys_rotate_and_retire_while_the_home_is_open(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = _home(tmp_path / "home")
    home = ("--home", str(tmp_path / "home"))
    old = (tmp_path / "home" / "ticket").read_text(encoding="utf-8")
    with compose.open_sync(tmp_path / "home") as hindsight:
        first = _ran(capfd, "key", "list", *home)["signing"]
        rotated = _ran(capfd, "key", "rotate", *home)
        assert rotated["before"] == first
        assert hindsight.as_caller(old).search("key").hits  # good until its key is retired
        fresh = hindsight.issue_ticket(tenant="acme", user="alice")
        assert cli.run(["key", "retire", rotated["signing"], *home]) == 2
        _ran(capfd, "key", "retire", first, *home)
        with pytest.raises(Exception, match="not valid here"):
            hindsight.as_caller(old).search("key")
        assert hindsight.as_caller(fresh).search("key").hits
        assert hindsight.operator("acme").whoami().agent == "operator"
    assert _ran(capfd, "key", "list", *home) == {"signing": rotated["signing"], "good_too": []}
    assert cli.run(["search", "key", *place, "--user", "alice"]) == 0
    shutil.rmtree(tmp_path / "home")


def test_operator_commands_act_as_whoever_is_named_and_are_refused_to_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(tmp_path / "home"), "--tenant", "acme"]
    assert cli.run(["write", "zed likes tea", "--agent", "planner", "--user", "zed", *home]) == 0
    named = ["--agent", "planner", "--user", "alice", *home]
    for words in (
        ["erase", "zed", "zed"], ["policy", "load", "team"], ["privacy", "--personal", "keep"],
        ["audit", "list"],
    ):  # fmt: skip
        assert cli.run([*words, *named]) == 1, words
        assert "not allowed" in capfd.readouterr().err
    assert cli.run(["erase", "zed", "zed", *home]) == 0


def test_copies_are_told_in_words(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    _home(home)
    assert cli.run(["--home", str(home), "backup", str(tmp_path / "copy")]) == 0
    told = [capfd.readouterr().out]
    assert cli.run(["--home", str(tmp_path / "new"), "restore", str(tmp_path / "copy")]) == 0
    told.append(capfd.readouterr().out)
    for one in told:
        assert "revisions of memories" in one
        assert not any(f"{name} " in one for name in metadata.tables if "_" in name)


def test_why_says_that_it_needs_audit_itself(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = _home(tmp_path / "home")
    ticket = (tmp_path / "home" / "ticket").read_text(encoding="utf-8")
    assert cli.run(["why", "read", "user:bob", *home, "--ticket", ticket]) == 1
    said = capfd.readouterr().err
    assert "`why` itself needs it" in said
    assert "an auditor can ask" not in said


def test_the_audit_is_narrowed_by_effect_by_principal_and_from_a_time_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = _home(tmp_path / "home")
    assert cli.run(["policy", "who", "user:bob", *home, "--user", "alice"]) == 0
    assert cli.run(["get", "5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a71", *home, "--user", "alice"]) == 1
    capfd.readouterr()
    denied = _ran(capfd, "audit", "list", *home, "--effect", "deny")
    assert [(one["principal"], one["effect"]) for one in denied] == [("user:alice", "deny")]
    by = _ran(capfd, "audit", "list", *home, "--principal", "agent:operator", "--limit", 1)
    assert [one["principal"] for one in by] == ["agent:operator"]
    assert _ran(capfd, "audit", "list", *home, "--since", denied[0]["at"], "--effect", "deny")
    assert not _ran(capfd, "audit", "list", *home, "--since", "2999-01-01")
    _ran(capfd, "audit", "list", *home, "--effect", "maybe", code=2)
