"""Vectors, and what is told to a memory store that keeps them outside the ledger's database."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import AudienceKey

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Placed:
    """One revision of one memory in its tenant's place: what a store knows an object by."""

    place: str  # the tenant's name in the store: random, and another when a tenant is made anew
    ref: MemoryRef


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A memory at one revision as a store searches it: what filters look at, and its vector."""

    placed: Placed
    key: AudienceKey
    scope: str
    status: str
    type: str
    layer: str
    task_type: str | None
    labels: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    vector: Vector
    model: str | None = None  # whose vector it is; a store of another space refuses it


@dataclass(frozen=True, slots=True)
class Intent:
    """What was committed in the ledger and has still to be told to the store.

    `at` is when somebody last had it in hand. `put` is the object to put, None where there is none
    (any more): a memory that was forgotten, or has moved on. What is no longer searched, `gone`, is
    deleted then.
    """

    number: int
    tenant: str
    at: datetime
    attempts: int
    placed: Placed
    put: StoredObject | None
    gone: tuple[Placed, ...]
