"""The models' process: the only one that holds embedding models and calls language models."""

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hindsight_ray.actors.cluster import own_node
from hindsight_ray.domain.chat import Price, Question, Said, Slot
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.errors import Unavailable
from hindsight_ray.ports import ChatModel, Embedder, Purpose, Vector

EmbedderFactory = Callable[[], Awaitable[Embedder]]
ChatFactory = Callable[[], ChatModel | None]


class Models:
    """Embeds, and asks language models, for every other process.

    **Guarantees**
    - Holds nothing but the model: a restart gives the same vectors for the same texts.
    - Texts are not kept or logged here.
    """

    def __init__(self, build: EmbedderFactory, chat: ChatFactory | None = None) -> None:
        self._build = build
        self._chat = None if chat is None else chat()
        self._embedder: Embedder | None = None

    async def space(self) -> EmbeddingSpace:
        """The space that all vectors belong to."""
        return (await self._loaded()).space

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        """What the model's `Embedder` answers."""
        return await (await self._loaded()).embed(texts, purpose)

    async def say(self, question: Question) -> Said:
        """What the gateway answers. Raises `Unavailable` where no model is set."""
        if self._chat is None:
            raise Unavailable("no language model is set; set `chat_strong` or `chat_weak`")
        return await self._chat.say(question)

    async def price(self, slot: Slot) -> Price:
        """What the gateway says of the models in the slot; nothing where none is set."""
        return Price() if self._chat is None else await self._chat.price(slot)

    async def ready(self) -> int:
        """This process's id, once its model is loaded."""
        await self._loaded()
        return os.getpid()

    async def where(self) -> str:
        """The node that this process is on. Loads no model."""
        return own_node()

    async def state(self) -> dict[str, Any]:
        """How this process is; it decides nothing, so it names no revision."""
        return {"pid": await self.ready(), "node_id": own_node()}

    async def drain(self, leaving: bool = False) -> None:
        """Nothing is kept here."""

    async def _loaded(self) -> Embedder:
        if self._embedder is None:
            self._embedder = await self._build()
        return self._embedder
