"""The models' process: the only one that imports and holds embedding models."""

from collections.abc import Awaitable, Callable, Sequence

from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.ports import Embedder, Purpose, Vector

EmbedderFactory = Callable[[], Awaitable[Embedder]]


class Models:
    """Embeds for every other process.

    **Guarantees**
    - Holds nothing but the model: a restart gives the same vectors for the same texts.
    - Texts are not kept or logged here.
    """

    def __init__(self, build: EmbedderFactory) -> None:
        self._build = build
        self._embedder: Embedder | None = None

    async def space(self) -> EmbeddingSpace:
        """The space that all vectors belong to."""
        return (await self._ready()).space

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        """What the model's `Embedder` answers."""
        return await (await self._ready()).embed(texts, purpose)

    async def _ready(self) -> Embedder:
        if self._embedder is None:
            self._embedder = await self._build()
        return self._embedder
