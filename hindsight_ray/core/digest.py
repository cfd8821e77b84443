"""Digests and derived ids: the same input always gives the same name, and no two collide."""

import hashlib
import json
import unicodedata
import uuid
from typing import Any, cast

from pydantic import BaseModel

from hindsight_ray.domain.ids import MemoryUuid

_NAMESPACE = uuid.UUID("5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a71")  # ours, drawn once
_NODES_MAX = 2_000
_CHARACTERS_MAX = 65_536
_DEPTH_MAX = 64
_INTEGER_BITS_MAX = 4_096  # Python refuses to write longer ones in decimal by default
_SMALL, _SMALL_CHARACTERS, _SMALL_INTEGER = 50, 1_000, 10**18
_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False
)


def digest(value: Any) -> str:
    """SHA-256, 64 hex digits, of a value's canonical JSON: keys sorted, no spaces, NFC text."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(_encoded(text)).hexdigest()


def bounded_canonical(value: Any) -> tuple[str, bool]:
    """Return the canonical JSON of any value with bounded work, and whether parts were left out.

    Equal to what `digest` hashes wherever nothing is left out: at most 2,000 nodes, 64 levels and
    65,536 characters are looked at. Objects that JSON does not know count by their `str`.
    """
    if isinstance(value, str) and len(value) <= _CHARACTERS_MAX:
        return _CANONICAL.encode(value), False
    if type(value) is dict and _is_small(cast("dict[object, object]", value)):
        return _CANONICAL.encode(value), False  # no need to copy what most calls are given
    budget = _Budget()
    fitted = budget.fit(value, 0)
    return _CANONICAL.encode(fitted), budget.cut


def bounded_digest(text: str, cut: bool) -> str:
    """Digest of what `bounded_canonical` gave; one of a part only starts with `~`."""
    value = hashlib.sha256(_encoded(text)).hexdigest()
    return "~" + value if cut else value


def _is_small(value: dict[object, object]) -> bool:
    """Whether nothing in it can be beyond any limit, looked at without going into it."""
    if len(value) > _SMALL:
        return False
    for key, one in value.items():
        if not isinstance(key, str) or len(key) > _SMALL:
            return False
        if isinstance(one, str):
            if len(one) > _SMALL_CHARACTERS:
                return False
        elif isinstance(one, int):
            if not -_SMALL_INTEGER < one < _SMALL_INTEGER:
                return False
        elif one is not None:
            return False
    return True


class _Budget:
    """Copies a value as far as its budget of nodes and characters reaches."""

    def __init__(self) -> None:
        self.cut = False
        self._nodes = _NODES_MAX
        self._characters = _CHARACTERS_MAX

    def fit(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return value if value.bit_length() <= _INTEGER_BITS_MAX else self._huge(value)
        if isinstance(value, dict):
            return self._mapping(cast("dict[Any, Any]", value), depth)
        if isinstance(value, list | tuple):
            return self._sequence(cast("list[Any] | tuple[Any, ...]", value), depth)
        if isinstance(value, BaseModel):
            return self.fit(value.model_dump(mode="json"), depth + 1)
        if isinstance(value, bytes | bytearray):
            return self._text(repr(bytes(value[:_CHARACTERS_MAX]))) + self._size(len(value))
        return self._text(str(value))

    def _text(self, text: str) -> str:
        room = max(self._characters, 0)
        self._characters -= len(text)
        return text if len(text) <= room else text[:room] + self._size(len(text), cut=True)

    def _mapping(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        fitted: dict[str, Any] = {}
        for key, item in value.items():
            if self._spent(depth):
                fitted["…"] = len(value)
                break
            fitted[self._text(key if isinstance(key, str) else str(key))] = self.fit(
                item, depth + 1
            )
        return fitted

    def _sequence(self, value: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
        fitted: list[Any] = []
        for item in value:
            if self._spent(depth):
                fitted.append(self._size(len(value)))
                break
            fitted.append(self.fit(item, depth + 1))
        return fitted

    def _spent(self, depth: int) -> bool:
        self._nodes -= 1
        if self._nodes < 0 or self._characters < 0 or depth >= _DEPTH_MAX:
            self.cut = True
            return True
        return False

    def _huge(self, value: int) -> str:
        self.cut = True
        return f"integer of {value.bit_length()} bits"

    def _size(self, length: int, *, cut: bool = False) -> str:
        self.cut = self.cut or cut or length > _CHARACTERS_MAX
        return f"… {length}"


def goal_digest(goal: str) -> str:
    """Digest of a goal apart from case and spacing: equal goals make runs comparable."""
    return digest(" ".join(goal.casefold().split()))


def derived_uuid(*parts: str | int) -> str:
    """UUIDv5 over length-prefixed parts, so that no two different lists give one id."""
    name = "".join(f"{len(text)}:{text}" for text in map(str, parts))
    return str(uuid.uuid5(_NAMESPACE, name))


def memory_uuid(tenant: str, owner: str, verb: str, command: str, part: int = 0) -> MemoryUuid:
    """A memory's id: nobody's command can touch another owner's record."""
    return MemoryUuid(derived_uuid("memory", tenant, owner, verb, command, part))


def _encoded(text: str) -> bytes:
    return unicodedata.normalize("NFC", text).encode("utf-8", errors="surrogatepass")
