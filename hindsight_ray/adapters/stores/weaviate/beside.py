"""A collection beside the one in use: of the next embedding model, or of the one before."""

from collections.abc import Sequence
from typing import Any

from weaviate.collections import CollectionAsync

from hindsight_ray.adapters.stores.weaviate import connection, schema
from hindsight_ray.adapters.stores.weaviate.paging import ref_of
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.ports import Vector


class WeaviateBeside(WeaviateStore):
    """`StoreBeside`: asked and emptied apart from what the ledger says of its space."""

    async def named(self, place: str, vector: Vector, limit: int) -> Sequence[MemoryRef]:
        """The objects of a place that are nearest, whatever the ledger says of them."""
        self._check_vector(vector)
        near, wanted = vector.tolist(), [schema.MEMORY, schema.REVISION]

        async def ask(there: CollectionAsync[Any, Any]) -> list[MemoryRef]:
            found = await there.query.near_vector(
                near_vector=near, limit=limit, return_properties=wanted
            )
            return [ref_of(one.properties) for one in found.objects]

        return await self._with_place(place, ask) or ()

    async def made(self) -> bool:
        """By a connection of its own: the store's makes the collection."""
        reached = await connection.connected(self._server)
        try:
            async with connection.bounded(self._server):
                name = schema.collection_name(self._space.model)
                return await reached.client.collections.exists(name)
        finally:
            await reached.close()

    async def end(self) -> None:
        """Delete the collection, unless another home has a place in it."""
        async with self._asked() as objects:
            if not await objects.tenants.get():
                collections = (await self._connected()).client.collections
                await collections.delete(schema.collection_name(self._space.model))
        self._known.clear()
