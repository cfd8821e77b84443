"""Records for tests: valid ones, of which a test names only what it is about."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import numpy as np

from hindsight_ray.core.audience import filed_audience
from hindsight_ray.core.keywords import terms
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.memory import Memory, Source
from hindsight_ray.domain.rows import AuditEntry, RowFilter
from hindsight_ray.domain.run import Run
from hindsight_ray.ports import Unit, Vector
from tests.worlds import START, TENANT


def name_of(text: str) -> str:
    """A UUID that stands for a word, so that tests can speak of memory `a`."""
    return str(uuid5(NAMESPACE_OID, text))


def memory_of(word: str, *, scope: str = "global", **fields: Any) -> Memory:
    """A memory known as `word`; its audience is its scope unless another is given."""
    given = {
        "id": name_of(word),
        "revision": 1,
        "tenant": TENANT,
        "scope": scope,
        "audience": (scope,),
        "content": word,
        "type": "fact",
        "created_at": START,
        "updated_at": START,
        "source": Source(kind="user", weight=1.0, user="alice"),
        "embedding_model": "four",
    }
    return Memory.model_validate(given | fields)


def vector_of(*numbers: float) -> Vector:
    """Four numbers, zeros after those that are given."""
    return np.array([*numbers, 0.0, 0.0, 0.0, 0.0][:4], dtype=np.float32)


async def put(unit: Unit, memory: Memory, vector: Vector | None = None) -> int:
    """Put a memory with its key and terms, as a service does."""
    key = await unit.keys.ensure(memory.tenant, filed_audience(memory))
    return await unit.memories.put(
        memory,
        vector_of(1.0) if vector is None else vector,
        key=key,
        terms=terms(memory.content),
        by="agent:writer",
        why="told so",
    )


def rows(*, now: datetime = START, **fields: Any) -> RowFilter:
    """A filter of one who reads every scope, narrowed by what is given."""
    return RowFilter(**({"tenant": TENANT, "now": now, "keys": None} | fields))


def run_of(word: str, **fields: Any) -> Run:
    given = {
        "run_id": name_of(word),
        "tenant": TENANT,
        "scope": "user:alice",
        "audience": ("user:alice",),
        "goal": word,
        "task_type": "task",
        "goal_digest": word,
        "started_at": START,
    }
    return Run.model_validate(given | fields)


def event_of(run: str, seq: int, **fields: Any) -> Event:
    given = {
        "event_id": name_of(f"{run}/{fields.get('agent', 'planner')}/{seq}"),
        "run_id": name_of(run),
        "agent": "planner",
        "incarnation": "1",
        "seq": seq,
        "timestamp": START,
        "kind": "decision",
        "summary": f"step {seq}",
    }
    return Event.model_validate(given | fields)


def words(memories: Sequence[Memory]) -> list[str]:
    return [memory.content for memory in memories]


def audit_of(verb: str, tenant: str = TENANT) -> AuditEntry:
    """An entry of the audit."""
    return AuditEntry(
        tenant=tenant, at=START, principal="agent:a", verb=verb, object="global", effect="deny",
        rule="", revision=3, digest="d",
    )  # fmt: skip


class Stop(Exception):
    """What a test leaves a unit by."""
