"""An embedding without a model: character trigrams hashed into a few dozen numbers.

For tests and for simulations in which the words alone decide: it needs no file, takes microseconds
and gives the same vector everywhere. It knows nothing of meaning.
"""

import unicodedata
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.ports import Purpose, Vector

DIMENSION = 64
_SPACE = EmbeddingSpace(
    model="hashed-trigrams", dimension=DIMENSION, duplicate_at=0.95, merge_at=0.85
)


class HashedEmbedder:
    """`Embedder` over hashed trigrams. Texts of the same trigrams get the same vector."""

    @property
    def space(self) -> EmbeddingSpace:
        return _SPACE

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:  # noqa: ARG002 - both alike
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = _embedded(text)
        return vectors


def _embedded(text: str) -> Vector:
    """Each trigram adds 1 to, or takes it from, one of the numbers, as its hash says."""
    normal = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    padded = f"  {normal} "
    vector = np.zeros(DIMENSION, dtype=np.float32)
    for start in range(len(padded) - 2):
        code = crc32(padded[start : start + 3].encode("utf-8"))
        vector[code % DIMENSION] += 1.0 if code >> 31 else -1.0
    length = float(np.linalg.norm(vector))
    if length == 0.0:  # every number cancelled: still a direction, the same each time
        vector[crc32(padded.encode("utf-8")) % DIMENSION] = length = 1.0
    return vector / np.float32(length)
