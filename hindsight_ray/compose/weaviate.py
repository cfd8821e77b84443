"""A Weaviate store as the settings name it. Imported where they do: its client is no light one."""

import os

from hindsight_ray.adapters.stores.weaviate import probe
from hindsight_ray.adapters.stores.weaviate.beside import WeaviateBeside
from hindsight_ray.adapters.stores.weaviate.connection import Server
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import InvalidSettings


def store(settings: Settings, space: EmbeddingSpace, *, among: int = 1) -> WeaviateBeside:
    """The store; it connects when it is first used.

    `among` so many processes the hot tenants that the settings allow are shared out alike.
    Raises `InvalidSettings` if the environment variable of the key is not set.
    """
    name = settings.weaviate_api_key_env
    key = os.environ.get(name, "") if name else ""
    if name and not key:
        raise InvalidSettings(
            f"`weaviate_api_key_env` names `{name}`, which is not set; set it to the server's key",
            setting="weaviate_api_key_env",
        )
    server = Server(settings.weaviate_url, settings.weaviate_grpc_port, name, key)
    allowed = settings.weaviate_hot_tenants
    return WeaviateBeside(server, space, hot_places=max(1, allowed // among), hot_in_all=allowed)


async def missed(settings: Settings, space: EmbeddingSpace) -> tuple[int, int, int]:
    """(objects not found by vector right after their put, by words, objects put).

    In a place and a collection of the probe's own.
    """
    probed = store(settings, space)
    try:
        await probed.check()
        by_vector = await probe.missed(probed, space.dimension)
        return by_vector, await probe.misranked(probed), probe.PROBES
    finally:
        await probed.close()
