"""The scopes whose vectors a process keeps: what they answer is what the ledger itself found.

Two processes share one database, and readers hold old snapshots. Whether a scope is kept at a
moment is the process's own affair, and so is how far it has read; what it answers is not.
"""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.ledger import SqlUnit
from hindsight_ray.adapters.ledger.sql.memories import unit_vector
from hindsight_ray.adapters.ledger.sql.scopes import KnownScopes
from hindsight_ray.domain.rows import Near, NearAt, RowFilter
from hindsight_ray.ports import Unit
from tests.records import memory_of, name_of, put, rows
from tests.worlds import START, TENANT

_SCOPES = {"ant": "user:a", "bee": "user:a", "cow": "user:a", "doe": "user:b", "elk": "user:b"}
_VECTORS = np.random.default_rng(5).standard_normal((3, 4)).astype(np.float32)
_FILTERS = [
    rows(scopes=frozenset({scope}), now=now, denied_labels=denied)
    for scope in ("user:a", "user:b")
    for now in (START, START + timedelta(minutes=2))
    for denied in (frozenset[str](), frozenset({"secret"}))
]

Step = tuple[Any, ...]
Told = list[tuple[str, int, float]]

_which = st.integers(0, 1)
_words = st.sampled_from(sorted(_SCOPES))
_vectors = st.integers(0, len(_VECTORS) - 1)
_filters = st.sampled_from(_FILTERS)
_fields = st.fixed_dictionaries(
    {"status": st.sampled_from(["active", "active", "pending"])},
    optional={
        "labels": st.just(("secret",)),
        "expires_at": st.just(START + timedelta(minutes=1)),
    },
)
_put = st.tuples(st.just("put"), _which, _words, _fields, _vectors)
_ask = st.tuples(st.just("ask"), _which, _filters)
_steps = st.one_of(
    _put,
    _put,
    st.tuples(st.just("forget"), _which, _words),
    _ask,
    _ask,
    st.tuples(st.just("hold"), _which),
    st.just(("ask held",)),
)


@dataclass
class Process:
    """A ledger on the shared file, and what its process keeps of the scopes."""

    ledger: SqlLedger
    known: KnownScopes

    async def nearest(self, unit: Unit, row_filter: RowFilter) -> NearAt | None:
        assert isinstance(unit, SqlUnit)
        units = [unit_vector(vector) for vector in _VECTORS]
        return await unit.work.do(self.known.nearest, row_filter, units, 2)


