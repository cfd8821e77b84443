"""Whatever happened before, each route answers as a plain dict of memories would.

Two ledgers share one file, as two processes would; readers hold old snapshots; writers look at
what they have not committed, and some of it is undone.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.core.audience import audience_key
from hindsight_ray.core.keywords import terms
from hindsight_ray.domain.memory import Memory, Scene
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.ports import Unit, Vector
from tests.records import memory_of, name_of, put, rows
from tests.worlds import START, TENANT

_WORDS = ("ant", "bee", "cow", "doe", "elk", "fox")
_SCOPES = ("global", "user:a", "user:b")
_VECTORS = np.random.default_rng(7).standard_normal((5, 4)).astype(np.float32)

Step = tuple[Any, ...]
State = dict[str, tuple[Memory, Vector]]


class Undo(Exception):
    """Leaves a unit so that nothing of it stays."""


@st.composite
def _memories(draw: st.DrawFn) -> Step:
    """Word and fields of a memory, and which vector it has."""
    task = draw(st.sampled_from([None, "deploy", "search"]))
    fields = {
        "scope": draw(st.sampled_from(_SCOPES)),
        "content": " ".join(draw(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5))),
        "status": draw(st.sampled_from(["active", "active", "outdated", "pending"])),
        "layer": draw(st.sampled_from(["semantic", "episodic"])),
        "type": "fact" if task is None else "experience",
        "scene": None if task is None else Scene(task_type=task),
        "labels": draw(st.sampled_from([(), ("secret",), ("secret", "x")])),
        "created_at": START + timedelta(minutes=draw(st.integers(0, 3))),
        "expires_at": draw(st.sampled_from([None, START + timedelta(minutes=2)])),
    }
    fields["audience"] = (fields["scope"],)
    return draw(st.sampled_from(_WORDS[:3])), fields, draw(st.integers(0, len(_VECTORS) - 1))


def _some(values: Sequence[Any]) -> st.SearchStrategy[frozenset[Any]]:
    return st.frozensets(st.sampled_from(values))


_filters = st.fixed_dictionaries(
    {"now": st.sampled_from([START, START + timedelta(minutes=2)])},
    optional={
        "keys": _some([audience_key((scope,)) for scope in _SCOPES]),
        "denied_labels": _some(["secret", "x", "y"]),
        "scopes": _some(_SCOPES),
        "types": _some(["fact", "experience"]),
        "layers": _some(["semantic", "episodic"]),
        "statuses": _some(["active", "outdated", "pending"]),
        "task_type": st.sampled_from(["deploy", "search", "cook"]),
        "since": st.just(START + timedelta(minutes=1)),
        "until": st.just(START + timedelta(minutes=2)),
    },
).map(lambda fields: rows(**fields))

_HELD_MAX = 4
_EVERYTHING = rows(statuses=frozenset({"active", "outdated", "pending"}))

_ledgers = st.integers(0, 1)
_steps = st.one_of(
    st.tuples(st.just("put"), _ledgers, _memories()),
    st.tuples(st.just("put"), _ledgers, _memories()),
    st.tuples(st.just("forget"), _ledgers, st.sampled_from(_WORDS[:3])),
    st.tuples(st.just("ask"), _ledgers, _filters),
    st.tuples(st.just("ask"), _ledgers, _filters),
    st.tuples(st.just("hold"), _ledgers),
    st.tuples(st.just("ask held"), _filters),
    st.tuples(st.just("undo"), _ledgers, _memories(), _filters),
    st.tuples(st.just("tell itself"), _ledgers, _memories(), _filters),
)


@dataclass
class Play:
    """Two ledgers on one file, the model, and the snapshots that are held."""

    ledgers: tuple[SqlLedger, SqlLedger]
    stack: AsyncExitStack
    model: State = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)  # revision, also of what is forgotten
    held: list[tuple[Unit, State]] = field(default_factory=list)
    store: EmbeddedStore = field(default_factory=EmbeddedStore)

    async def step(self, step: Step) -> None:
        match step:
            case ("put", which, what):
                async with self.ledgers[which].writing() as unit:
                    await self.put(unit, what)
            case ("forget", which, word):
                if word in self.model:
                    async with self.ledgers[which].writing() as unit:
                        await unit.memories.forget(TENANT, name_of(word), by="b", why="w", at=START)
                    del self.model[word]
            case ("ask", which, row_filter):
                async with self.ledgers[which].reading() as unit:
                    await self.check(unit, self.model, row_filter)
            case ("hold", _) if len(self.held) == _HELD_MAX:
                pass
            case ("hold", which):
                unit = await self.stack.enter_async_context(self.ledgers[which].reading())
                await unit.memories.change_number(TENANT)  # a snapshot is that of its first read
                self.held.append((unit, dict(self.model)))
            case ("ask held", row_filter):
                await self.check_held(row_filter)
            case ("undo", which, what, row_filter):
                before = dict(self.model), dict(self.known)
                with contextlib.suppress(Undo):
                    async with self.ledgers[which].writing() as unit:
                        await self.put(unit, what)
                        await self.check(unit, self.model, row_filter)
                        raise Undo
                self.model, self.known = before
            case ("tell itself", which, what, row_filter):
                async with self.ledgers[which].writing() as unit:
                    await self.put(unit, what)
                    await self.check(unit, self.model, row_filter)
            case _:
                raise AssertionError(step)

    async def look(self) -> None:
        """Bring both ledgers' columns to the present, then ask the held snapshots."""
        for ledger in self.ledgers:
            async with ledger.reading() as unit:
                await self.check(unit, self.model, _EVERYTHING)
        await self.check_held(_EVERYTHING)

    async def check_held(self, row_filter: RowFilter) -> None:
        for unit, model in self.held:
            await self.check(unit, model, row_filter)

    async def put(self, unit: Unit, what: Step) -> None:
        word, fields, vector = what
        if word in self.known and word not in self.model:
            return  # forgotten: it does not come back
        revision = self.known.get(word, 0) + 1
        memory = memory_of(word, revision=revision, **fields)
        await put(unit, memory, _VECTORS[vector])
        self.model[word] = (memory, _VECTORS[vector])
        self.known[word] = revision

    async def check(self, unit: Unit, model: State, row_filter: RowFilter) -> None:
        passing = [entry for entry in model.values() if _passes(entry[0], row_filter)]
        await self._check_vectors(unit, passing, row_filter)
        await _check_keywords(unit, [memory for memory, _ in passing], row_filter)
        recent = await unit.memories.recent(row_filter, limit=100)
        assert sorted(m.id for m in recent) == sorted(memory.id for memory, _ in passing)
        assert [m.created_at for m in recent] == sorted(
            (m.created_at for m in recent), reverse=True
        )
        assert await unit.memories.count(row_filter) == len(passing)

    async def _check_vectors(
        self, unit: Unit, passing: Iterable[tuple[Memory, Vector]], row_filter: RowFilter
    ) -> None:
        asked = _VECTORS[0]
        wanted = sorted(
            ((-_cosine(vector, asked), memory.id, memory.revision) for memory, vector in passing)
        )
        found = await self.store.nearest(unit, row_filter, asked, limit=3)
        assert [(near.ref.id, near.ref.revision) for near in found] == [
            (name, revision) for _, name, revision in wanted[:3]
        ]
        for near, (opposite, _, _) in zip(found, wanted, strict=False):
            assert abs(near.similarity + opposite) < 1e-5


