"""An embedder that remembers: the same text, purpose and model is embedded once.

Bounded, by least recent use. Texts of all callers share it: a vector tells nothing but its text,
which whoever asks already has.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.ports import Embedder, Purpose, Vector
from hindsight_ray.ports.watching import spent_on

ENTRIES_MAX = 4_096


class RememberingEmbedder:
    """`Embedder` over another one. Keys are digests, so that no text is held."""

    def __init__(self, inner: Embedder, entries_max: int = ENTRIES_MAX) -> None:
        self._inner = inner
        self._entries_max = entries_max
        self._kept: OrderedDict[bytes, Vector] = OrderedDict()

    @property
    def space(self) -> EmbeddingSpace:
        return self._inner.space

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        keys = [self._key(text, purpose) for text in texts]
        known: dict[bytes, Vector] = {}
        missing: dict[bytes, str] = {}
        for key, text in zip(keys, texts, strict=True):
            vector = self._kept.get(key)
            if vector is None:
                missing[key] = text
            else:
                self._kept.move_to_end(key)
                known[key] = vector
        if missing:
            with spent_on("embedding"):
                fresh = await self._inner.embed(list(missing.values()), purpose)
            for key, vector in zip(missing, fresh, strict=True):
                known[key] = self._keep(key, vector)
        if not texts:
            return np.empty((0, self.space.dimension), dtype=np.float32)
        return np.stack([known[key] for key in keys])

    def _keep(self, key: bytes, vector: Vector) -> Vector:
        own = np.array(vector, dtype=np.float32)
        own.setflags(write=False)
        self._kept[key] = own
        self._kept.move_to_end(key)
        while len(self._kept) > self._entries_max:
            self._kept.popitem(last=False)
        return own

    def _key(self, text: str, purpose: Purpose) -> bytes:
        name = f"{self.space.model}\n{purpose}\n{text}"
        return hashlib.sha256(name.encode("utf-8", errors="surrogatepass")).digest()
