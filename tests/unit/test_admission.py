"""Gates and parts: what is worth keeping, and how a long text is cut."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.admission import gate, split, without_secrets
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.memory import Scene, Source
from hindsight_ray.domain.settings import Settings

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def _draft(**fields: object) -> Draft:
    return Draft.model_validate(
        {
            "tenant": "acme",
            "principal": "agent:planner",
            "command_id": "c1",
            "scope": "agent:planner",
            "audience": ("agent:planner",),
            "content": "a statement",
            "source": Source(kind="agent", weight=0.6, agent="planner"),
            **fields,
        }
    )


def test_procedures_need_more_confidence() -> None:
    assert gate(_draft(confidence=0.6), Settings()).verdict == "keep"
    assert gate(_draft(confidence=0.59), Settings()).verdict == "pending"
    assert gate(_draft(confidence=0.69, type="procedure"), Settings()).verdict == "pending"
    dropping = Settings(below_confidence="drop")
    assert gate(_draft(confidence=0.1), dropping).verdict == "drop"


@pytest.mark.covers("write.redact")
def test_secrets_leave_every_text_of_a_draft() -> None:
    secret = "password=hunter2"
    draft = _draft(
        content=secret,
        steps=(secret,),
        tags=(secret,),
        topic=secret,
        project=secret,
        scene=Scene(task_type=secret, intent=secret),
        source=Source(kind="agent", weight=0.6, agent="planner", task=secret),
    )
    clean, count = without_secrets(draft)
    assert "hunter2" not in clean.model_dump_json()
    assert count == 8


@pytest.mark.covers("write.split")
def test_a_long_text_is_cut_at_sentences() -> None:
    sentences = [f"Sentence number {n} says something of its own." for n in range(12)]
    parts = split(" ".join(sentences))
    assert all(len(part) <= 200 for part in parts)
    assert all(part.endswith(".") for part in parts)
    assert " ".join(parts) == " ".join(sentences)


@pytest.mark.covers("write.split")
def test_chinese_is_cut_at_its_own_marks() -> None:
    parts = split("重启服务之前先检查错误日志。" * 30)
    assert all(len(part) <= 200 and part.endswith("。") for part in parts)
    assert "".join(parts) == "重启服务之前先检查错误日志。" * 30


def test_decimals_and_codes_are_not_cut_apart() -> None:
    text = ("Version 1.2.3 of deploy.rollback takes 3.5 seconds. " * 8).strip()
    assert all("Version 1.2.3 of deploy.rollback takes 3.5 seconds." in p for p in split(text))


@settings(max_examples=150)
@given(st.text(alphabet="ab ,.。\n重启x", max_size=900))
def test_cutting_loses_nothing_but_white_space(text: str) -> None:
    parts = split(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(len(part) <= 200 for part in parts)
