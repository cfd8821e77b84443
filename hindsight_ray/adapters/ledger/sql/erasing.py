"""What a user's rows are, table by table, and how their bytes leave the database.

A row is the user's if it was theirs, says so in its record, or belongs to a run whose audience
names them. Texts are collected on the way, for the search that proves that none is left.
"""

import functools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from sqlalchemy import Column, Table, bindparam, delete, func, literal, or_, select, update
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import (
    FORGOTTEN,
    annotations,
    commands,
    credit_memories,
    credit_records,
    events,
    facts,
    failed_reviews,
    intents,
    memories,
    memory_revisions,
    memory_sources,
    memory_statistics,
    metadata,
    micros,
    offered,
    outcomes,
    postings,
    recalls,
    review_answers,
    reviews,
    run_entries,
    runs,
    terms,
    window_lines,
    working_states,
)
from hindsight_ray.domain.erasure import Erasure
from hindsight_ray.domain.memory import Memory
from hindsight_ray.ports import Wiped

_MARK = "erased "  # before the id of an erasure, among the facts
LAST = "last erased "  # before a tenant and a user: when they were erased, in microseconds
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# What identifies and does not tell: ids, digests, scopes, times, numbers.
_NO_TEXT = re.compile(
    rf"{_UUID.pattern}|[0-9a-f]{{32,}}|(?:user|agent):\S+(?: user:\S+)?"
    r"|\d{4}-\d\d-\d\dT[\d:.+Z-]+|[\d.e+-]+"
)
_DECISIONS = ("accepted", "rejected", "edited and accepted")
_SAID = ("content", "steps", "scene", "topic", "tags", "labels", "project")  # in a memory's record
_BATCH = 500
_BYTES_MIN = 8  # of a text that is searched for: shorter ones are everywhere
_OF_RUNS: tuple[Table, ...] = (
    run_entries, offered, annotations, outcomes, credit_records, reviews, review_answers,
    failed_reviews, working_states,
)  # fmt: skip


def named(connection: Connection, tenant: str, user: str) -> list[str]:
    """Ids of memories of which any revision is the user's, names them, or fell with those; also of
    those that got a text from the user: tags, a topic."""
    found = _added_to(connection, tenant, user)
    fallen: dict[str, set[str]] = {}
    rows = select(memories.c.memory_id, memories.c.status, memory_revisions.c.record).join(
        memories, memories.c.number == memory_revisions.c.memory
    )
    rows = rows.where(memories.c.tenant == tenant, memory_revisions.c.record.is_not(None))
    mentions = _mentions(memory_revisions.c.record, user)
    for name, _, record in connection.execute(rows.where(mentions)):
        if _concerns(json.loads(record), user):
            found.add(name)
    for name, _, record in connection.execute(rows.where(memories.c.status == FORGOTTEN)):
        rests_on = {ref["id"] for ref in json.loads(record)["derived_from"]}
        fallen.setdefault(name, set()).update(rests_on)
    grown = True
    while grown:
        more = {name for name, rests_on in fallen.items() if rests_on & found} - found
        found |= more
        grown = bool(more)
    return sorted(found)


def _added_to(connection: Connection, tenant: str, user: str) -> set[str]:
    """Memories that the user gave another text, which agents acting for them cannot. Numbers, ends
    and statuses tell nothing, and what a revision took from another memory rests on that."""
    revised = (
        select(memories.c.memory_id, memory_revisions.c.revision)
        .join(memories, memories.c.number == memory_revisions.c.memory)
        .where(memories.c.tenant == tenant, memory_revisions.c.by == f"user:{user}")
        .where(memory_revisions.c.revision > 1)
    )
    theirs: dict[str, set[int]] = {}
    for name, revision in connection.execute(revised):
        theirs.setdefault(name, set()).add(revision)
    return {
        name
        for name, numbers in theirs.items()
        for before, one in pairwise(revisions(connection, tenant, name))
        if one.revision in numbers
        and one.derived_from == before.derived_from
        and any(getattr(one, field) != getattr(before, field) for field in _SAID)
    }


