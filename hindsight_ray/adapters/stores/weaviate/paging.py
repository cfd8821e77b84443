"""Which objects a place holds, told whole or a page at a time."""

from collections.abc import Mapping
from typing import Any

from weaviate.collections import CollectionAsync

from hindsight_ray.adapters.stores.weaviate import schema
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid

_NAMES = [schema.MEMORY, schema.REVISION]


async def refs(
    there: CollectionAsync[Any, Any], after: MemoryRef | None, limit: int | None
) -> list[MemoryRef]:
    """At most `limit` of the objects, in the order of their own ids, those behind `after`."""
    start = None if after is None else schema.object_id(after)
    if limit is None:
        every = there.iterator(return_properties=_NAMES, after=start)
        return [ref_of(found.properties) async for found in every]
    page = await there.query.fetch_objects(limit=limit, after=start, return_properties=_NAMES)
    return [ref_of(found.properties) for found in page.objects]


def ref_of(properties: Mapping[str, Any]) -> MemoryRef:
    """Which memory, at which revision, an object is of."""
    return MemoryRef(
        id=MemoryUuid(str(properties[schema.MEMORY])), revision=int(properties[schema.REVISION])
    )
