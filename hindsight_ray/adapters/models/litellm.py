"""Any embedding model that LiteLLM knows by name: the one file that imports litellm for texts.

litellm takes seconds and 200 MB to import and fetches a price list unless told not to, so it is
imported at the first text, by the process that embeds and by no other.
"""

import asyncio
import importlib
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from hindsight_ray.adapters.models.local import unit_rows
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.errors import InvalidSettings, ModelFailed
from hindsight_ray.ports import Purpose, Vector

BATCH_TEXTS_MAX = 256
TIMEOUT_S = 60.0
ATTEMPTS_MAX = 3  # the OpenAI path of litellm turns "no retries" into two; other paths make one
# Where nobody has calibrated a model: the thresholds that suit most contrastive text embeddings.
DUPLICATE_AT = 0.95
MERGE_AT = 0.85


class _Litellm(Protocol):
    async def aembedding(self, **options: Any) -> Any: ...


class LiteLLMEmbedder:
    """`Embedder` by a provider's model. Keys come from the environment, as LiteLLM reads them."""

    def __init__(self, model: str, dimension: int | None, api_base: str | None = None) -> None:
        if dimension is None:
            raise InvalidSettings(
                f"`embedding_dimension` is needed for the embedding model {model!r};"
                " give the number of its dimensions",
                field="embedding_dimension",
            )
        self._space = EmbeddingSpace(
            model=model, dimension=dimension, duplicate_at=DUPLICATE_AT, merge_at=MERGE_AT
        )
        self._api_base = api_base

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        del purpose  # providers name it in their own ways; vectors of one text stay equal
        if not texts:
            return np.empty((0, self._space.dimension), dtype=np.float32)
        litellm = await asyncio.to_thread(imported_litellm)
        rows: list[Sequence[float]] = []
        for start in range(0, len(texts), BATCH_TEXTS_MAX):
            rows += await self._batch(litellm, texts[start : start + BATCH_TEXTS_MAX])
        return unit_rows(np.asarray(rows, dtype=np.float32), self._space)

    async def _batch(self, litellm: _Litellm, texts: Sequence[str]) -> list[Sequence[float]]:
        options: dict[str, Any] = {"api_base": self._api_base} if self._api_base else {}
        try:
            answer = await litellm.aembedding(
                model=self._space.model,
                input=list(texts),
                num_retries=0,
                max_retries=0,
                timeout=TIMEOUT_S,
                **options,
            )
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - litellm raises its providers' own types
            # Providers put request bodies and keys into their messages: only the type is told.
            raise ModelFailed(
                f"the embedding model {self._space.model!r} failed with {type(error).__name__};"
                " check its name, key and address",
                model=self._space.model,
                error=type(error).__name__,
            ) from None
        return _vectors(answer, len(texts), self._space.model)


_importing = threading.Lock()


def imported_litellm() -> _Litellm:
    """The library, imported once: without its price list, statistics and advice."""
    with _importing:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        module = importlib.import_module("litellm")
        # It prints advice on standard output, where answers go.
        module.__dict__.update(telemetry=False, suppress_debug_info=True)
        return cast("_Litellm", module)


def _vectors(answer: Any, count: int, model: str) -> list[Sequence[float]]:
    """The vectors in the order of the texts, whatever order the provider sent them in."""
    data = cast("Sequence[Any]", answer.data if hasattr(answer, "data") else answer["data"])
    rows: dict[int, Sequence[float]] = {}
    for position, item in enumerate(data):
        fields = cast("Mapping[str, Any]", item if isinstance(item, Mapping) else vars(item))
        rows[int(fields.get("index", position))] = fields["embedding"]
    if sorted(rows) != list(range(count)):
        raise ModelFailed(
            f"the embedding model {model!r} answered {len(data)} vectors for {count} texts",
            model=model,
        )
    return [rows[position] for position in range(count)]
