"""How events are added: what is new at once, what may have been there before with care."""

import json
from collections.abc import Iterator, Sequence

from sqlalchemy import bindparam, select
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.schema import events, micros
from hindsight_ray.domain.event import Event
from hindsight_ray.errors import EventConflict
from hindsight_ray.ports import Appended, Batch

_COLUMNS = ("run", "agent", "incarnation", "seq", "tenant", "event_id", "at", "record")
_Row = tuple[int, str, str, int, str, str, int, str]

_KNOWN_IDS = select(events.c.event_id, events.c.record).where(
    events.c.tenant == bindparam("tenant"),
    events.c.event_id.in_(dialect.members(bindparam("ids"))),
)
_KNOWN_PLACES = select(events.c.seq).where(
    events.c.run == bindparam("run"),
    events.c.agent == bindparam("agent"),
    events.c.incarnation == bindparam("incarnation"),
    events.c.seq.in_(dialect.numbers(bindparam("seqs"))),
)


def append(connection: Connection, tenant: str, run: int, batch: Sequence[Event]) -> Appended:
    """Add the events that are not there yet. Raises `EventConflict`, adding none."""
    rows = list(_rows(tenant, run, batch))
    if dialect.insert_or_none(connection, events, _COLUMNS, rows):
        return Appended(stored=len(rows), repeated=0)
    fresh = _unknown(connection, tenant, run, rows)
    dialect.insert_rows(connection, events, _COLUMNS, fresh)
    return Appended(stored=len(fresh), repeated=len(rows) - len(fresh))


def append_new(connection: Connection, batches: Sequence[Batch], runs: Sequence[int]) -> bool:
    """Add all events of these batches, each to its run, or none where one is there; whether so."""
    rows = [
        row
        for batch, run in zip(batches, runs, strict=True)
        for row in _rows(batch.tenant, run, batch.events)
    ]
    return dialect.insert_or_none(connection, events, _COLUMNS, rows)


def _rows(tenant: str, run: int, batch: Sequence[Event]) -> Iterator[_Row]:
    for event in batch:
        yield (
            run,
            event.agent,
            event.incarnation,
            event.seq,
            tenant,
            event.event_id,
            micros(event.timestamp),
            event.model_dump_json(exclude_defaults=True),
        )


def _unknown(connection: Connection, tenant: str, run: int, rows: Sequence[_Row]) -> list[_Row]:
    """The rows that are not stored yet. Raises `EventConflict` if one contradicts what is."""
    ids = json.dumps([row[5] for row in rows])
    asked = {"tenant": tenant, "ids": ids}
    found_ids = connection.execute(_KNOWN_IDS, asked).all()
    records: dict[str, str] = {row.event_id: row.record for row in found_ids}
    places: set[tuple[str, str, int]] = set()
    for agent, incarnation in {(row[1], row[2]) for row in rows}:
        seqs = json.dumps([row[3] for row in rows if row[1:3] == (agent, incarnation)])
        found = connection.execute(
            _KNOWN_PLACES,
            {"run": run, "agent": agent, "incarnation": incarnation, "seqs": seqs},
        ).scalars()
        places.update((agent, incarnation, seq) for seq in found)
    fresh: list[_Row] = []
    for row in rows:
        _, agent, incarnation, seq, _, event_id, _, record = row
        known = records.get(event_id)
        if known is not None:
            if known != record and Event.model_validate_json(known) != Event.model_validate_json(
                record
            ):
                raise _conflict("event_id", event_id)
            continue
        if (agent, incarnation, seq) in places:
            raise _conflict("seq", f"{agent}/{incarnation}/{seq}")
        records[event_id] = record
        places.add((agent, incarnation, seq))
        fresh.append(row)
    return fresh


def _conflict(field: str, value: str) -> EventConflict:
    return EventConflict(
        f"`{field}` {value!r} was recorded before with other content; the batch is refused",
        field=field,
        value=value,
    )
