"""Language models, and what the ledger keeps of asking them: what was spent, what was answered."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

from hindsight_ray.domain.chat import (
    FailedReview,
    Price,
    Prompt,
    PromptName,
    Question,
    Said,
    Slot,
    Spent,
)


class ChatModel(Protocol):
    """The models in the two slots, and the prompts that they are asked by."""

    @property
    def prompts(self) -> Mapping[PromptName, Prompt]: ...

    def model_of(self, slot: Slot) -> str | None:
        """The model's name; None where the slot is empty, so that rules decide."""
        ...

    async def price(self, slot: Slot) -> Price:
        """The dearest of the models that may come to answer in this slot."""
        ...

    async def say(self, question: Question) -> Said:
        """Ask, with retries and fallbacks, within their stated bounds.

        Raises `ModelFailed` with `failure` and `spent`; `Unavailable` if the models' process is.
        """
        ...


Work = Literal["answer", "failed"]


class AskingLog(Protocol):
    """Spending by tenant and run, answers that a review can go on from, reviews that failed."""

    async def reserve(
        self, tenant: str, call_id: str, *, run_id: str, prompt: str, at: datetime, most: Spent
    ) -> None:
        """Count a call before it is made, as dear as it may become: a crash leaves it counted."""
        ...

    async def settle(self, tenant: str, call_id: str, *, model: str, spent: Spent) -> None:
        """What the call has cost in the end."""
        ...

    async def spent(
        self, tenant: str, *, run_id: str | None = None, since: datetime | None = None
    ) -> Spent:
        """By calls that began at `since` or later, of one run or of all."""
        ...

    async def answer(self, tenant: str, run_id: str, name: str) -> str | None:
        """An answer that was kept under this name."""
        ...

    async def keep_answer(
        self, tenant: str, run_id: str, name: str, answer: str, at: datetime
    ) -> str:
        """Keep it, unless one is kept already; return the one that is: the first counts."""
        ...

    async def failed(
        self, tenant: str, *, run_id: str | None = None, limit: int
    ) -> Sequence[FailedReview]:
        """Reviews that failed and have not been mended, oldest first."""
        ...

    async def put_failed(self, tenant: str, failed: FailedReview) -> None:
        """Note a failure; one of the same run and digest before counts as an attempt."""
        ...

    async def mended(self, tenant: str, run_id: str, digest: str) -> None:
        """Take a failed review off the list."""
        ...
