"""Digests and derived ids: the same input always gives the same name, and no two collide."""

import hashlib
import json
import unicodedata
import uuid
from typing import Any

from pydantic import BaseModel

from hindsight_ray.domain.ids import MemoryUuid

_NAMESPACE = uuid.UUID("5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a71")  # ours, drawn once


def digest(value: Any) -> str:
    """SHA-256, 64 hex digits, of a value's canonical JSON: keys sorted, no spaces, NFC text."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(_encoded(text)).hexdigest()


def goal_digest(goal: str) -> str:
    """Digest of a goal apart from case and spacing: equal goals make runs comparable."""
    return digest(" ".join(goal.casefold().split()))


def derived_uuid(*parts: str | int) -> str:
    """UUIDv5 over length-prefixed parts, so that no two different lists give one id."""
    name = "".join(f"{len(text)}:{text}" for text in map(str, parts))
    return str(uuid.uuid5(_NAMESPACE, name))


def memory_uuid(tenant: str, principal: str, verb: str, command: str, part: int = 0) -> MemoryUuid:
    """A memory's id: nobody's command can touch another principal's record."""
    return MemoryUuid(derived_uuid("memory", tenant, principal, verb, command, part))


def _encoded(text: str) -> bytes:
    return unicodedata.normalize("NFC", text).encode("utf-8", errors="surrogatepass")
