"""The gateway to language models: the one way out, over whatever provider LiteLLM knows.

Retries are made here and nowhere else: LiteLLM's own two settings multiply with each other, so both
are 0. What is tried again depends on what went wrong: a provider that is down or too busy, an empty
answer and one cut at its limit are; a refused key, a refusal and a question that is too long are
not. Secrets are masked in what is sent. No answer is kept here: one caller's is none of another's.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, cast

from hindsight_ray.adapters.models.litellm import imported_litellm
from hindsight_ray.adapters.models.prompts import shipped_prompts
from hindsight_ray.core.budget import ANSWER_TOKENS_MAX, tokens_in
from hindsight_ray.core.redaction import redacted
from hindsight_ray.core.tokens import tokens_at_most
from hindsight_ray.domain.chat import (
    Failure,
    Price,
    Prompt,
    PromptName,
    Question,
    Said,
    Slot,
    Spent,
)
from hindsight_ray.domain.settings import Settings
from hindsight_ray.domain.text import cut_text
from hindsight_ray.errors import ModelFailed

PAUSE_S = 0.25  # before the first retry; doubled before each further one
PAUSE_S_MAX = 5.0
_NO_KEY = "none"  # servers of one's own ask for none, and no other provider's key goes to them

# By the names of LiteLLM's exceptions, the nearest base class first.
_FAILURES: Mapping[str, Failure] = MappingProxyType({
    "Timeout": "timeout",
    "TimeoutError": "timeout",
    "RateLimitError": "rate limited",
    "AuthenticationError": "refused key",
    "PermissionDeniedError": "refused key",
    "PaymentRequiredError": "refused key",
    "NotFoundError": "no such model",
    "ContextWindowExceededError": "too long",
    "ContentPolicyViolationError": "refusal",
    "APIConnectionError": "unreachable",
    "ServiceUnavailableError": "unreachable",
    "BadGatewayError": "unreachable",
    "InternalServerError": "unreachable",
    "BadRequestError": "rejected",
    "UnprocessableEntityError": "rejected",
    "APIError": "unreachable",
})  # fmt: skip
_STATUSES: Mapping[int, Failure] = MappingProxyType({
    400: "rejected", 401: "refused key", 402: "refused key", 403: "refused key",
    404: "no such model", 408: "timeout", 413: "too long", 422: "rejected", 429: "rate limited",
})  # fmt: skip
_UNKNOWN: Failure = "unreachable"
_AGAIN: frozenset[Failure] = frozenset({"timeout", "rate limited", "unreachable", "empty", "cut"})
_FINISHES: Mapping[str, Failure] = MappingProxyType(
    {"length": "cut", "max_tokens": "cut", "content_filter": "refusal", "safety": "refusal"}
)


class _Litellm(Protocol):
    def get_model_info(self, model: str) -> Mapping[str, Any]: ...

    async def acompletion(self, **options: Any) -> Any: ...

    def completion_cost(self, **options: Any) -> float: ...


@dataclass(slots=True)
class _Trial:
    """One question on its way: what was spent, and how the last attempt ended."""

    question: Question
    system: str
    user: str
    masked: int
    tokens_max: int
    failure: Failure = "unreachable"
    why: str = ""
    wait_s: float = 0.0  # that the provider asked for
    partial: str = ""
    spent: Spent = field(default_factory=Spent)

    def affords(self, price: Price) -> bool:
        """Whether one more attempt, as dear as it may become, is within what may be spent."""
        question = self.question
        sent = tokens_in(question)
        tokens = self.spent.tokens + sent + self.tokens_max
        if question.tokens_budget is not None and tokens > question.tokens_budget:
            return False
        cost = self.spent.cost_usd + price.of(sent, self.tokens_max)
        return question.cost_budget_usd is None or cost <= question.cost_budget_usd


class LiteLLMChat:
    """`ChatModel` over LiteLLM, imported at the first question by the process that asks."""

    def __init__(
        self,
        settings: Settings,
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._pause = pause

    @property
    def prompts(self) -> Mapping[PromptName, Prompt]:
        return shipped_prompts()

    def model_of(self, slot: Slot) -> str | None:
        return model_in(self._settings, slot)

    async def price(self, slot: Slot) -> Price:
        litellm = cast("_Litellm", await asyncio.to_thread(imported_litellm))
        prices = [_price_of(litellm, model) for model in self._models(slot)]
        return Price(
            in_usd=max((price.in_usd for price in prices), default=0.0),
            out_usd=max((price.out_usd for price in prices), default=0.0),
        )

    async def say(self, question: Question) -> Said:
        litellm = cast("_Litellm", await asyncio.to_thread(imported_litellm))
        system, one = redacted(question.system)
        user, other = redacted(question.user)
        trial = _Trial(question, system, user, one + other, question.tokens_max)
        for model in self._models(question.slot):
            said = await self._ask(litellm, model, trial)
            if said is not None:
                return said
            if trial.failure == "budget":
                break
        raise ModelFailed(
            f"no model answered ({trial.failure}: {trial.why}) in {trial.spent.calls} calls;"
            " what it was asked about is kept",
            failure=trial.failure,
            spent=trial.spent.model_dump(),
            answer=cut_text(redacted(trial.partial)[0], 1_000)[0],
        )

    def _models(self, slot: Slot) -> Sequence[str]:
        own = self.model_of(slot)
        return tuple(dict.fromkeys(([own] if own else []) + list(self._settings.chat_fallbacks)))

    async def _ask(self, litellm: _Litellm, model: str, trial: _Trial) -> Said | None:
        """Ask one model as often as its failures warrant; None if another should be asked."""
        for attempt in range(self._settings.chat_retries + 1):
            if attempt:
                wait_s = max(trial.wait_s, PAUSE_S * 2 ** (attempt - 1))
                await self._pause(min(wait_s, PAUSE_S_MAX))
            if not trial.affords(_price_of(litellm, model)):
                trial.failure, trial.why = "budget", f"after {trial.failure}: {trial.why}"
                return None
            said = await self._try(litellm, model, trial)
            if said is not None or trial.failure not in _AGAIN:
                return said
            if trial.wait_s > PAUSE_S_MAX:
                return None  # longer than anybody here waits: the next model
            if trial.failure == "cut":
                if trial.tokens_max >= ANSWER_TOKENS_MAX:
                    return None
                trial.tokens_max = min(2 * trial.tokens_max, ANSWER_TOKENS_MAX)
        return None

    async def _try(self, litellm: _Litellm, model: str, trial: _Trial) -> Said | None:
        trial.spent = trial.spent.plus(Spent(calls=1))
        trial.wait_s = 0.0
        try:
            async with asyncio.timeout(trial.question.timeout_s):
                answer = await litellm.acompletion(**self._options(model, trial))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - litellm raises its providers' own types
            # Providers put requests and keys into their messages: only the type is told.
            trial.failure, trial.why = _failure_of(error), f"{model!r}: {type(error).__name__}"
            trial.wait_s = _asked_to_wait(error)
            return None
        text, failure = _text_of(answer)
        trial.spent = trial.spent.plus(_cost_of(litellm, model, answer, trial, text))
        if failure is None:
            return Said(text=text, model=model, spent=trial.spent, masked=trial.masked)
        trial.failure, trial.why, trial.partial = failure, f"{model!r}", text
        return None

    def _options(self, model: str, trial: _Trial) -> dict[str, Any]:
        question = trial.question
        options: dict[str, Any] = {
            "model": model,
            "messages": [
                {
                    "role": "system",
                    # The part that never changes comes first and is marked, so that a provider
                    # may keep it; what a caller gave comes after the mark.
                    "content": [
                        {
                            "type": "text",
                            "text": trial.system,
                            "cache_control": {"type": "ephemeral"},
                        }
                    ],
                },
                {"role": "user", "content": trial.user},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": question.schema_name,
                    "schema": json.loads(question.answer_schema),
                },
            },
            "temperature": 0,
            "max_tokens": trial.tokens_max,
            "timeout": question.timeout_s,
            "num_retries": 0,
            "max_retries": 0,
            "caching": False,
            "drop_params": True,
        }
        settings = self._settings
        if settings.chat_api_base is not None:
            options["api_base"] = settings.chat_api_base
            options["api_key"] = _NO_KEY
        if settings.chat_key_variable is not None:
            options["api_key"] = os.environ.get(settings.chat_key_variable, _NO_KEY)
        return options


def _price_of(litellm: _Litellm, model: str) -> Price:
    try:
        known = litellm.get_model_info(model)
    except Exception:  # noqa: BLE001 - it raises what it likes for a model that it does not know
        return Price()
    return Price(
        in_usd=float(known.get("input_cost_per_token") or 0.0),
        out_usd=float(known.get("output_cost_per_token") or 0.0),
    )


def model_in(settings: Settings, slot: Slot) -> str | None:
    """The model that the settings put into a slot. A weak one stands in for no strong one."""
    return settings.chat_strong if slot == "strong" else settings.chat_weak or settings.chat_strong


def _failure_of(error: Exception) -> Failure:
    known = _UNKNOWN
    for base in type(error).__mro__:
        if base.__name__ in _FAILURES:
            known = _FAILURES[base.__name__]
            break
    if known == _UNKNOWN:  # some statuses have no exception of their own
        return _STATUSES.get(int(getattr(error, "status_code", 0) or 0), known)
    return known


def _asked_to_wait(error: Exception) -> float:
    """Seconds after which the provider said to come back; 0 if it did not say."""
    response = getattr(error, "response", None)
    headers = cast("Mapping[str, str]", getattr(response, "headers", None) or {})
    try:
        return max(0.0, float(headers.get("retry-after", 0)))
    except (TypeError, ValueError):
        return 0.0


def _text_of(answer: Any) -> tuple[str, Failure | None]:
    """The answer's text, and what is wrong with it by its finish reason."""
    choices = cast("Sequence[Any]", getattr(answer, "choices", None) or ())
    if not choices:
        return "", "empty"
    message = getattr(choices[0], "message", None)
    text = str(getattr(message, "content", None) or "")
    calls = cast("Sequence[Any]", getattr(message, "tool_calls", None) or ())
    if not text.strip() and calls:
        text = str(getattr(getattr(calls[0], "function", None), "arguments", None) or "")
    refused = getattr(message, "refusal", None)
    if refused and not text.strip():
        return str(refused), "refusal"
    finish = _FINISHES.get(str(getattr(choices[0], "finish_reason", "")).casefold())
    if finish is not None:
        return text, finish
    return text, None if text.strip() else "empty"


def _cost_of(litellm: _Litellm, model: str, answer: Any, trial: _Trial, text: str) -> Spent:
    """What the provider counted; where it did not, an upper bound of what was said."""
    usage = getattr(answer, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    counted_in = int(getattr(usage, "prompt_tokens", 0) or 0)
    counted_out = int(getattr(usage, "completion_tokens", 0) or 0)
    try:
        cost = float(litellm.completion_cost(completion_response=answer, model=model))
    except Exception:  # noqa: BLE001 - a model without a known price costs nothing that is known
        cost = 0.0
    return Spent(
        tokens_in=counted_in or tokens_at_most(trial.system) + tokens_at_most(trial.user),
        tokens_out=counted_out or tokens_at_most(text),
        tokens_cached=int(getattr(details, "cached_tokens", 0) or 0),
        cost_usd=cost,
    )
