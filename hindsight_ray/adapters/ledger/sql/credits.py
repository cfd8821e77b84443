"""Credit that was found, as it was submitted, and which memories it names."""

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.schema import credit_memories, credit_records, micros
from hindsight_ray.domain.credit import Credited

_KEY = ("tenant", "group", "method", "by")


class SqlCredits:
    """`CreditLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def put(self, tenant: str, credited: Credited, *, owner: str = "") -> None:
        await self._work.do(_put, tenant, credited, owner or credited.by)

    async def of_run(self, tenant: str, run_id: str) -> Sequence[Credited]:
        return await self._work.do(_of_run, tenant, run_id)

    async def methods(self, tenant: str, group: str, *, owner: str) -> frozenset[str]:
        return await self._work.do(_methods, tenant, group, owner)

    async def of_memory(self, tenant: str, memory_id: str) -> Sequence[Credited]:
        return await self._work.do(_of_memory, tenant, memory_id)


def _put(connection: Connection, tenant: str, credited: Credited, owner: str) -> None:
    attribution = credited.attribution
    key = {
        "tenant": tenant,
        "group": credited.group,
        "method": attribution.method,
        "by": owner,
    }
    put = dialect.upsert(credit_records)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=list(_KEY),
            set_={name: put.excluded[name] for name in ("run_id", "at", "record")},
        ),
        {
            **key,
            "run_id": attribution.run_id,
            "at": micros(credited.at),
            "record": credited.model_dump_json(),
        },
    )
    connection.execute(
        delete(credit_memories).where(*(credit_memories.c[name] == key[name] for name in _KEY))
    )
    named = dict.fromkeys(
        credit.target.id
        for credit in (*attribution.credits, *attribution.beside)
        if credit.target.kind == "memory"
    )
    if named:
        connection.execute(
            credit_memories.insert(), [{**key, "memory_id": memory_id} for memory_id in named]
        )


def _of_run(connection: Connection, tenant: str, run_id: str) -> list[Credited]:
    found = connection.execute(
        select(credit_records.c.record)
        .where(credit_records.c.tenant == tenant, credit_records.c.run_id == run_id)
        .order_by(credit_records.c.at, credit_records.c.method, credit_records.c.by)
    ).scalars()
    return [Credited.model_validate_json(record) for record in found]


def _methods(connection: Connection, tenant: str, group: str, owner: str) -> frozenset[str]:
    key = {"tenant": tenant, "group": group, "by": owner}
    found = connection.execute(
        select(credit_records.c.method).where(
            *(credit_records.c[name] == value for name, value in key.items())
        )
    ).scalars()
    return frozenset(found)


def _of_memory(connection: Connection, tenant: str, memory_id: str) -> list[Credited]:
    same = (credit_records.c[name] == credit_memories.c[name] for name in _KEY)
    found = connection.execute(
        select(credit_records.c.record)
        .where(*same, credit_memories.c.tenant == tenant, credit_memories.c.memory_id == memory_id)
        .order_by(credit_records.c.at, credit_records.c.method, credit_records.c.by)
    ).scalars()
    return [Credited.model_validate_json(record) for record in found]
