"""People, samples, upkeep, the model and knowledge from a shell: each with one JSON document."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.entry.conftest import Cli

ALICE = ("--tenant", "acme", "--user", "alice")
ACME = ("--tenant", "acme")


@pytest.fixture
def doubted(home: Path, cli_json: Callable[..., Any]) -> str:
    home.mkdir()
    (home / "settings.json").write_text('{"embedding": "hashed"}', encoding="utf-8")
    text = "The depot opens at seven"
    return cli_json("write", text, "--confidence", "0.2", "--project", "apollo", *ALICE)["ids"][0]


@pytest.mark.covers("people.pending", "people.samples", "G1.history")
def test_a_doubted_memory_is_listed_accepted_sampled_judged_and_has_a_history(
    doubted: str, cli: Cli, cli_json: Callable[..., Any]
) -> None:
    (waiting,) = cli_json("pending", "list", *ALICE)
    assert (waiting["memory"]["id"], waiting["why"]) == (
        doubted, "write; confidence 0.2 is below 0.6",
    )  # fmt: skip
    assert cli("pending", "accept", doubted, "--tenant", "acme", "--user", "bob").code == 1
    cli_json("pending", "edit", doubted, "The depot opens at six", "--why", "asked", *ALICE)
    notes = cli_json("memory", "history", doubted, *ALICE)
    assert [(note["by"], note["why"], note["status"]) for note in notes] == [
        ("user:alice", "write; confidence 0.2 is below 0.6", "pending"),
        ("user:alice", "edited and accepted: asked", "active"),
    ]
    drawn = cli_json("audit", "sample", "--n", "5", *ALICE)
    assert [memory["id"] for memory in drawn["memories"]] == [doubted]
    cli_json("audit", "judge", doubted, "bad", *ALICE)
    report = cli_json("audit", "report", *ALICE)
    assert (report["total"]["judged"], report["total"]["bad"]) == (1, 1)
    assert cli("audit", "judge", doubted, "awful", *ALICE).code == 2
    for picture in (("pending", "list"), ("memory", "history", doubted), ("audit", "report")):
        assert cli(*picture, *ALICE).code == 0


@pytest.mark.covers("life.project", "life.cold", "space.switch", "space.calibrate")
def test_a_home_is_kept_in_order_from_a_shell(
    doubted: str, home: Path, cli: Cli, cli_json: Callable[..., Any]
) -> None:
    cli_json("pending", "accept", doubted, *ALICE)
    assert cli_json("memory", "tiers", doubted, *ALICE)[0]["tier"] == "hot"
    assert cli_json("project", "close", "apollo", *ALICE)["archived"] == [doubted]
    assert cli_json("memory", "restore", doubted, *ALICE)["result"] == "restored"
    assert cli_json("memory", "archive", doubted, *ALICE)["result"] == "archived"
    assert cli_json("memory", "restore", doubted, *ALICE)["result"] == "restored"
    assert cli_json("maintain", *ACME)["looked_at"] == 1
    assert cli("maintain", *ALICE).code == 1  # who is named asks, and may not
    found = cli_json("calibrate", *ACME)
    kept = json.loads((home / "settings.json").read_text(encoding="utf-8"))
    assert found["kept"]
    assert kept["embedding_duplicate_at"] == found["duplicate_at"]
    done = cli_json("reembed", "--model", "static", *ACME)
    assert (done["state"], done["total"]) == ("done", 1)
    kept = json.loads((home / "settings.json").read_text(encoding="utf-8"))
    assert kept == {"embedding": "static"}  # thresholds belonged to the model before
    hits = cli_json("search", "depot", *ALICE)["hits"]
    assert [hit["memory"]["id"] for hit in hits] == [doubted]


@pytest.mark.covers("knowledge.export")
def test_knowledge_leaves_as_markdown_or_lines_of_json(
    doubted: str, home: Path, cli: Cli, cli_json: Callable[..., Any]
) -> None:
    assert doubted
    kept = cli_json(
        "write", "# You should page the owner first", "--type", "procedure", "--confidence", "0.5",
        "--step", "look up the owner", "--step", "page them", *ALICE,
    )["ids"][0]  # fmt: skip
    assert cli("export", "knowledge", *ALICE).out == ""
    cli_json("pending", "accept", kept, *ALICE)
    said = cli("export", "knowledge", *ALICE).out
    assert "\\# You should page the owner first" in said
    assert "2. page them" in said
    assert f"- memory: {kept}, revision 2" in said
    assert "- approved by: user:alice" in said
    lines = cli("export", "knowledge", "--format", "jsonl", *ALICE).out.splitlines()
    assert [json.loads(line)["lineage"]["memory_id"] for line in lines] == [kept]
    file = home.parent / "knowledge.md"
    assert cli_json("export", "knowledge", "-o", str(file), *ALICE)["documents"] == 1
    assert file.read_text(encoding="utf-8") == said
    assert cli("export", "knowledge", "--format", "pdf", *ALICE).code == 2


@pytest.mark.covers("people.pending")
def test_several_that_wait_are_decided_in_one_line_each_answered_by_itself(
    cli: Cli, cli_json: Callable[..., Any]
) -> None:
    doubtful = ("--confidence", "0.2", *ALICE)
    said = ("The depot opens at nine", "Bob drives the blue van", "The key is under the mat")
    ids = [cli_json("write", one, *doubtful)["ids"][0] for one in said]
    absent = "5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a71"
    told = cli("pending", "accept", ids[0], absent, ids[1], *ALICE, "--json")
    assert told.code == 1
    assert [one["id"] for one in told.document] == [ids[0], absent, ids[1]]
    assert ["error" in one for one in told.document] == [False, True, False]
    assert [one["memory"]["id"] for one in cli_json("pending", "list", *ALICE)] == ids[2:]
    assert cli("pending", "reject", ids[2], ids[2], *ALICE).code == 0


def test_promoting_an_experience_where_it_is_says_that_it_is_approved(
    cli: Cli, cli_json: Callable[..., Any]
) -> None:
    line = ("--type", "experience", "--scope", "global", "--tenant", "acme")
    found = cli_json("write", "You should check the fuse before the pump", *line)["ids"][0]
    curator = ("--tenant", "acme", "--agent", "curator")
    for _ in range(2):
        assert "approved now" in cli_json("promote", found, "--scope", "global", *curator)["why"]
    assert len(cli_json("export", "knowledge", "--tenant", "acme")) == 1