def _cosine(one: Vector, other: Vector) -> float:
    a, b = one.astype(np.float64), other.astype(np.float64)
    return round(float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())), 6)


async def _check_keywords(unit: Unit, passing: Sequence[Memory], row_filter: RowFilter) -> None:
    counts = {memory.id: terms(memory.content) for memory in passing}
    matches = await unit.memories.keyword_matches(row_filter, _WORDS)
    assert matches.documents == len(passing)
    assert matches.total_length == sum(sum(found.values()) for found in counts.values())
    for word in _WORDS if passing else ():
        assert matches.frequencies[word] == {
            name: found[word] for name, found in counts.items() if word in found
        }
    assert matches.lengths == {name: sum(found.values()) for name, found in counts.items()}


def _passes(memory: Memory, f: RowFilter) -> bool:
    narrowed = (
        (f.keys, audience_key(memory.audience)),
        (f.scopes, memory.scope),
        (f.types, memory.type),
        (f.layers, memory.layer),
        (f.statuses, memory.status),
    )
    return (
        all(allowed is None or value in allowed for allowed, value in narrowed)
        and not f.denied_labels & set(memory.labels)
        and (memory.expires_at is None or memory.expires_at > f.now)
        and (f.task_type is None or memory.scene is None or memory.scene.task_type == f.task_type)
        and (f.since is None or memory.created_at >= f.since)
        and (f.until is None or memory.created_at < f.until)
    )


@given(st.lists(st.tuples(_steps, st.booleans()), min_size=8, max_size=30))
@settings(max_examples=50)
def test_every_route_answers_as_a_plain_model_of_its_snapshot(
    steps: list[tuple[Step, bool]],
) -> None:
    asyncio.run(_play(steps))


async def _play(steps: Iterable[tuple[Step, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "l.sqlite3"
        first = await SqlLedger.open(file)
        second = await SqlLedger.open(file)
        try:
            async with AsyncExitStack() as stack:
                play = Play((first, second), stack)
                for step, look in steps:
                    await play.step(step)
                    if look:
                        await play.look()
                for ledger in (first, second):
                    async with ledger.reading() as unit:
                        await play.check(unit, play.model, rows())
        finally:
            await first.close()
            await second.close()
