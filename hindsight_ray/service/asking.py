"""Put a question to a model: within its budget, read strictly, asked again once, paid for.

What a model is shown is the service's to answer for: a question holds only what the caller in whose
name it is asked may read. Budgets stop politely: the question is not put, a typed failure says so,
and whoever asked goes on by rules.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from hindsight_ray.core.answers import Read, fail, read_answer
from hindsight_ray.core.budget import tokens_in, tokens_out
from hindsight_ray.core.shapes import Shape
from hindsight_ray.core.steps import one_line
from hindsight_ray.domain.chat import Prompt, PromptName, Question, Said, Slot, Spent
from hindsight_ray.errors import ModelFailed, Unavailable
from hindsight_ray.service.world import World

ANSWER_TOKENS = 2_048
RUN_BUDGET = "chat_tokens_per_run"  # the one budget that is no other run's
_FIRST_TOKENS = {"judge": 1_024, "mood": 256, "window": 512}
_AGAIN = frozenset({"unparsable", "unfit", "echoed schema"})

S = TypeVar("S", bound=Shape)


def prompt_for(world: World, name: PromptName, slot: Slot | None = None) -> Prompt | None:
    """The prompt, if a model is there to answer it; None where rules decide."""
    if world.chat is None:
        return None
    prompt = world.chat.prompts[name]
    return prompt if world.chat.model_of(slot or prompt.slot) else None


def system_of(prompt: Prompt) -> str:
    """The constant part of a prompt: its text and the schema of its answer."""
    return f"{prompt.text}\n\nThe JSON object has this schema:\n{prompt.answer_schema}"


@dataclass(frozen=True, slots=True)
class Asking:
    """By which prompt a question is put, in which slot, and on whose account."""

    prompt: Prompt
    tenant: str
    run_id: str = ""  # "" for a question that belongs to no run
    slot: Slot | None = None  # the prompt's own, if None


async def ask(world: World, asking: Asking, told: str, shape: type[S]) -> Read[S]:
    """The model's answer as `shape`. Raises `ModelFailed` with `failure` and `prompt`.

    `told` is data that may be read by whoever the answer is for.
    """
    try:
        return await _asked(world, asking, told, shape)
    except ModelFailed as failed:
        mark = {"prompt": asking.prompt.mark, "run": asking.run_id}
        raise ModelFailed(failed.message, **{**failed.details, **mark}) from None


async def _asked(world: World, asking: Asking, told: str, shape: type[S]) -> Read[S]:
    prompt = asking.prompt
    question = Question(
        slot=asking.slot or prompt.slot,
        system=system_of(prompt),
        user=told,
        schema_name=shape.__name__,
        answer_schema=prompt.answer_schema,
        tokens_max=_FIRST_TOKENS.get(prompt.name, ANSWER_TOKENS),
        timeout_s=world.settings.chat_timeout_s,
    )
    said = await _said(world, asking, question)
    try:
        return read_answer(said.text, shape)
    except ModelFailed as failed:
        if failed.details["failure"] not in _AGAIN:
            raise _with_answer(failed, said) from None
        why = one_line(failed.message)  # it quotes what the model said
        again = f"{told}\n\nYour answer could not be read ({why}).\nAnswer again."
    said = await _said(world, asking, question.model_copy(update={"user": again}))
    try:
        return read_answer(said.text, shape)
    except ModelFailed as failed:
        raise _with_answer(failed, said) from None


def _with_answer(failed: ModelFailed, said: Said) -> ModelFailed:
    return ModelFailed(failed.message, **{**failed.details, "answer": said.text[:1_000]})


async def _said(world: World, asking: Asking, question: Question) -> Said:
    """Ask once, with the call counted before and settled after."""
    assert world.chat is not None  # noqa: S101 - `prompt_for` has said so
    call_id = world.ids.token()
    question = await _reserve(world, asking, call_id, question)
    model, spent = "", Spent(calls=1)
    try:
        said = await world.chat.say(question)
        model, spent = said.model, said.spent
        return said
    except ModelFailed as failed:
        spent = Spent.model_validate(failed.details.get("spent") or {"calls": 1})
        raise
    except Unavailable as away:
        fail("unreachable", away.message)
    finally:
        async with world.ledger.writing() as unit:
            await unit.asking.settle(asking.tenant, call_id, model=model, spent=spent)


async def _reserve(world: World, asking: Asking, call_id: str, question: Question) -> Question:
    """Check the budgets and count the call in one transaction: two never share the last of it.

    At least one attempt must fit, as dear as it may become; what retries would add is reserved as
    far as it fits, and the question says how much that is. Settling gives back what was not needed.
    """
    assert world.chat is not None  # noqa: S101 - `prompt_for` has said so
    settings, now = world.settings, world.clock.now()
    tenant, run_id = asking.tenant, asking.run_id
    price = await world.chat.price(question.slot)
    sent = tokens_in(question)
    models = 1 + len(settings.chat_fallbacks)
    answers = tokens_out(question, attempts=settings.chat_retries + 1, models=models)
    async with world.ledger.writing() as unit:
        day = await unit.asking.spent(tenant, since=_midnight(now))
        tokens = settings.chat_tokens_per_day - day.tokens
        money = settings.chat_cost_per_day_usd - day.cost_usd
        one = sent + question.tokens_max
        if one > tokens:
            fail("budget", _too_little("chat_tokens_per_day", settings.chat_tokens_per_day,
                                       tokens, one))  # fmt: skip
        if money <= 0 or price.of(sent, question.tokens_max) > money:
            fail("budget", f"`chat_cost_per_day_usd` is {settings.chat_cost_per_day_usd:g}; what"
                 " is left does not pay for one more question")  # fmt: skip
        if run_id:
            run = await unit.asking.spent(tenant, run_id=run_id)
            tokens = min(tokens, settings.chat_tokens_per_run - run.tokens)
            if one > tokens:
                fail("budget", _too_little(RUN_BUDGET, settings.chat_tokens_per_run, tokens, one))
        tokens = min(tokens, len(answers) * sent + sum(answers))
        money = min(money, price.of(len(answers) * sent, sum(answers)))
        most = Spent(calls=1, tokens_in=tokens, cost_usd=money)
        await unit.asking.reserve(
            tenant, call_id, run_id=run_id, prompt=asking.prompt.mark, at=now, most=most
        )
    return question.model_copy(update={"tokens_budget": tokens, "cost_budget_usd": money})


def _too_little(name: str, budget: int, left: int, one: int) -> str:
    """Why a question is not put: what is spent, or set aside for others under way, counts."""
    return f"`{name}` is {budget}; {max(left, 0)} are left, and one more question may take {one}"


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
