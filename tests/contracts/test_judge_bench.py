"""Judges on labelled logs: scored exactly, through the real gateway, by a scripted model."""

import json
import re
from pathlib import Path
from typing import Any

from benchmarks._culprits import RANKERS, TRIVIAL, Log, read_logs, scored, wilson
from benchmarks._judges import hits, judged
from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.domain.settings import Settings
from tests.servers.scripted_model import scripted_model, told

_ITEM: dict[str, Any] = {
    "question": "How many boats were counted?",
    "question_ID": "q1",
    "history": [
        {"name": "Lead", "role": "assistant", "content": "Find how many boats were counted"},
        {"name": "Counter", "role": "assistant", "content": "Assume that 12 boats were counted"},
        {"name": "Checker_2", "role": "assistant", "content": "I agree: 12 boats"},
        {"name": "Checker", "role": "assistant", "content": "TERMINATE"},
    ],
    "mistake_agent": "Counter",
    "mistake_step": "1",
    "mistake_reason": "made up",
    "is_correct": False,
}


def _logs(folder: Path, *items: dict[str, Any]) -> list[Log]:
    (folder / "logs.json").write_text(json.dumps(items), encoding="utf-8")
    return read_logs(folder, "logs.json")


def _item(number: int, agent: str = "Counter", step: int = 1) -> dict[str, Any]:
    more = {"question_ID": f"q{number}", "mistake_agent": agent, "mistake_step": str(step)}
    return {**_ITEM, **more, "question": f"{_ITEM['question']} ({number})"}


async def test_a_judge_s_verdict_is_scored_exactly(tmp_path: Path) -> None:
    logs = _logs(tmp_path, _item(1), _item(2, "Checker", 3), _item(3, "Checker", 2))
    with scripted_model([lambda asked: json.dumps({"events": [_nth(told(asked))]})]) as model:
        fields = {"chat_strong": "openai/gpt-4o", "chat_api_base": model.address}
        settings = Settings.model_validate(fields)
        verdicts = await judged(LiteLLMChat(settings), settings, logs, "all at once")
    found = hits(logs, verdicts)
    # `Checker` is no part of `Checker_2`, though a matching of substrings would find it.
    assert found.agent == [1.0, 1.0, 0.0]
    assert found.step == [1.0, 1.0, 1.0]


def _nth(record: str) -> str:
    """The event that the question's number stands for: 1 the second, 2 the last, 3 the third."""
    found = re.search(r"\((\d)\)", record)
    assert found is not None
    return {"1": "e2", "2": "e4", "3": "e3"}[found[1]]


def test_rankers_and_rules_are_scored_on_the_logs_of_other_questions(tmp_path: Path) -> None:
    logs = _logs(tmp_path, *(_item(number) for number in range(6)))
    assert scored(TRIVIAL["usual step"], logs).step == [1.0] * 6
    assert scored(TRIVIAL["step 0"], logs).agent == [0.0] * 6
    assert scored(TRIVIAL["by lot"], logs).step == [0.25] * 6
    assert scored(RANKERS["prior"], logs).step == [1.0] * 6
    low, high = wilson([1.0] * 6)
    assert low < 0.65
    assert high > 0.99