def revisions(connection: Connection, tenant: str, memory_id: str) -> list[Memory]:
    """Every revision that still has its text, oldest first."""
    found = connection.execute(
        select(memory_revisions.c.record)
        .join(memories, memories.c.number == memory_revisions.c.memory)
        .where(memories.c.tenant == tenant, memories.c.memory_id == memory_id)
        .where(memory_revisions.c.record.is_not(None))
        .order_by(memory_revisions.c.revision)
    )
    return [Memory.model_validate_json(record) for record in found.scalars()]


def wipe(connection: Connection, erasure: Erasure, keep_to: Mapping[str, tuple[int, int]]) -> Wiped:
    """Remove the rows and texts; say how many of each kind, and which texts."""
    dialect.overwrite_deleted(connection)
    tenant, user = erasure.tenant, erasure.user
    counts: dict[str, int] = {}
    texts: set[str] = set()
    counts["memory texts"] = _wipe_memories(connection, tenant, keep_to, texts)
    gone = {name for name, (first, _) in keep_to.items() if first == 0}
    ended = _wipe_runs(connection, tenant, user, counts, texts)
    _wipe_reviews(connection, tenant, set(keep_to), counts, texts)
    _wipe_layers(connection, tenant, user, counts, texts)
    mine = [recalls.c.acting_user == user, recalls.c.principal == f"user:{user}"]
    mine.extend(recalls.c.run_id.in_(batch) for batch in _batches(ended))
    counts["recalls"] = _take(connection, recalls, [recalls.c.tenant == tenant, or_(*mine)], texts)
    for table in (outcomes, credit_records):  # on runs that do not name them
        by = [table.c.tenant == tenant, _owned(table.c.by, user)]
        _count(counts, table.name, _take(connection, table, by, texts))
    credited = [credit_memories.c.tenant == tenant, _owned(credit_memories.c.by, user)]
    connection.execute(delete(credit_memories).where(*credited))
    counts["receipts"] = _wipe_receipts(connection, tenant, user, gone | set(ended), texts)
    unused = terms.c.number.not_in(select(postings.c.term))
    counts["terms"] = connection.execute(
        delete(terms).where(terms.c.tenant == tenant, unused)
    ).rowcount
    note = {"name": f"{_MARK}{erasure.erasure_id}", "value": erasure.model_dump_json()}
    connection.execute(dialect.upsert(facts).on_conflict_do_nothing(), note)
    last = {"name": f"{LAST}{tenant} {user}", "value": str(micros(erasure.at))}
    put = dialect.upsert(facts)
    connection.execute(
        put.on_conflict_do_update(index_elements=["name"], set_={"value": put.excluded.value}), last
    )
    kept = {text for text in texts if len(text.encode("utf-8")) >= _BYTES_MIN}
    return Wiped(rows={k: n for k, n in counts.items() if n}, texts=frozenset(kept))


def carried_out(connection: Connection, ids: Collection[str]) -> frozenset[str]:
    """Which of these erasures the ledger has carried out."""
    names = [f"{_MARK}{one}" for one in ids]
    found: set[str] = set()
    for batch in _batches(names):
        rows = connection.execute(select(facts.c.name).where(facts.c.name.in_(batch)))
        found |= {name.removeprefix(_MARK) for name in rows.scalars()}
    return frozenset(found)


def holders(connection: Connection, text: str) -> list[str]:
    """The tables of which a row says this text."""
    saying = _saying_sql()
    return [name for name in saying if saying[name].row(connection, {"text": text}) is not None]


@functools.cache
def _saying_sql() -> Mapping[str, Ready]:
    """By table, whether a row says `text`."""
    saying: dict[str, Ready] = {}
    for table in metadata.sorted_tables:
        said = [
            func.replace(column, bindparam("text"), "") != column
            for column in table.c
            if isinstance(column.type, dialect.Text)
        ]
        if said:
            saying[table.name] = Ready(select(literal(1)).where(or_(*said)).limit(1))
    return saying


