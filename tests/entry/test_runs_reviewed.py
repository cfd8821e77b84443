"""`review --all` reviews what was imported, and again adds nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.entry.cli import run

LOG = [
    {
        "traj": [
            {"role": "user", "content": "Book the van for Monday"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": f"call-{number}",
                        "type": "function",
                        "function": {"name": "book", "arguments": '{"what": "van"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": f"call-{number}", "name": "book", "content": "booked"},
        ],
        "reward": 1.0,
        "task_id": number,
        "trial": 0,
    }
    for number in range(3)
]


def _said(capsys: pytest.CaptureFixture[str], *line: str) -> dict[str, Any]:
    assert run(line) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.covers("cli.story")
def test_every_imported_run_is_reviewed_and_again_adds_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps(LOG), encoding="utf-8")
    place = ("--home", str(tmp_path / "home"), "--json")
    line = (*place, "import", str(log), "--format", "openai-messages", "--tenant", "lab")
    assert _said(capsys, *line)["runs"] == 3
    first = _said(capsys, *place, "review", "--all", "--tenant", "lab")
    assert (first["runs"], first["failed"]) == (3, 0)
    assert first["stored"] > first["waiting"] == 0
    search = (*place, "search", "van", "--tenant", "lab", "-k", "50")
    found = {hit["memory"]["id"] for hit in _said(capsys, *search)["hits"]}
    assert found
    again = _said(capsys, *place, "review", "--all", "--tenant", "lab")
    assert (again["runs"], again["failed"]) == (3, 0)
    assert {hit["memory"]["id"] for hit in _said(capsys, *search)["hits"]} == found


def test_what_a_review_stored_of_a_log_that_nobody_vouches_for_is_said_to_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps(LOG), encoding="utf-8")
    place = ("--home", str(tmp_path / "home"), "--json")
    said = ("--format", "openai-messages", "--tenant", "lab", "--untrusted")
    _said(capsys, *place, "import", str(log), *said)
    told = _said(capsys, *place, "review", "--all", "--tenant", "lab")
    assert told["waiting"] == told["stored"] > 0
    capsys.readouterr()
    assert run((*place, "pending", "list", "--tenant", "lab")) == 0
    assert len(json.loads(capsys.readouterr().out)) == told["waiting"]


@pytest.mark.covers("cli.story")
def test_all_goes_with_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("review", "--all", "--retry", "--tenant", "lab")) == 2
    assert "--all" in capsys.readouterr().err
