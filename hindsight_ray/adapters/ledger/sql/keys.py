"""The catalogue of audiences under their keys, and the one embedding space of the home."""

import json
from collections.abc import Mapping
from types import MappingProxyType

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import audience_keys, facts
from hindsight_ray.core.audience import audience_key
from hindsight_ray.domain.rows import AudienceKey
from hindsight_ray.errors import SpaceMismatch

Catalogue = Mapping[AudienceKey, tuple[str, ...]]

_VERSION = Ready(
    select(func.coalesce(func.max(audience_keys.c.number), 0)).where(
        audience_keys.c.tenant == bindparam("tenant")
    )
)
_ALL = select(audience_keys.c.number, audience_keys.c.key, audience_keys.c.audience).where(
    audience_keys.c.tenant == bindparam("tenant")
)
_FACT = Ready(select(facts.c.value).where(facts.c.name == bindparam("name")))
_KNOWN = Ready(
    select(audience_keys.c.number).where(
        audience_keys.c.tenant == bindparam("tenant"), audience_keys.c.key == bindparam("key")
    )
)
_ADD = Ready(dialect.upsert(audience_keys).on_conflict_do_nothing(), ("tenant", "key", "audience"))
_SPACE = "embedding space"


class KnownKeys:
    """Catalogues by tenant as this process read them last. They only ever grow.

    The highest number of a catalogue names its content, since numbers are never given twice and
    commits come one after another; so one that was read from committed rows can be used again
    wherever that number is the highest.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, Catalogue]] = {}

    def get(self, tenant: str, version: int) -> Catalogue | None:
        kept = self._kept.get(tenant)
        return kept[1] if kept is not None and kept[0] == version else None

    def keep(self, tenant: str, version: int, catalogue: Catalogue) -> None:
        kept = self._kept.get(tenant)
        if kept is None or kept[0] < version:
            self._kept[tenant] = (version, catalogue)


class SqlKeys:
    """`AudienceKeys` over SQL."""

    def __init__(self, work: Work, known: KnownKeys) -> None:
        self._work = work
        self._known = known
        self._added = False

    async def version(self, tenant: str) -> int:
        return await self._work.brief(_version, tenant)

    async def all(self, tenant: str) -> Mapping[AudienceKey, tuple[str, ...]]:
        known = None if self._added else self._known
        return await self._work.brief(_all, tenant, known)

    async def ensure(self, tenant: str, audience: tuple[str, ...]) -> AudienceKey:
        self._added = True
        return await self._work.brief(_ensure, tenant, audience)


def _version(connection: Connection, tenant: str) -> int:
    found: int = _VERSION.value(connection, {"tenant": tenant})
    return found


def _all(connection: Connection, tenant: str, known: KnownKeys | None) -> Catalogue:
    version = _version(connection, tenant)
    kept = None if known is None else known.get(tenant, version)
    if kept is not None:
        return kept
    catalogue = MappingProxyType(
        {
            key: tuple(json.loads(audience))
            for _, key, audience in connection.execute(_ALL, {"tenant": tenant})
        }
    )
    if known is not None:
        known.keep(tenant, version, catalogue)
    return catalogue


def key_number_of(connection: Connection, tenant: str, key: AudienceKey) -> int | None:
    """The number of a key of the catalogue, None if it is not there."""
    number: int | None = _KNOWN.value(connection, {"tenant": tenant, "key": key})
    return number


def _ensure(connection: Connection, tenant: str, audience: tuple[str, ...]) -> AudienceKey:
    key = audience_key(audience)
    if key_number_of(connection, tenant, key) is None:
        named = {"tenant": tenant, "key": key}
        _ADD.run(connection, named | {"audience": json.dumps(sorted(set(audience)))})
    return key


class SqlSpaces:
    """`EmbeddingSpaces` over SQL: which model's vectors this home holds."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def pinned(self) -> tuple[str, int] | None:
        return await self._work.brief(pinned_space)

    async def pin(self, model: str, dimension: int) -> None:
        await self._work.do(pin_space, model, dimension)


def pinned_space(connection: Connection) -> tuple[str, int] | None:
    """(model, dimension), or None in a home that holds no vector yet."""
    value = _FACT.value(connection, {"name": _SPACE})
    if value is None:
        return None
    model, dimension = json.loads(value)
    return model, dimension


def pin_space(connection: Connection, model: str, dimension: int) -> None:
    """Pin the home to this space, or raise `SpaceMismatch` if it is pinned to another."""
    pinned = pinned_space(connection)
    if pinned is None:
        value = json.dumps([model, dimension])
        connection.execute(facts.insert(), {"name": _SPACE, "value": value})
    elif pinned != (model, dimension):
        raise SpaceMismatch(
            f"`embedding` {model!r} with {dimension} numbers is not what this home is pinned to:"
            f" {pinned[0]!r} with {pinned[1]}; use that model, or another home",
            pinned_model=pinned[0],
            pinned_dimension=pinned[1],
        )


def move_space(connection: Connection, model: str, dimension: int) -> None:
    """Pin the home to another space, whose vectors have taken the place of those before."""
    if pinned_space(connection) is None:
        pin_space(connection, model, dimension)
        return
    value = json.dumps([model, dimension])
    connection.execute(update(facts).where(facts.c.name == _SPACE).values(value=value))