@dataclass
class Play:
    """The processes, the snapshots that are held, and what was nearest at each change."""

    processes: list[Process]
    stack: AsyncExitStack
    revisions: dict[str, int] = field(default_factory=dict[str, int])
    held: list[Unit] = field(default_factory=list[Unit])
    at: dict[int, dict[RowFilter, list[Told]]] = field(
        default_factory=dict[int, dict[RowFilter, list[Told]]]
    )

    def of(self, which: int) -> Process:
        return self.processes[which]

    async def step(self, step: Step) -> None:
        match step:
            case ("put", which, word, fields, vector):
                await self.put(self.of(which).ledger, word, fields, vector)
            case ("forget", which, word):
                await self.forget(self.of(which).ledger, word)
            case ("ask", which, row_filter):
                async with self.of(which).ledger.reading() as unit:
                    found = await self.check(self.of(which), unit, row_filter)
                    assert found in (None, await unit.memories.change_number(TENANT))
            case ("hold", which):
                await self.hold(self.of(which).ledger)
            case ("ask held",):
                for process, unit, row_filter in product(self.processes, self.held, _FILTERS):
                    await self.check(process, unit, row_filter)
            case _:
                raise AssertionError(step)

    async def put(self, ledger: SqlLedger, word: str, fields: Any, vector: int) -> None:
        revision = self.revisions.get(word, 0) + 1
        if revision == 0:
            return  # forgotten: it does not come back
        self.revisions[word] = revision
        memory = memory_of(word, scope=_SCOPES[word], revision=revision, **fields)
        async with ledger.writing() as unit:
            await put(unit, memory, _VECTORS[vector])
            mine = await unit.memories.nearest_known(_FILTERS[0], [_VECTORS[0]], limit=2)
            assert mine is None  # what is not committed yet would be missing
        await self.note(ledger)

    async def forget(self, ledger: SqlLedger, word: str) -> None:
        if self.revisions.get(word, 0) > 0:
            self.revisions[word] = -1
            async with ledger.writing() as unit:
                await unit.memories.forget(TENANT, name_of(word), by="b", why="w", at=START)
            await self.note(ledger)

    async def note(self, ledger: SqlLedger) -> None:
        """What the ledger itself finds nearest now."""
        async with ledger.reading() as unit:
            now = await unit.memories.change_number(TENANT)
            self.at[now] = {row_filter: [] for row_filter in _FILTERS}
            for row_filter, vector in product(_FILTERS, _VECTORS):
                near = await unit.memories.nearest_of(row_filter, vector, None)
                self.at[now][row_filter].append(_told(near)[:2])

    async def hold(self, ledger: SqlLedger) -> None:
        if len(self.held) < 3:
            unit = await self.stack.enter_async_context(ledger.reading())
            await unit.memories.change_number(TENANT)  # a snapshot is that of its first read
            self.held.append(unit)

    async def check(self, process: Process, unit: Unit, row_filter: RowFilter) -> int | None:
        found = await process.nearest(unit, row_filter)
        if found is None:
            return None
        assert found.change <= await unit.memories.change_number(TENANT)
        nothing: list[Told] = [[] for _ in _VECTORS]
        wanted = self.at[found.change][row_filter] if found.change else nothing
        assert [_told(near) for near in found.near] == wanted
        return found.change


def _told(found: Any) -> Told:
    kept: list[Near] = list(found)
    return [(near.ref.id, near.ref.revision, round(near.similarity, 5)) for near in kept]


@given(st.lists(_steps, min_size=8, max_size=40), st.sampled_from([40, 10_000]))
@settings(max_examples=40)
def test_what_is_kept_of_a_scope_answers_as_the_ledger_did(
    steps: list[Step], numbers_max: int
) -> None:
    asyncio.run(_play(steps, numbers_max))


async def _play(steps: list[Step], numbers_max: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "l.sqlite3"
        first = await SqlLedger.open(file, store_apart=True)
        second = await SqlLedger.open(file, store_apart=True)
        try:
            async with AsyncExitStack() as stack:
                processes = [
                    Process(first, KnownScopes(numbers_max=numbers_max)),
                    Process(second, KnownScopes()),
                ]
                play = Play(processes, stack)
                for step in steps:
                    await play.step(step)
                for row_filter in _FILTERS:
                    async with second.reading() as unit:
                        answered = await play.check(processes[1], unit, row_filter)
                        assert (answered is None) == (not play.at)  # all of it is here, and now
        finally:
            await first.close()
            await second.close()


def _many(count: int) -> list[str]:
    return [f"w{number}" for number in range(count)]


async def _filled(ledger: SqlLedger, words: list[str], scope: str) -> None:
    async with ledger.writing() as unit:
        for number, word in enumerate(words):
            vector = _VECTORS[number % len(_VECTORS)]
            await put(unit, memory_of(word, scope=scope), vector)


async def test_a_scope_is_read_once_it_was_asked_for_as_often_as_its_reading_costs(
    tmp_path: Path,
) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3", store_apart=True)
    process = Process(ledger, KnownScopes())
    bounded = Process(ledger, KnownScopes(scope_max=600 * 4))
    await _filled(ledger, _many(700), "user:a")
    async with ledger.reading() as unit:
        answered = [await process.nearest(unit, _FILTERS[0]) is not None for _ in range(3)]
        refused = [await bounded.nearest(unit, _FILTERS[0]) is None for _ in range(5)]
    assert answered == [False, True, True]
    assert all(refused)
    await ledger.close()
