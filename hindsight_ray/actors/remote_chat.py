"""The language models that brokers and reviewers use: the models' process, behind the same port."""

from collections.abc import Mapping
from typing import Any

from ray.actor import ActorHandle

from hindsight_ray.actors.reach import Reach
from hindsight_ray.actors.roles import actor_name
from hindsight_ray.domain.chat import Price, Prompt, PromptName, Question, Said, Slot
from hindsight_ray.ports import ChatModel

_NAMES = (actor_name("models", 0),)


class RemoteChat:
    """A `ChatModel` whose provider is asked by the `Models` actor. Raises `Unavailable` without it.

    Prompts and the models' names are known from the package and the settings, so that only what is
    asked travels. A question is sent once: one that was answered and paid for is not asked again.
    """

    def __init__(self, known: ChatModel) -> None:
        self._known = known
        self._reach = Reach()
        self._prices: dict[Slot, Price] = {}

    @property
    def prompts(self) -> Mapping[PromptName, Prompt]:
        return self._known.prompts

    def model_of(self, slot: Slot) -> str | None:
        return self._known.model_of(slot)

    async def price(self, slot: Slot) -> Price:
        if slot not in self._prices:

            def invoke(models: ActorHandle[Any]) -> Any:
                return models.price.remote(slot)

            self._prices[slot] = await self._reach.ask(_NAMES, invoke)
        return self._prices[slot]

    async def say(self, question: Question) -> Said:
        def invoke(models: ActorHandle[Any]) -> Any:
            return models.say.remote(question)

        return await self._reach.ask(_NAMES, invoke, repeatable=False)
