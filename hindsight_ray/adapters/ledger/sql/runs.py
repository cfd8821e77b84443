"""Runs, who takes part in them, their events, and what an agent was offered in one."""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache, partial
from hashlib import sha256

from sqlalchemy import and_, bindparam, func, or_, select, update
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import appending, asked, dialect, entries, series
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import (
    annotations,
    events,
    micros,
    micros_or_none,
    offered,
    runs,
)
from hindsight_ray.adapters.ledger.sql.series import KnownSeries
from hindsight_ray.domain.event import Event, MemoryRef, SequenceGap
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import Offered
from hindsight_ray.domain.run import Annotation, Run
from hindsight_ray.errors import NotFound
from hindsight_ray.ports import Appended, Batch

_RUNS_PARSED = 1_024
_READ_AT_ONCE = 500
_AUDIENCE = '"audience":'
_JSON = json.JSONDecoder()

_RUN = and_(runs.c.tenant == bindparam("tenant"), runs.c.run_id == bindparam("run_id"))
_GET = Ready(select(runs.c.number, runs.c.record).where(_RUN))
_OF_ASKED = and_(runs.c.tenant == asked.text(1), runs.c.run_id == asked.text(2))
_GET_ALL = Ready(
    select(
        select(runs.c.number).where(_OF_ASKED).scalar_subquery(),
        select(runs.c.record).where(_OF_ASKED).scalar_subquery(),
    )
    .select_from(asked.ASKED)
    .order_by(asked.number(0))
)
_EVENTS = Ready(
    select(events.c.record)
    .join(runs, runs.c.number == events.c.run)
    .where(_RUN)
    .order_by(events.c.at, events.c.agent, events.c.incarnation, events.c.seq)
)
_COUNT = Ready(
    select(func.count()).select_from(events.join(runs, runs.c.number == events.c.run)).where(_RUN)
)


# A run's record is read with every batch of its events, and in a large team it is long.
@lru_cache(maxsize=_RUNS_PARSED)
def _run(record: str) -> Run:
    return Run.model_validate_json(record)


