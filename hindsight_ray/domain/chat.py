"""What is asked of a language model and what comes back: prompts, questions, answers, spending.

Apart from the adapters, because services put the questions and pay for them, and no service knows
a vendor.
"""

from typing import Literal

from pydantic import Field

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.ids import RunId
from hindsight_ray.domain.text import Line, Moment, Short, Summary

Slot = Literal["strong", "weak"]
PromptName = Literal[
    "review", "extract", "judge", "mood", "window", "culprit", "culprit_step", "culprit_half",
]  # fmt: skip
Failure = Literal[
    "timeout", "unreachable", "rate limited", "refused key", "no such model", "too long",
    "rejected", "empty", "cut", "refusal", "unparsable", "echoed schema", "unfit", "budget",
]  # fmt: skip
"""Why there is no usable answer. The last four are found by whoever reads the answer."""


class Prompt(Value):
    """A prompt as it is shipped: constant text, the answer's schema, and the hash of both."""

    name: PromptName
    version: int = Field(ge=1)
    slot: Slot
    text: str
    answer: str  # the name of the answer's shape, as in `core/shapes.py`
    answer_schema: str  # JSON schema, as text
    hash: str

    @property
    def mark(self) -> str:
        """What is kept with whatever came of it, such as `review@1 0123456789ab`."""
        return f"{self.name}@{self.version} {self.hash[:12]}"


class Question(Value):
    """One thing asked of the model in a slot. `system` is the same for all uses of a prompt."""

    slot: Slot
    system: str
    user: str
    schema_name: str
    answer_schema: str
    tokens_max: int = Field(ge=1)  # of the answer
    timeout_s: float = Field(gt=0)
    # What all attempts together may take. None: as much as retries and fallbacks come to.
    tokens_budget: int | None = None
    cost_budget_usd: float | None = None


class Price(Value):
    """What a token costs; 0 of a model without a known price."""

    in_usd: float = Field(default=0.0, ge=0)
    out_usd: float = Field(default=0.0, ge=0)

    def of(self, tokens_in: int, tokens_out: int) -> float:
        return tokens_in * self.in_usd + tokens_out * self.out_usd


class Spent(Value):
    """Tokens and money. `calls` counts requests, those that failed included."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0  # of `tokens_in`, read from the provider's prompt cache
    cost_usd: float = 0.0  # 0 for a model without a known price

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def plus(self, other: "Spent") -> "Spent":
        return Spent(
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            cost_usd=self.cost_usd + other.cost_usd,
        )


class Said(Value):
    """What a model answered, and what it cost with all that was tried before."""

    text: str
    model: str
    spent: Spent
    masked: int = 0  # secrets taken out before sending


class FailedReview(Value):
    """A review that a model was to make and did not: why, and what it said instead."""

    run_id: RunId
    digest: str
    kind: Literal["full", "partial"]
    failure: Failure
    why: Summary
    answer: Summary = ""  # the beginning of the unusable answer, without secrets
    prompt: Short = ""
    attempts: int = 1
    at: Moment


class Retried(Value):
    """What `review --retry` did: failed reviews taken up again, and those that failed again."""

    tried: int = 0
    mended: tuple[RunId, ...] = ()
    failed: tuple[FailedReview, ...] = ()
    stopped: Line | None = None  # why not all were tried
