"""Budgets of money and tokens: reserved before a question is put, settled after, never overrun."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.core.budget import tokens_in
from hindsight_ray.core.shapes import JudgeAnswer
from hindsight_ray.domain.chat import Price, Question, Spent
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import ModelFailed
from hindsight_ray.service.asking import Asking, ask, system_of
from tests.servers.scripted_model import Answer, ScriptedModel, scripted_model
from tests.worlds import TENANT, Staged, world

_ANSWER = json.dumps({"pairs": []})
_ROOM = 1_024  # tokens of a judge's answer


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as server:
        yield server


async def _no_pause(_seconds: float) -> None:
    """Nobody waits in a test."""


def _settings(model: ScriptedModel, **more: object) -> Settings:
    fields = {
        "chat_weak": "openai/gpt-4o",
        "chat_api_base": model.address,
        "lock_wait_s": 20.0,
        **more,
    }
    return Settings.model_validate(fields)


def _asking(home: Staged) -> Asking:
    assert home.world.chat is not None
    return Asking(home.world.chat.prompts["judge"], TENANT)


async def _asked(home: Staged, text: str = "p1") -> str:
    """The failure of a question, or "" if it was answered."""
    try:
        await ask(home.world, _asking(home), text, JudgeAnswer)
    except ModelFailed as failed:
        return str(failed.details["failure"])
    return ""


async def _spent(home: Staged) -> Spent:
    async with home.world.ledger.reading() as unit:
        return await unit.asking.spent(TENANT)


async def _dearest(model: ScriptedModel, text: str = "p1") -> tuple[Price, int, float]:
    """The price, and the tokens and the money that one attempt at this question may come to."""
    chat = LiteLLMChat(_settings(model))
    price, prompt = await chat.price("weak"), chat.prompts["judge"]
    question = Question(
        slot="weak",
        system=system_of(prompt),
        user=text,
        schema_name="JudgeAnswer",
        answer_schema=prompt.answer_schema,
        tokens_max=_ROOM,
        timeout_s=1.0,
    )
    sent = tokens_in(question)
    return price, sent + _ROOM, price.of(sent, _ROOM)


@pytest.mark.covers("model.reserved")
async def test_callers_at_once_never_spend_more_than_the_day_s_money(
    tmp_path: Path, model: ScriptedModel
) -> None:
    _, _, one = await _dearest(model)
    assert one > 0
    limit = 3.5 * one
    settings = _settings(model, chat_cost_per_day_usd=limit, chat_retries=0)
    refused = threading.Event()  # nobody is answered before the others were refused
    failures: list[str] = []

    def dear(question: dict[str, Any]) -> Answer:
        refused.wait(20)
        return Answer(_ANSWER, tokens=(400, int(question["max_tokens"])))

    async def one_of_many(home: Staged) -> None:
        failure = await _asked(home)
        failures.append(failure)
        if failures.count("budget") == 9:
            refused.set()

    async with world(
        tmp_path / "home", settings=settings, chat=LiteLLMChat(settings, pause=_no_pause)
    ) as home:
        model.script(dear)
        await asyncio.gather(*(one_of_many(home) for _ in range(12)))
        assert sorted(failures) == [""] * 3 + ["budget"] * 9
        assert len(model.asked) == 3
        assert 0 < (await _spent(home)).cost_usd <= limit


@pytest.mark.covers("model.reserved")
async def test_what_was_not_needed_is_given_back_when_the_call_is_settled(
    tmp_path: Path, model: ScriptedModel
) -> None:
    _, _, one = await _dearest(model)
    settings = _settings(model, chat_cost_per_day_usd=1.2 * one, chat_retries=0)
    chat = LiteLLMChat(settings, pause=_no_pause)
    async with world(tmp_path / "home", settings=settings, chat=chat) as home:
        model.script(Answer(_ANSWER, tokens=(10, 5)))
        assert [await _asked(home) for _ in range(4)] == [""] * 4
        model.script(Answer(_ANSWER, tokens=(10, 5)), Answer(_ANSWER, tokens=(300, 900)))
        assert [await _asked(home) for _ in range(3)] == ["", "", "budget"]


@pytest.mark.covers("model.reserved")
async def test_retries_stay_within_what_was_reserved(tmp_path: Path, model: ScriptedModel) -> None:
    _, tokens, _ = await _dearest(model)
    settings = _settings(model, chat_tokens_per_day=tokens + 200, chat_fallbacks=("openai/other",))
    chat = LiteLLMChat(settings, pause=_no_pause)
    async with world(tmp_path / "home", settings=settings, chat=chat) as home:
        model.script(Answer('{"pairs": [', finish="length", tokens=(300, _ROOM)))
        assert await _asked(home) == "budget"
        assert len(model.asked) == 1
        spent = await _spent(home)
        assert spent.tokens == 300 + _ROOM


@pytest.mark.covers("model.reserved")
async def test_a_model_without_a_price_is_bounded_by_tokens_alone(
    tmp_path: Path, model: ScriptedModel
) -> None:
    settings = _settings(model, chat_weak="openai/own", chat_cost_per_day_usd=0.000_001)
    chat = LiteLLMChat(settings, pause=_no_pause)
    assert await chat.price("weak") == Price()
    async with world(tmp_path / "home", settings=settings, chat=chat) as home:
        model.script(_ANSWER)
        assert await _asked(home) == ""
