"""Does this server find an object as soon as it has acknowledged it? Asked in a place of our own.

One that indexes in the background (`ASYNC_INDEXING`) does not: it acknowledges first. The ledger
stands in for some seconds only, so such a server would make searches miss what is older. And one
may find by vector, yet rank words wrongly until it has written them to its disk; that is nothing to
us, whose postings are the ledger's, but worth knowing to whoever uses the server for more.
"""

from datetime import UTC, datetime
from uuid import uuid4

import numpy as np
from weaviate.classes.config import Configure, DataType, Property
from weaviate.classes.data import DataObject

from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.ports import Placed, StoredObject, Vector

PROBES = 40
_COMMON = [f"word{number}" for number in range(60)]


async def missed(store: WeaviateStore, dimension: int) -> int:
    """How many of `PROBES` objects were not found by their own vectors right after their put."""
    place = f"probe{uuid4().hex}"
    now = datetime.now(UTC)
    vectors = np.random.default_rng(0).normal(size=(PROBES, dimension)).astype(np.float32)
    rows = RowFilter(tenant=place, now=now, keys=None, statuses=frozenset({"active"}))
    misses = 0
    try:
        for vector in vectors:
            name = str(uuid4())
            await store.put([_object(place, name, vector, now)])
            found = await store.candidates(place, rows, vector, 1)
            misses += found is None or name not in found[0]
    finally:
        await store.leave(place)
    return misses


async def misranked(store: WeaviateStore) -> int:
    """How many of `PROBES` objects were not the first that a word of their own alone found."""
    name = f"HindsightProbe{uuid4().hex}"
    collections = await store.collections()
    drawn = np.random.default_rng(0).choice(_COMMON, size=(PROBES, 5, 8))
    misses = 0
    try:
        await collections.create(
            name,
            properties=[Property(name="text", data_type=DataType.TEXT, index_searchable=True)],
            vector_config=Configure.Vectors.self_provided(),
        )
        objects = collections.use(name)
        for number in range(PROBES):
            own = f"own{number}"
            texts = [" ".join(words) for words in drawn[number].tolist()]
            texts[0] = f"{texts[0]} {own}"
            await objects.data.insert_many(
                [DataObject(properties={"text": text}, vector=[1.0, 0.0]) for text in texts]
            )
            asked = " ".join([*_COMMON[:3], own])
            found = await objects.query.bm25(asked, query_properties=["text"], limit=1)
            misses += not any(own in str(one.properties["text"]).split() for one in found.objects)
    finally:
        await collections.delete(name)
    return misses


def _object(place: str, name: str, vector: Vector, now: datetime) -> StoredObject:
    return StoredObject(
        placed=Placed(place, MemoryRef(id=MemoryUuid(name), revision=1)),
        key="probe",
        scope="global",
        status="active",
        type="fact",
        layer="semantic",
        task_type=None,
        labels=(),
        created_at=now,
        expires_at=None,
        vector=vector,
    )
