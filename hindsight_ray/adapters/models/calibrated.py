"""An embedder whose thresholds were derived on this home's own pairs (`calibrate`)."""

from collections.abc import Sequence
from dataclasses import replace

from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.ports import Embedder, Purpose, Vector


class CalibratedEmbedder:
    """`Embedder` over another one, with thresholds of its own where they are given."""

    def __init__(
        self, inner: Embedder, *, duplicate_at: float | None, merge_at: float | None
    ) -> None:
        space = inner.space
        self._inner = inner
        self._space = replace(
            space,
            duplicate_at=space.duplicate_at if duplicate_at is None else duplicate_at,
            merge_at=space.merge_at if merge_at is None else merge_at,
        )

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        return await self._inner.embed(texts, purpose)