def _wipe_memories(
    connection: Connection, tenant: str, keep_to: Mapping[str, tuple[int, int]], texts: set[str]
) -> int:
    count = 0
    for name, (first, last) in keep_to.items():
        numbers = select(memories.c.number).where(
            memories.c.tenant == tenant, memories.c.memory_id == name
        )
        number = connection.execute(numbers).scalar_one()
        which = [
            memory_revisions.c.memory == number,
            memory_revisions.c.revision > first,
            memory_revisions.c.revision < last,
        ]
        for record in connection.execute(
            select(memory_revisions.c.record).where(*which, memory_revisions.c.record.is_not(None))
        ).scalars():
            texts.update(_texts(json.loads(record)))
            count += 1
        connection.execute(
            update(memory_revisions).where(*which), {"record": None, "why": "erased"}
        )
        # The vector that a store apart would be given back, if it refused what came after.
        connection.execute(update(intents).where(intents.c.memory == number), {"previous": None})
        if first == 0:  # its routes went when it was forgotten
            connection.execute(
                update(memories).where(memories.c.number == number),
                {"record": None, "topic": None, "task_type": None, "length": 0},
            )
            connection.execute(delete(memory_sources).where(memory_sources.c.memory == number))
            connection.execute(
                delete(memory_statistics).where(
                    memory_statistics.c.tenant == tenant, memory_statistics.c.memory_id == name
                )
            )
            connection.execute(
                delete(credit_memories).where(
                    credit_memories.c.tenant == tenant, credit_memories.c.memory_id == name
                )
            )
    return count


def _wipe_runs(
    connection: Connection, tenant: str, user: str, counts: dict[str, int], texts: set[str]
) -> list[str]:
    """Runs whose audience or participants name the user, with all that happened in them."""
    found = connection.execute(
        select(runs.c.number, runs.c.run_id, runs.c.record).where(
            runs.c.tenant == tenant, _mentions(runs.c.record, user)
        )
    ).all()
    concerned = [(n, name) for n, name, record in found if _concerns(json.loads(record), user)]
    for number, name in concerned:
        _count(counts, "events", _take(connection, events, [events.c.run == number], texts))
        for table in _OF_RUNS:
            which = [table.c.tenant == tenant, table.c.run_id == name]
            _count(counts, table.name, _take(connection, table, which, texts))
        _count(counts, "runs", _take(connection, runs, [runs.c.number == number], texts))
    return [name for _, name in concerned]


def _wipe_reviews(
    connection: Connection, tenant: str, touched: set[str], counts: dict[str, int], texts: set[str]
) -> None:
    """What was thought of others' runs that were shown these memories, and may quote them."""
    rows = select(offered.c.run_id, offered.c.record).where(offered.c.tenant == tenant)
    shown = {
        name
        for name, record in connection.execute(rows)
        if not touched.isdisjoint(_UUID.findall(record))
    }
    for table in (reviews, review_answers, failed_reviews):
        for batch in _batches(shown):
            which = [table.c.tenant == tenant, table.c.run_id.in_(batch)]
            _count(counts, table.name, _take(connection, table, which, texts))


def _wipe_layers(
    connection: Connection, tenant: str, user: str, counts: dict[str, int], texts: set[str]
) -> None:
    """Windows and working states: of the user, and of agents while they acted for them."""
    for table, owner in ((window_lines, "principal"), (working_states, "agent")):
        mine = _owned(table.c[owner], user)
        _count(
            counts, table.name, _take(connection, table, [table.c.tenant == tenant, mine], texts)
        )


