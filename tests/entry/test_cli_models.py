"""Models from a shell: a review that fails is listed, retried, and what was spent is shown."""

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.entry.conftest import Cli
from tests.servers.scripted_model import ScriptedModel, scripted_model

LESSON = "When a search finds nothing, you should widen its dates first"
LOG = [
    {
        "id": "one",
        "messages": [
            {"role": "user", "content": "Find me a flight"},
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "1", "function": {"name": "search", "arguments": '{"day": 1}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": "nothing found"},
            {"role": "assistant", "content": "There is none on day 1"},
        ],
    }
]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as server:
        yield server


@pytest.mark.covers("model.failed", "model.budget")
def test_a_failed_review_is_listed_and_retried_and_what_was_spent_is_shown(
    home: pathlib.Path,
    tmp_path: pathlib.Path,
    cli: Cli,
    cli_json: Callable[..., Any],
    model: ScriptedModel,
) -> None:
    home.mkdir()
    settings = {
        "embedding": "hashed", "chat_strong": "openai/gpt-4o", "chat_api_base": model.address
    }  # fmt: skip
    (home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    log = tmp_path / "log.json"
    log.write_text(json.dumps(LOG), encoding="utf-8")
    cli_json("import", str(log), "--format", "openai-messages", "--tenant", "acme")
    (run,) = cli_json("run", "list", "--tenant", "acme")["runs"]
    run_id = run["run"]["run_id"]
    model.script("I have nothing to say in JSON")
    report = cli_json("review", run_id, "--tenant", "acme")
    assert report["failure"]["failure"] == "unparsable"
    (failed,) = cli_json("review", "--failed", "--tenant", "acme")["failed"]
    assert failed["run_id"] == run_id

    def answer(question: dict[str, Any]) -> str:
        if question["response_format"]["json_schema"]["name"] != "ReviewAnswer":
            return "{}"
        return json.dumps({"lessons": [{"advice": LESSON, "events": ["e2"], "agent": None}]})

    model.script(answer)
    assert cli_json("review", "--retry", "--tenant", "acme")["mended"] == [run_id]
    hits = cli_json("search", "search finds nothing", "--tenant", "acme")["hits"]
    assert LESSON in {hit["memory"]["content"] for hit in hits}
    spent = cli_json("spent", "--tenant", "acme")
    assert spent["calls"] == 4
    assert spent == cli_json("spent", run_id, "--tenant", "acme")
    assert "4" in cli("spent", "--tenant", "acme").out
    refused = cli("review", "--tenant", "acme")
    assert refused.code != 0
    assert "`RUN` is needed" in refused.err
