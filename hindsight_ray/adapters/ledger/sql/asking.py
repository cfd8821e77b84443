"""What is kept of asking models: spending, answers to go on from, reviews that failed."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.schema import (
    failed_reviews,
    micros,
    model_calls,
    review_answers,
)
from hindsight_ray.domain.chat import FailedReview, Spent


class SqlAsking:
    """`AskingLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def reserve(
        self, tenant: str, call_id: str, *, run_id: str, prompt: str, at: datetime, most: Spent
    ) -> None:
        row = {
            "tenant": tenant, "call_id": call_id, "run_id": run_id, "prompt": prompt, "model": "",
            "at": micros(at), **most.model_dump(),
        }  # fmt: skip
        await self._work.do(_reserve, row)

    async def settle(self, tenant: str, call_id: str, *, model: str, spent: Spent) -> None:
        await self._work.do(_settle, tenant, call_id, {"model": model, **spent.model_dump()})

    async def spent(
        self, tenant: str, *, run_id: str | None = None, since: datetime | None = None
    ) -> Spent:
        return await self._work.do(_spent, tenant, run_id, since)

    async def answer(self, tenant: str, run_id: str, name: str) -> str | None:
        return await self._work.do(_answer, tenant, run_id, name)

    async def keep_answer(
        self, tenant: str, run_id: str, name: str, answer: str, at: datetime
    ) -> str:
        row = {"tenant": tenant, "run_id": run_id, "name": name, "at": micros(at), "record": answer}
        await self._work.do(_keep_answer, row)
        return await self._work.do(_answer, tenant, run_id, name) or answer

    async def failed(
        self, tenant: str, *, run_id: str | None = None, limit: int
    ) -> Sequence[FailedReview]:
        return await self._work.do(_failed, tenant, run_id, limit)

    async def put_failed(self, tenant: str, failed: FailedReview) -> None:
        await self._work.do(_put_failed, tenant, failed)

    async def mended(self, tenant: str, run_id: str, digest: str) -> None:
        await self._work.do(_mended, tenant, run_id, digest)


def _reserve(connection: Connection, row: Mapping[str, object]) -> None:
    connection.execute(model_calls.insert(), row)


def _settle(
    connection: Connection, tenant: str, call_id: str, values: Mapping[str, object]
) -> None:
    mine = (model_calls.c.tenant == tenant, model_calls.c.call_id == call_id)
    connection.execute(update(model_calls).where(*mine).values(dict(values)))


def _spent(
    connection: Connection, tenant: str, run_id: str | None, since: datetime | None
) -> Spent:
    names = ("calls", "tokens_in", "tokens_out", "tokens_cached", "cost_usd")
    asked = select(*(func.coalesce(func.sum(model_calls.c[name]), 0) for name in names))
    asked = asked.where(model_calls.c.tenant == tenant)
    if run_id is not None:
        asked = asked.where(model_calls.c.run_id == run_id)
    if since is not None:
        asked = asked.where(model_calls.c.at >= micros(since))
    found = connection.execute(asked).one()
    return Spent.model_validate(dict(zip(names, found, strict=True)))


def _answer(connection: Connection, tenant: str, run_id: str, name: str) -> str | None:
    table = review_answers.c
    mine = (table.tenant == tenant, table.run_id == run_id, table.name == name)
    return connection.execute(select(table.record).where(*mine)).scalar_one_or_none()


def _keep_answer(connection: Connection, row: Mapping[str, object]) -> None:
    put = dialect.upsert(review_answers)
    keys = ["tenant", "run_id", "name"]
    connection.execute(put.on_conflict_do_nothing(index_elements=keys), dict(row))


def _failed(
    connection: Connection, tenant: str, run_id: str | None, limit: int
) -> list[FailedReview]:
    table = failed_reviews.c
    asked = select(table.record).where(table.tenant == tenant)
    if run_id is not None:
        asked = asked.where(table.run_id == run_id)
    found = connection.execute(asked.order_by(table["at"], table.run_id, table.digest).limit(limit))
    return [FailedReview.model_validate_json(record) for record in found.scalars()]


def _put_failed(connection: Connection, tenant: str, failed: FailedReview) -> None:
    table = failed_reviews.c
    mine = (
        table.tenant == tenant,
        table.run_id == failed.run_id,
        table.digest == failed.digest,
    )
    before = connection.execute(select(table.record).where(*mine)).scalar_one_or_none()
    if before is not None:
        attempts = FailedReview.model_validate_json(before).attempts + 1
        failed = failed.model_copy(update={"attempts": attempts})
        connection.execute(delete(failed_reviews).where(*mine))
    connection.execute(
        failed_reviews.insert(),
        {
            "tenant": tenant,
            "run_id": failed.run_id,
            "digest": failed.digest,
            "at": micros(failed.at),
            "record": failed.model_dump_json(),
        },
    )


def _mended(connection: Connection, tenant: str, run_id: str, digest: str) -> None:
    table = failed_reviews.c
    mine = (table.tenant == tenant, table.run_id == run_id, table.digest == digest)
    connection.execute(delete(failed_reviews).where(*mine))
