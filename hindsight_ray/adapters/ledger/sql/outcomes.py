"""What is kept of a run beside its events: outcomes, reviews, working state, session windows."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.schema import (
    micros,
    outcomes,
    reviews,
    window_lines,
    working_states,
)
from hindsight_ray.domain.review import Review
from hindsight_ray.domain.run import Outcome, WorkingState


class SqlOutcomes:
    """`OutcomeLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def put(self, tenant: str, outcome: Outcome, *, owner: str = "") -> None:
        await self._work.do(_put_outcome, tenant, outcome, owner or outcome.by)

    async def of_run(self, tenant: str, run_id: str) -> Sequence[Outcome]:
        return await self._work.do(_outcomes, tenant, run_id)


def _put_outcome(connection: Connection, tenant: str, outcome: Outcome, owner: str) -> None:
    put = dialect.upsert(outcomes)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=["tenant", "run_id", "by"],
            set_={"at": put.excluded["at"], "record": put.excluded.record},
        ),
        {
            "tenant": tenant,
            "run_id": outcome.run_id,
            "by": owner,
            "at": micros(outcome.at),
            "record": outcome.model_dump_json(),
        },
    )


def _outcomes(connection: Connection, tenant: str, run_id: str) -> list[Outcome]:
    found = connection.execute(
        select(outcomes.c.record)
        .where(outcomes.c.tenant == tenant, outcomes.c.run_id == run_id)
        .order_by(outcomes.c.at, outcomes.c.by)
    ).scalars()
    return [Outcome.model_validate_json(record) for record in found]


class SqlReviews:
    """`ReviewLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def get(self, tenant: str, run_id: str, digest: str) -> Review | None:
        return await self._work.do(_review, tenant, run_id, digest)

    async def put(self, tenant: str, digest: str, review: Review, at: datetime) -> None:
        await self._work.do(_put_review, tenant, digest, review, at)

    async def of_run(self, tenant: str, run_id: str) -> Sequence[Review]:
        return await self._work.do(_reviews, tenant, run_id)


def _review(connection: Connection, tenant: str, run_id: str, digest: str) -> Review | None:
    record = connection.execute(
        select(reviews.c.record)
        .where(reviews.c.tenant == tenant, reviews.c.run_id == run_id, reviews.c.digest == digest)
        .order_by(reviews.c.at.desc(), reviews.c.kind)
        .limit(1)
    ).scalar_one_or_none()
    return None if record is None else Review.model_validate_json(record)


def _put_review(
    connection: Connection, tenant: str, digest: str, review: Review, at: datetime
) -> None:
    put = dialect.upsert(reviews)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=["tenant", "run_id", "kind", "digest"],
            set_={"at": put.excluded["at"], "record": put.excluded.record},
        ),
        {
            "tenant": tenant,
            "run_id": review.run_id,
            "kind": review.kind,
            "digest": digest,
            "at": micros(at),
            "record": review.model_dump_json(),
        },
    )


def _reviews(connection: Connection, tenant: str, run_id: str) -> list[Review]:
    found = connection.execute(
        select(reviews.c.record)
        .where(reviews.c.tenant == tenant, reviews.c.run_id == run_id)
        .order_by(reviews.c.at, reviews.c.kind, reviews.c.digest)
    ).scalars()
    return [Review.model_validate_json(record) for record in found]


class SqlLayers:
    """`LayerLog` over SQL."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def working(self, tenant: str, run_id: str, agent: str) -> WorkingState | None:
        return await self._work.do(_working, tenant, run_id, agent)

    async def set_working(self, tenant: str, run_id: str, agent: str, state: WorkingState) -> None:
        await self._work.do(_set_working, tenant, run_id, agent, state)

    async def drop_working(self, tenant: str, run_id: str) -> None:
        await self._work.do(_drop_working, tenant, run_id)

    async def window(self, tenant: str, principal: str, session: str) -> Sequence[str]:
        return await self._work.do(_window, tenant, principal, session)

    async def add_to_window(
        self, tenant: str, principal: str, session: str, line: str, *, keep: int
    ) -> None:
        await self._work.do(_add_to_window, tenant, principal, session, line, keep=keep)

    async def fold_window(
        self, tenant: str, principal: str, session: str, lines: Sequence[str], summary: str
    ) -> bool:
        return await self._work.do(_fold_window, (tenant, principal, session), lines, summary)


def _working(connection: Connection, tenant: str, run_id: str, agent: str) -> WorkingState | None:
    record = connection.execute(
        select(working_states.c.record).where(
            working_states.c.tenant == tenant,
            working_states.c.run_id == run_id,
            working_states.c.agent == agent,
        )
    ).scalar_one_or_none()
    return None if record is None else WorkingState.model_validate_json(record)


def _set_working(
    connection: Connection, tenant: str, run_id: str, agent: str, state: WorkingState
) -> None:
    put = dialect.upsert(working_states)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=["tenant", "run_id", "agent"], set_={"record": put.excluded.record}
        ),
        {"tenant": tenant, "run_id": run_id, "agent": agent, "record": state.model_dump_json()},
    )


def _drop_working(connection: Connection, tenant: str, run_id: str) -> None:
    connection.execute(
        delete(working_states).where(
            working_states.c.tenant == tenant, working_states.c.run_id == run_id
        )
    )


def _window(connection: Connection, tenant: str, principal: str, session: str) -> list[str]:
    return list(
        connection.execute(
            select(window_lines.c.line)
            .where(
                window_lines.c.tenant == tenant,
                window_lines.c.principal == principal,
                window_lines.c.session == session,
            )
            .order_by(window_lines.c.number)
        ).scalars()
    )


def _add_to_window(
    connection: Connection, tenant: str, principal: str, session: str, line: str, *, keep: int
) -> None:
    mine = (
        window_lines.c.tenant == tenant,
        window_lines.c.principal == principal,
        window_lines.c.session == session,
    )
    connection.execute(
        window_lines.insert(),
        {"tenant": tenant, "principal": principal, "session": session, "line": line},
    )
    last_dropped = (
        select(window_lines.c.number)
        .where(*mine)
        .order_by(window_lines.c.number.desc())
        .offset(keep)
        .limit(1)
        .scalar_subquery()
    )
    connection.execute(delete(window_lines).where(*mine, window_lines.c.number <= last_dropped))


def _fold_window(
    connection: Connection, whose: tuple[str, str, str], lines: Sequence[str], summary: str
) -> bool:
    tenant, principal, session = whose
    mine = (
        window_lines.c.tenant == tenant,
        window_lines.c.principal == principal,
        window_lines.c.session == session,
    )
    oldest = connection.execute(
        select(window_lines.c.number, window_lines.c.line)
        .where(*mine)
        .order_by(window_lines.c.number)
        .limit(len(lines))
    ).all()
    if not lines or [row.line for row in oldest] != list(lines):
        return False
    last = oldest[-1].number
    connection.execute(delete(window_lines).where(*mine, window_lines.c.number < last))
    connection.execute(
        update(window_lines).where(window_lines.c.number == last).values(line=summary)
    )
    return True
