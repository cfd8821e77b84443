"""What tenants have said of secrets and personal data, among the facts."""

from sqlalchemy import bindparam, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.schema import facts
from hindsight_ray.domain.privacy import Privacy

_PUT = dialect.upsert(facts)
_SET = _PUT.on_conflict_do_update(index_elements=["name"], set_={"value": _PUT.excluded.value})
_GET = select(facts.c.value).where(facts.c.name == bindparam("name"))


class SqlPrivacy:
    """`PrivacyLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def get(self, tenant: str) -> Privacy | None:
        return await self._work.do(_get, tenant)

    async def put(self, tenant: str, privacy: Privacy) -> None:
        await self._work.do(_put, tenant, privacy)


def _get(connection: Connection, tenant: str) -> Privacy | None:
    found = connection.execute(_GET, {"name": _name(tenant)}).scalar_one_or_none()
    return None if found is None else Privacy.model_validate_json(found)


def _put(connection: Connection, tenant: str, privacy: Privacy) -> None:
    connection.execute(_SET, {"name": _name(tenant), "value": privacy.model_dump_json()})


def _name(tenant: str) -> str:
    return f"privacy {tenant}"
