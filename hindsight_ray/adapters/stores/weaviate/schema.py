"""What a collection looks like: its name, what it records of itself, objects, and filters on them.

Everything that a filter looks at is a property of its own with FIELD tokenisation, so that a value
matches whole or not at all. Texts stay in the ledger. An object's id follows from its memory and
revision, so whoever puts it twice puts it once.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid5

from weaviate.classes.config import (
    Configure,
    DataType,
    Property,
    Tokenization,
    VectorDistances,
)
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter
from weaviate.collections.classes.filters import FilterReturn

from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import EmbeddingSpace, RowFilter
from hindsight_ray.ports import StoredObject

LAYOUT = 2
KEYS_MAX = 1_000  # audience keys in one query; more go in several, whose answers are merged
MEMORY, REVISION = "memory", "revision"
_NEVER, _ONCE = "never", "once"  # whether an object ends: few do, and a range costs by its objects
_LAST = 2**53 - 1  # whole numbers travel as doubles; the year 2255, beyond every real time
_NAME_MAX = 200
_WORDS = (MEMORY, "key", "scope", "status", "type", "layer", "task_type", "ends")
_NUMBERS = ("created_at", "expires_at")


def collection_name(model: str) -> str:
    """The model's own collection: different models never share one.

    Letters and digits stay, every other character is written as its code; what is too long for a
    name is a digest, told apart by its prefix.
    """
    spelled = re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found.group()):x}_", model)
    if len(spelled) <= _NAME_MAX:
        return f"HindsightOf_{spelled}"
    return f"HindsightBy_{sha256(model.encode()).hexdigest()}"


def recorded(space: EmbeddingSpace) -> str:
    """What the collection says of itself, kept as its description."""
    return json.dumps(
        {"embedding_model": space.model, "dimension": space.dimension, "layout": LAYOUT}
    )


def properties() -> list[Property]:
    """The explicit schema: the server is never to guess one."""
    words = [_word(name, DataType.TEXT) for name in _WORDS]
    numbers = [
        Property(
            name=name,
            data_type=DataType.INT,
            index_filterable=False,
            index_range_filters=True,
        )
        for name in _NUMBERS
    ]
    revision = Property(name=REVISION, data_type=DataType.INT, index_filterable=False)
    return [*words, _word("labels", DataType.TEXT_ARRAY), *numbers, revision]


def vector_config() -> Any:
    """Vectors are ours; HNSW by cosine, which takes up a vector before it answers."""
    return Configure.Vectors.self_provided(
        vector_index_config=Configure.VectorIndex.hnsw(distance_metric=VectorDistances.COSINE)
    )


def object_id(ref: MemoryRef) -> UUID:
    return uuid5(UUID(ref.id), str(ref.revision))


def data_object(stored: StoredObject) -> DataObject[dict[str, Any], None]:
    ref = stored.placed.ref
    ends = {} if stored.expires_at is None else {"expires_at": _micros(stored.expires_at)}
    return DataObject(
        uuid=object_id(ref),
        vector=stored.vector.tolist(),
        properties={
            MEMORY: ref.id,
            REVISION: ref.revision,
            "key": stored.key,
            "scope": stored.scope,
            "status": stored.status,
            "type": stored.type,
            "layer": stored.layer,
            "task_type": _task_type(stored.task_type),
            "labels": list(stored.labels),
            "created_at": _micros(stored.created_at),
            "ends": _ONCE if ends else _NEVER,
            **ends,
        },
    )


def filters(row_filter: RowFilter) -> Iterator[FilterReturn]:
    """The filter, in as many as its keys need; a row passes exactly one of them or none."""
    common = _common(row_filter)
    if row_filter.keys is None:
        yield Filter.all_of(common)
        return
    keys = sorted(row_filter.keys)
    for start in range(0, len(keys), KEYS_MAX):
        yield Filter.all_of([_among("key", keys[start : start + KEYS_MAX]), *common])


def _common(row_filter: RowFilter) -> list[FilterReturn]:
    """What holds for all of them. Empty sets are answered before: the server refuses those."""
    still = Filter.by_property("expires_at").greater_than(_micros(row_filter.now))
    parts: list[FilterReturn] = [
        _among("status", sorted(row_filter.statuses)),
        Filter.any_of([_among("ends", [_NEVER]), still]),
    ]
    for name, allowed in (
        ("scope", row_filter.scopes),
        ("type", row_filter.types),
        ("layer", row_filter.layers),
    ):
        if allowed is not None:
            parts.append(_among(name, sorted(allowed)))
    if row_filter.denied_labels:
        denied = sorted(row_filter.denied_labels)
        parts.append(Filter.by_property("labels").contains_none(denied))
    if row_filter.task_type is not None:
        parts.append(_among("task_type", [_task_type(None), _task_type(row_filter.task_type)]))
    if row_filter.since is not None:
        created = Filter.by_property("created_at")
        parts.append(created.greater_or_equal(_micros(row_filter.since)))
    if row_filter.until is not None:
        parts.append(Filter.by_property("created_at").less_than(_micros(row_filter.until)))
    return parts


def _among(name: str, values: Sequence[str]) -> FilterReturn:
    """One value is asked for by itself: the server is quicker with it than with a set of one."""
    if len(values) == 1:
        return Filter.by_property(name).equal(values[0])
    return Filter.by_property(name).contains_any(list(values))


def _word(name: str, kind: DataType) -> Property:
    return Property(
        name=name,
        data_type=kind,
        tokenization=Tokenization.FIELD,
        index_filterable=True,
        index_searchable=False,
    )


def _task_type(text: str | None) -> str:
    """A free text, marked at both ends: FIELD drops spaces there, and an empty one is none."""
    return "-" if text is None else f"={text}="


def _micros(moment: datetime) -> int:
    return min(int(moment.timestamp() * 1_000_000), _LAST)
