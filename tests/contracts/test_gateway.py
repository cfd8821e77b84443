"""The gateway to language models, through real LiteLLM, over HTTP, to a server on loopback."""

import asyncio
from collections.abc import Iterator

import pytest

from hindsight_ray.actors.models import Models
from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.domain.chat import Question
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import ModelFailed, Unavailable
from tests.servers.scripted_model import Answer, ScriptedModel, scripted_model

SCHEMA = '{"type":"object","properties":{"x":{"type":"integer"}}}'


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as server:
        yield server


class Waits:
    """What the gateway waited, without waiting."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def gateway(model: ScriptedModel, waits: Waits | None = None, **more: object) -> LiteLLMChat:
    fields: dict[str, object] = {
        "chat_strong": "openai/gpt-4o",
        "chat_weak": "openai/small",
        "chat_api_base": model.address,
        **more,
    }
    return LiteLLMChat(Settings.model_validate(fields), pause=waits or Waits())


def question(**more: object) -> Question:
    fields: dict[str, object] = {
        "slot": "strong",
        "system": "Say x.",
        "user": "now",
        "schema_name": "X",
        "answer_schema": SCHEMA,
        "tokens_max": 100,
        "timeout_s": 10.0,
        **more,
    }
    return Question.model_validate(fields)


async def failing(chat: LiteLLMChat, asked: Question | None = None) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await chat.say(asked or question())
    return failed.value


@pytest.mark.covers("model.gateway")
async def test_a_slot_asks_its_own_model_with_the_schema_and_counts_what_it_cost(
    model: ScriptedModel,
) -> None:
    model.script(Answer('{"x": 1}', tokens=(1_000, 200), cached=900))
    said = await gateway(model).say(question())
    assert (said.text, said.model) == ('{"x": 1}', "openai/gpt-4o")
    assert (said.spent.calls, said.spent.tokens_in, said.spent.tokens_out) == (1, 1_000, 200)
    assert said.spent.tokens_cached == 900
    assert said.spent.cost_usd > 0
    (sent,) = model.asked
    assert sent["model"] == "gpt-4o"
    assert sent["response_format"]["json_schema"]["schema"]["properties"] == {
        "x": {"type": "integer"}
    }
    await gateway(model).say(question(slot="weak"))
    assert model.asked[-1]["model"] == "small"


async def test_a_model_without_a_known_price_is_counted_in_tokens(model: ScriptedModel) -> None:
    model.script(Answer('{"x": 1}', tokens=None))
    said = await gateway(model).say(question(slot="weak"))
    assert said.spent.tokens_in > 0
    assert said.spent.tokens_out > 0
    assert said.spent.cost_usd == 0


@pytest.mark.covers("model.gateway")
async def test_the_constant_part_comes_first_so_that_a_provider_may_cache_it(
    model: ScriptedModel,
) -> None:
    model.script('{"x": 1}')
    chat = gateway(model)
    for slot, said in (("strong", "what alice gave"), ("strong", "what bob gave")):
        await chat.say(question(slot=slot, user=said))
    one, other = (sent["messages"] for sent in model.asked)
    assert one[0] == other[0]
    assert one[0]["role"] == "system"
    assert "gave" not in str(one[0])
    assert (one[1]["content"], other[1]["content"]) == ("what alice gave", "what bob gave")


async def test_secrets_are_masked_before_anything_is_sent(model: ScriptedModel) -> None:
    model.script('{"x": 1}')
    said = await gateway(model).say(question(user="the password: hunter2-hunter2 is set"))
    assert said.masked == 1
    assert "hunter2" not in model.prompts[0]


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408])
@pytest.mark.covers("model.gateway")
async def test_a_provider_that_is_down_is_asked_three_times_and_no_more(
    model: ScriptedModel, status: int
) -> None:
    model.script(Answer("busy", status=status))
    waits = Waits()
    error = await failing(gateway(model, waits))
    assert len(model.asked) == 3
    assert error.details["failure"] in ("unreachable", "rate limited", "timeout")
    assert error.details["spent"]["calls"] == 3
    assert waits.seconds == [0.25, 0.5]


async def test_one_that_recovers_is_heard(model: ScriptedModel) -> None:
    model.script(Answer("busy", status=503), Answer(""), '{"x": 2}')
    said = await gateway(model).say(question())
    assert (said.text, said.spent.calls) == ('{"x": 2}', 3)


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (401, "refused key"),
        (403, "refused key"),
        (404, "no such model"),
        (400, "rejected"),
        (422, "rejected"),
    ],
)
async def test_what_will_not_change_is_not_tried_again(
    model: ScriptedModel, status: int, failure: str
) -> None:
    model.script(Answer("no", status=status))
    error = await failing(gateway(model))
    assert (len(model.asked), error.details["failure"]) == (1, failure)


async def test_a_question_too_long_is_named_so(model: ScriptedModel) -> None:
    said = "This model's maximum context length is 4096 tokens. However, your messages are longer"
    model.script(Answer(said, status=400))
    error = await failing(gateway(model))
    assert (len(model.asked), error.details["failure"]) == (1, "too long")


async def test_a_refusal_is_not_tried_again_and_an_empty_answer_is(model: ScriptedModel) -> None:
    model.script(Answer(message={"role": "assistant", "content": None, "refusal": "I will not"}))
    assert (await failing(gateway(model))).details["failure"] == "refusal"
    assert len(model.asked) == 1
    model.script(Answer("", finish="content_filter"))
    assert (await failing(gateway(model))).details["failure"] == "refusal"
    assert len(model.asked) == 1
    model.script(Answer(""))
    assert (await failing(gateway(model))).details["failure"] == "empty"
    assert len(model.asked) == 3


async def test_an_answer_cut_at_its_limit_is_asked_for_again_with_more_room(
    model: ScriptedModel,
) -> None:
    model.script(Answer('{"x": ', finish="length"), Answer('{"x": 1}'))
    said = await gateway(model).say(question())
    assert said.text == '{"x": 1}'
    assert [one["max_tokens"] for one in model.asked] == [100, 200]
    model.script(Answer('{"x": ', finish="length"))
    error = await failing(gateway(model))
    assert error.details["failure"] == "cut"
    assert error.details["answer"] == '{"x": '
    assert error.details["spent"]["tokens_out"] == 60


async def test_a_tool_call_in_place_of_text_is_read(model: ScriptedModel) -> None:
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "X", "arguments": '{"x": 3}'},
    }
    model.script(
        Answer(
            message={"role": "assistant", "content": None, "tool_calls": [call]},
            finish="tool_calls",
        )
    )
    assert (await gateway(model).say(question())).text == '{"x": 3}'


async def test_a_silent_provider_is_left_at_the_time_limit(model: ScriptedModel) -> None:
    model.script(Answer(silent=True))
    error = await failing(gateway(model, chat_retries=0), question(timeout_s=0.3))
    assert error.details["failure"] == "timeout"
    model.quiet.set()


async def test_another_model_answers_where_the_first_cannot(model: ScriptedModel) -> None:
    model.script(Answer("no", status=404), '{"x": 4}')
    said = await gateway(model, chat_fallbacks=("openai/other",)).say(question())
    assert (said.model, said.spent.calls) == ("openai/other", 2)


async def test_a_provider_that_asks_for_a_long_wait_is_left_for_the_next(
    model: ScriptedModel,
) -> None:
    waits = Waits()
    model.script(Answer("later", status=429, headers=(("retry-after", "60"),)), '{"x": 5}')
    said = await gateway(model, waits, chat_fallbacks=("openai/other",)).say(question())
    assert (said.model, waits.seconds) == ("openai/other", [])


async def test_a_short_wait_that_was_asked_for_is_kept(model: ScriptedModel) -> None:
    waits = Waits()
    model.script(Answer("later", status=429, headers=(("retry-after", "2"),)), '{"x": 5}')
    await gateway(model, waits).say(question())
    assert waits.seconds == [2.0]


async def test_a_body_that_is_no_answer_is_a_typed_failure(model: ScriptedModel) -> None:
    for body in ("", "<html>", "[]", '{"choices": []}', "{"):
        model.script(Answer(body=body))
        error = await failing(gateway(model, chat_retries=0))
        assert error.details["failure"] in ("unreachable", "empty", "rejected")


async def test_equal_questions_of_two_callers_are_both_asked(model: ScriptedModel) -> None:
    model.script('{"x": 1}')
    chat = gateway(model)
    await asyncio.gather(chat.say(question()), chat.say(question()))
    assert len(model.asked) == 2


async def test_no_providers_key_goes_to_a_server_of_ones_own(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody-elses-key-0123456789")
    monkeypatch.setenv("OWN_KEY", "mine")
    model.script('{"x": 1}')
    await gateway(model).say(question())
    await gateway(model, chat_key_variable="OWN_KEY").say(question())
    assert model.keys == ["Bearer none", "Bearer mine"]


async def test_the_models_process_asks_for_every_other_and_says_if_it_has_no_model(
    model: ScriptedModel,
) -> None:
    async def embedder() -> HashedEmbedder:
        return HashedEmbedder()

    model.script('{"x": 6}')
    assert (await Models(embedder, lambda: gateway(model)).say(question())).text == '{"x": 6}'
    with pytest.raises(Unavailable):
        await Models(embedder, lambda: None).say(question())