def _wipe_receipts(
    connection: Connection, tenant: str, user: str, gone: set[str], texts: set[str]
) -> int:
    """The user's own, those of agents acting for them, and those that name what is gone."""
    mine: list[tuple[str, str]] = []
    rows = select(commands.c.principal, commands.c.command_id, commands.c.receipt)
    for principal, command_id, receipt in connection.execute(
        rows.where(commands.c.tenant == tenant)
    ).all():
        if f"user:{user}" in principal.split(" "):
            _wipe_reason(connection, tenant, json.loads(receipt))
        if f"user:{user}" in principal.split(" ") or not gone.isdisjoint(_UUID.findall(receipt)):
            mine.append((principal, command_id))
    for principal, command_id in mine:
        which = [
            commands.c.tenant == tenant,
            commands.c.principal == principal,
            commands.c.command_id == command_id,
        ]
        _take(connection, commands, which, texts)
    return len(mine)


def _wipe_reason(connection: Connection, tenant: str, receipt: Any) -> None:
    """Why they decided so on a memory that stays: its history says it in their words."""
    if not isinstance(receipt, dict):
        return
    told = cast(dict[str, Any], receipt)
    decision, colon, _ = str(told.get("why", "")).partition(": ")
    if not colon or decision not in _DECISIONS:
        return
    numbers = select(memories.c.number).where(
        memories.c.tenant == tenant, memories.c.memory_id.in_(told["ids"])
    )
    said = [memory_revisions.c.memory.in_(numbers), memory_revisions.c.why == told["why"]]
    connection.execute(update(memory_revisions).where(*said), {"why": decision})


def _take(connection: Connection, table: Table, which: Sequence[Any], texts: set[str]) -> int:
    """Delete these rows, having read their texts."""
    count = 0
    for row in connection.execute(select(table).where(*which)).mappings():
        count += 1
        for value in row.values():
            if isinstance(value, str):
                texts.update(_texts(_parsed(value)))
    if count:
        connection.execute(delete(table).where(*which))
    return count


def _count(counts: dict[str, int], name: str, number: int) -> None:
    counts[name] = counts.get(name, 0) + number


def _owned(column: Column[Any], user: str) -> Any:
    """Whether the owner (`Caller.receipt_owner`) is the user or somebody who acts for them."""
    return or_(column == f"user:{user}", column.endswith(f" user:{user}", autoescape=True))


def _mentions(column: Column[Any], user: str) -> Any:
    """A first sieve; `_concerns` decides."""
    return or_(
        column.contains(f'"user:{user}"', autoescape=True),
        column.contains(f'"user":"{user}"', autoescape=True),
    )


def _concerns(record: Mapping[str, Any], user: str) -> bool:
    """Whether a memory's or run's record is the user's or names them among its readers."""
    source: Mapping[str, Any] = record.get("source") or {}
    participants: Sequence[Mapping[str, Any]] = record.get("participants") or ()
    return (
        f"user:{user}" in (record["scope"], *record["audience"])
        or source.get("user") == user
        or any(one.get("user") == user for one in participants)
    )


def _parsed(value: str) -> Any:
    if value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _texts(value: Any) -> Iterator[str]:
    """Every string in a document that tells something, whatever it is called."""
    if isinstance(value, str):
        if not _NO_TEXT.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        for key, one in cast(dict[str, Any], value).items():
            if key not in _NAMES:
                yield from _texts(one)
    elif isinstance(value, list):
        for one in cast(list[Any], value):
            yield from _texts(one)


# Fields that hold names and kinds, of which others' records are full.
_NAMES = frozenset(
    {
        "tenant", "scope", "audience", "type", "layer", "status", "kind", "agent", "user", "by",
        "session", "embedding_model", "command_id", "principal", "incarnation", "edge_evidence",
        "result", "method", "task_type", "evaluator", "tools", "name", "sharing",
        "applicability", "labels", "trigger", "reviewed_by", "vouched_by", "model",
    }
)  # fmt: skip


def _batches(names: Iterable[str]) -> Iterator[list[str]]:
    listed = list(names)
    for start in range(0, len(listed), _BATCH):
        yield listed[start : start + _BATCH]
