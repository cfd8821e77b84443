"""The collection of an embedding model: made if it is not there, refused if it is another's."""

import json

from weaviate import WeaviateAsyncClient
from weaviate.classes.config import Configure
from weaviate.exceptions import UnexpectedStatusCodeError

from hindsight_ray.adapters.stores.weaviate import schema
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.errors import HomeInvalid, SpaceMismatch


async def ensure_collection(client: WeaviateAsyncClient, space: EmbeddingSpace) -> None:
    """Raises `SpaceMismatch` for another dimension, `HomeInvalid` for what is none of ours."""
    name = schema.collection_name(space.model)
    if not await client.collections.exists(name):
        await _make_collection(client, name, space)
    config = await client.collections.use(name).config.get()
    try:
        says = json.loads(config.description or "")
        model, dimension = str(says["embedding_model"]), int(says["dimension"])
        layout = int(says["layout"])
    except (ValueError, KeyError, TypeError):
        raise HomeInvalid(
            f"`{name}` in the memory store is a collection of something else; remove it, or use"
            " another server",
            collection=name,
        ) from None
    if (model, dimension) != (space.model, space.dimension):
        raise SpaceMismatch(
            f"`embedding` {space.model!r} with {space.dimension} numbers is not what `{name}` in"
            f" the memory store holds: {model!r} with {dimension}",
            pinned_model=model,
            pinned_dimension=dimension,
        )
    tenancy = config.multi_tenancy_config
    if layout != schema.LAYOUT or not (tenancy.enabled and tenancy.auto_tenant_activation):
        raise HomeInvalid(
            f"`{name}` in the memory store has a layout that this release does not know",
            collection=name,
        )


async def _make_collection(client: WeaviateAsyncClient, name: str, space: EmbeddingSpace) -> None:
    try:
        await client.collections.create(
            name,
            description=schema.recorded(space),
            properties=schema.properties(),
            vector_config=schema.vector_config(),
            multi_tenancy_config=Configure.multi_tenancy(
                enabled=True, auto_tenant_creation=False, auto_tenant_activation=True
            ),
        )
    except UnexpectedStatusCodeError as error:
        if "already exists" not in str(error):  # somebody else was faster
            raise