class SqlRuns:
    """`RunLog` over SQL."""

    def __init__(self, work: Work, known: KnownSeries) -> None:
        self._work = work
        self._known = known
        self._numbers: dict[tuple[str, str], int] = {}  # of runs that were got in this transaction

    async def create(self, run: Run) -> None:
        self._numbers.pop((run.tenant, run.run_id), None)  # one of a step that was undone
        await self._work.do(_create, run)

    async def get(self, tenant: str, run_id: str) -> Run | None:
        found = await self._work.brief(_get, tenant, run_id)
        if found is None:
            self._numbers.pop((tenant, run_id), None)
            return None
        self._numbers[(tenant, run_id)] = found[0]
        return found[1]

    async def get_all(self, runs: Sequence[tuple[str, str]]) -> Sequence[Run | None]:
        found = await self._work.brief(_get_all, runs)
        self._numbers.update(
            (name, row[0]) for name, row in zip(runs, found, strict=True) if row is not None
        )
        return [None if row is None else row[1] for row in found]

    async def replace(self, run: Run) -> None:
        await self._work.do(_replace, run)

    async def newest(
        self,
        tenant: str,
        *,
        limit: int,
        before: str | None = None,
        task_type: str | None = None,
        readable: Callable[[Sequence[str]], bool] | None = None,
    ) -> Sequence[Run]:
        narrowed = partial(_newest, before=before, task_type=task_type, readable=readable)
        return await self._work.do(narrowed, tenant, limit)

    async def append(self, tenant: str, run_id: str, events: Sequence[Event]) -> Appended:
        if not events:
            return Appended(stored=0, repeated=0)
        number = await self._number(tenant, run_id)
        if number is None:
            raise _no_run(run_id)
        return await self._work.do(appending.append, tenant, number, events)

    async def append_all(self, batches: Sequence[Batch]) -> Sequence[Sequence[SequenceGap]] | None:
        if not batches:
            return []
        numbers: list[int] = []
        for batch in batches:
            number = await self._number(batch.tenant, batch.run_id)
            if number is None:
                raise _no_run(batch.run_id)
            numbers.append(number)
        known = [
            self._known.of(number, batch.agent)
            for number, batch in zip(numbers, batches, strict=True)
        ]
        found = await self._work.do(_append_all, batches, numbers, known)
        if found is None:
            return None
        for number, batch, (_, whole) in zip(numbers, batches, found, strict=True):
            self._work.once_kept(partial(self._known.keep, number, batch.agent, whole))
        return [gaps for gaps, _ in found]

    async def events(self, tenant: str, run_id: str) -> Sequence[Event]:
        return await self._work.do(_events, tenant, run_id)

    async def event_count(self, tenant: str, run_id: str) -> int:
        return await self._work.brief(_event_count, tenant, run_id)

    async def gaps(
        self, tenant: str, run_id: str, *, agent: str | None = None
    ) -> Sequence[SequenceGap]:
        number = await self._number(tenant, run_id)
        if number is None:
            return ()
        agents = [agent] if agent else await self._work.do(series.agents_of, number)
        found: list[SequenceGap] = []
        for one in agents:
            found += await self._gaps(number, one)
        return found

    async def _number(self, tenant: str, run_id: str) -> int | None:
        """The run's own number, which whoever got the run in this transaction knows already."""
        number = self._numbers.get((tenant, run_id))
        if number is None:
            number = await self._work.brief(_number, tenant, run_id)
        return number

    async def _gaps(self, run: int, agent: str) -> Sequence[SequenceGap]:
        known = self._known.of(run, agent)
        gaps, whole = await self._work.brief(series.missing, run, agent, known)
        self._work.once_kept(lambda: self._known.keep(run, agent, whole))
        return gaps

    async def enter(self, tenant: str, run_id: str, agent: str, session: str | None) -> None:
        await self._work.brief(entries.enter, tenant, run_id, agent, session)

    async def leave(self, tenant: str, run_id: str, agent: str, session: str | None) -> bool:
        return await self._work.brief(entries.leave, tenant, run_id, agent, session)

    async def open_runs(self, tenant: str, agent: str, session: str | None) -> Sequence[str]:
        return await self._work.brief(entries.open_runs, tenant, agent, session)

    async def offered(self, tenant: str, run_id: str, agent: str) -> Offered:
        return await self._work.brief(_offered, tenant, run_id, agent)

    async def set_offered(self, tenant: str, run_id: str, agent: str, offered: Offered) -> None:
        await self._work.brief(_set_offered, tenant, run_id, agent, offered)

    async def labels_shown(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, Set[str]]:
        return await self._work.brief(_labels_shown, tenant, run_ids)

    async def annotate(self, tenant: str, annotation: Annotation) -> None:
        await self._work.do(_annotate, tenant, annotation)

    async def annotations(self, tenant: str, run_id: str) -> Sequence[Annotation]:
        return await self._work.do(_annotations, tenant, run_id)


def _create(connection: Connection, run: Run) -> None:
    connection.execute(
        runs.insert(),
        {
            "tenant": run.tenant,
            "run_id": run.run_id,
            "task_type": run.task_type,
            "started_at": micros(run.started_at),
            "closed_at": micros_or_none(run.closed_at),
            "record": run.model_dump_json(),
        },
    )


def _get(connection: Connection, tenant: str, run_id: str) -> tuple[int, Run] | None:
    found = _GET.row(connection, {"tenant": tenant, "run_id": run_id})
    return None if found is None else (found[0], _run(found[1]))


def _get_all(
    connection: Connection, names: Sequence[tuple[str, str]]
) -> list[tuple[int, Run] | None]:
    return [
        None if number is None else (number, _run(record))
        for number, record in _GET_ALL.rows(connection, asked.asked(names))
    ]


def _append_all(
    connection: Connection,
    batches: Sequence[Batch],
    numbers: Sequence[int],
    known: Sequence[series.Whole],
) -> list[tuple[Sequence[SequenceGap], series.Whole]] | None:
    if not appending.append_new(connection, batches, numbers):
        return None
    agents = [
        (number, batch.agent, whole if whole[1] else (batch.events[0].incarnation, 0))
        for number, batch, whole in zip(numbers, batches, known, strict=True)
    ]
    return series.missing_of_all(connection, agents)


def _number(connection: Connection, tenant: str, run_id: str) -> int | None:
    number: int | None = _GET.value(connection, {"tenant": tenant, "run_id": run_id})
    return number


def _replace(connection: Connection, run: Run) -> None:
    done = connection.execute(
        update(runs)
        .where(runs.c.tenant == run.tenant, runs.c.run_id == run.run_id)
        .values(closed_at=micros_or_none(run.closed_at), record=run.model_dump_json())
    )
    if done.rowcount != 1:
        raise _no_run(run.run_id)


