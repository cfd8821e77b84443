"""The embedder that brokers and reviewers use: the models' process, behind the same port."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ray.actor import ActorHandle

from hindsight_ray.actors.reach import Reach
from hindsight_ray.actors.roles import actor_name
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.ports import Purpose, Vector

_NAMES = (actor_name("models", 0),)


class RemoteEmbedder:
    """An `Embedder` whose model lives in the `Models` actor. Raises `Unavailable` without it.

    The space is known from the settings, so nothing waits for the model before the first text.
    """

    def __init__(self, space: EmbeddingSpace) -> None:
        self._space = space
        self._reach = Reach()

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        def invoke(models: ActorHandle[Any]) -> Any:
            return models.embed.remote(list(texts), purpose)

        # Ray hands arrays out read-only; callers may not expect that.
        return np.array(await self._reach.ask(_NAMES, invoke), dtype=np.float32)
