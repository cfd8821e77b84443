"""Does this server find an object as soon as it has acknowledged it? Asked in a place of our own.

One that indexes in the background (`ASYNC_INDEXING`) does not: it acknowledges first. The ledger
stands in for some seconds only, so such a server would make searches miss what is older.
"""

from datetime import UTC, datetime
from uuid import uuid4

import numpy as np

from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.ports import Placed, StoredObject, Vector

PROBES = 40


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