def _newest(
    connection: Connection,
    tenant: str,
    limit: int,
    *,
    before: str | None,
    task_type: str | None,
    readable: Callable[[Sequence[str]], bool] | None,
) -> list[Run]:
    wanted = select(runs.c.record).where(runs.c.tenant == tenant)
    if task_type is not None:
        wanted = wanted.where(runs.c.task_type == task_type)
    if before is not None:
        start = (
            select(runs.c.started_at)
            .where(runs.c.tenant == tenant, runs.c.run_id == before)
            .scalar_subquery()
        )
        wanted = wanted.where(
            or_(
                runs.c.started_at < start,
                and_(runs.c.started_at == start, runs.c.run_id < before),
            )
        )
    wanted = wanted.order_by(runs.c.started_at.desc(), runs.c.run_id.desc())
    if readable is None:
        return [_run(record) for record in connection.execute(wanted.limit(limit)).scalars()]
    with connection.execute(wanted.execution_options(yield_per=_READ_AT_ONCE)) as rows:
        records = (record for record in rows.scalars() if readable(_audience(record)))
        return [_run(record) for record in itertools.islice(records, limit)]


def _audience(record: str) -> Sequence[str]:
    """The audience of a run's record, without the rest, which is fifty times the work. No text
    stands before it, and within one its name could not be written so."""
    found: list[str] = _JSON.raw_decode(record, record.index(_AUDIENCE) + len(_AUDIENCE))[0]
    return found


def _events(connection: Connection, tenant: str, run_id: str) -> list[Event]:
    found = _EVENTS.rows(connection, {"tenant": tenant, "run_id": run_id})
    return [Event.model_validate_json(record) for (record,) in found]


def _event_count(connection: Connection, tenant: str, run_id: str) -> int:
    count: int = _COUNT.value(connection, {"tenant": tenant, "run_id": run_id})
    return count


_OFFERED = Ready(
    select(offered.c.record).where(
        offered.c.tenant == bindparam("tenant"),
        offered.c.run_id == bindparam("run_id"),
        offered.c.agent == bindparam("agent"),
    )
)


def _offered(connection: Connection, tenant: str, run_id: str, agent: str) -> Offered:
    record = _OFFERED.value(connection, {"tenant": tenant, "run_id": run_id, "agent": agent})
    if record is None:
        return Offered()
    fields = json.loads(record)
    return Offered(
        audience=frozenset(fields["audience"]),
        labels=frozenset(fields["labels"]),
        untrusted=fields["untrusted"],
        refs=frozenset(
            MemoryRef(id=MemoryUuid(name), revision=revision) for name, revision in fields["refs"]
        ),
    )


_SHOWN = Ready(
    select(offered.c.run_id, offered.c.record).where(
        offered.c.tenant == bindparam("tenant"),
        offered.c.run_id.in_(dialect.members(bindparam("ids"))),
    )
)


def _labels_shown(
    connection: Connection, tenant: str, run_ids: Sequence[str]
) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    asked = {"tenant": tenant, "ids": json.dumps(list(run_ids))}
    for run_id, record in _SHOWN.rows(connection, asked) if run_ids else ():
        labels = json.loads(record)["labels"]
        if labels:
            found.setdefault(run_id, set()).update(labels)
    return found


def _set_offered(
    connection: Connection, tenant: str, run_id: str, agent: str, value: Offered
) -> None:
    record = json.dumps(
        {
            "audience": sorted(value.audience),
            "labels": sorted(value.labels),
            "untrusted": value.untrusted,
            "refs": sorted((ref.id, ref.revision) for ref in value.refs),
        }
    )
    put = dialect.upsert(offered)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=["tenant", "run_id", "agent"], set_={"record": put.excluded.record}
        ),
        {"tenant": tenant, "run_id": run_id, "agent": agent, "record": record},
    )


def _annotate(connection: Connection, tenant: str, annotation: Annotation) -> None:
    record = annotation.model_dump_json()
    connection.execute(
        dialect.upsert(annotations).on_conflict_do_nothing(),
        {
            "tenant": tenant,
            "run_id": annotation.run_id,
            "digest": sha256(record.encode()).hexdigest(),
            "record": record,
        },
    )


def _annotations(connection: Connection, tenant: str, run_id: str) -> list[Annotation]:
    found = connection.execute(
        select(annotations.c.record)
        .where(annotations.c.tenant == tenant, annotations.c.run_id == run_id)
        .order_by(annotations.c.number)
    ).scalars()
    return [Annotation.model_validate_json(record) for record in found]


def _no_run(run_id: str) -> NotFound:
    return NotFound(f"`run` {run_id!r} is not there for this caller", kind="run", id=run_id)
