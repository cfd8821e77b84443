"""Erasing over the SQL ledger of a home: what a ledger can say of a user, and the search for it."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from hindsight_ray.adapters import erasure_lists
from hindsight_ray.adapters.ledger.sql import SqlLedger, SqlUnit, erasing
from hindsight_ray.domain.erasure import Erasure, Remains
from hindsight_ray.domain.memory import Memory
from hindsight_ray.errors import Busy
from hindsight_ray.ports import Unit, Wiped

_CHUNK = 1 << 24
_HEAD = 8  # bytes of a text by which places are found that may hold it
_FREED_BLOCKS = "blocks that the file system has freed: until it writes over them"


class SqlErasing:
    """`Erasing` for a home whose ledger is a file in it, or on a server."""

    def __init__(self, ledger: SqlLedger, home: Path) -> None:
        self._ledger = ledger
        self._home = home

    async def named(self, unit: Unit, tenant: str, user: str) -> Sequence[str]:
        return await _sql(unit).work.do(erasing.named, tenant, user)

    async def revisions(self, unit: Unit, tenant: str, memory_id: str) -> Sequence[Memory]:
        return await _sql(unit).work.do(erasing.revisions, tenant, memory_id)

    async def wipe(
        self, unit: Unit, erasure: Erasure, keep_to: Mapping[str, tuple[int, int]]
    ) -> Wiped:
        return await _sql(unit).work.do(erasing.wipe, erasure, keep_to)

    async def carried_out(self, unit: Unit, ids: Collection[str]) -> frozenset[str]:
        return await _sql(unit).work.do(erasing.carried_out, ids)

    async def note(self, erasure: Erasure) -> None:
        memory = await self._ledger.identity()
        await asyncio.to_thread(erasure_lists.note, self._home, memory, erasure)

    async def listed(self) -> Sequence[Erasure]:
        memory = await self._ledger.identity()
        return await asyncio.to_thread(erasure_lists.listed, self._home, memory)

    async def remains(self, texts: Collection[str]) -> Remains:
        needles = sorted({form for text in texts for form in _forms(text)})
        if not self._ledger.in_file:
            return Remains(
                where="server", files=(), bytes_searched=0, texts=len(texts),
                held_elsewhere=await self._held(texts),
                stated=(*await self._ledger.server_keeps(), self._copies()),
            )  # fmt: skip
        stated = (_FREED_BLOCKS, self._copies())
        try:
            await self._ledger.shrink()
        except Busy:
            stated = (
                "the database's log and freed pages: another process was reading; ask again",
                *stated,
            )
        files, size, hits = await asyncio.to_thread(_searched, self._home, needles)
        suspects = {text for text in texts if any(form in hits for form in _forms(text))}
        held = {text: await self._held([text]) for text in suspects}
        places = {
            place
            for text in suspects
            if not held[text]
            for form in _forms(text)
            for place in hits.get(form, ())
        }
        return Remains(
            where="files",
            files=files,
            bytes_searched=size,
            texts=len(texts),
            found=tuple(sorted(places)),
            held_elsewhere=tuple(sorted({table for tables in held.values() for table in tables})),
            stated=stated,
        )

    def _copies(self) -> str:
        place = erasure_lists.erasure_list(self._home)
        return (
            "copies and backups of the home: as long as they are kept; one that is put back is"
            f" erased again when it is opened, as long as it finds the list {place}"
        )

    async def _held(self, texts: Collection[str]) -> tuple[str, ...]:
        """Tables with rows that say one of these, in either form."""
        found: set[str] = set()
        async with self._ledger.reading() as unit:
            for text in texts:
                for form in _forms(text):
                    said = form.decode("utf-8")
                    found |= set(await _sql(unit).work.do(erasing.holders, said))
        return tuple(sorted(found))


def _sql(unit: Unit) -> SqlUnit:
    if not isinstance(unit, SqlUnit):
        raise TypeError("erasing reads the SQL ledger's own unit")
    return unit


def _forms(text: str) -> tuple[bytes, ...]:
    """A text as it may stand in a file: plain, and inside a JSON document."""
    plain = text.encode("utf-8")
    inner = json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8")
    return (plain,) if inner == plain else (plain, inner)


def _searched(
    home: Path, needles: Sequence[bytes]
) -> tuple[tuple[str, ...], int, dict[bytes, set[str]]]:
    """Every file of the home, read to its last byte: names, bytes, and which needle is where."""
    by_head: dict[int, list[bytes]] = {}
    for needle in needles:
        by_head.setdefault(int.from_bytes(needle[:_HEAD], "little"), []).append(needle)
    heads = np.array(sorted(by_head), dtype=np.uint64)
    longest = max((len(needle) for needle in needles), default=0)
    names: list[str] = []
    hits: dict[bytes, set[str]] = {}
    size = 0
    for file in sorted(path for path in home.rglob("*") if path.is_file()):
        name = str(file.relative_to(home))
        names.append(name)
        with file.open("rb") as opened:
            held = b""
            while chunk := opened.read(_CHUNK):
                size += len(chunk)
                held = held[-longest:] + chunk
                for needle in _in(held, heads, by_head):
                    hits.setdefault(needle, set()).add(name)
    return tuple(names), size, hits


def _in(
    data: bytes,
    heads: "np.ndarray[tuple[int], np.dtype[np.uint64]]",
    by_head: dict[int, list[bytes]],
) -> set[bytes]:
    """The needles that occur: places are found by their first bytes, eight offsets apart."""
    found: set[bytes] = set()
    if not len(heads):
        return found
    for offset in range(_HEAD):
        whole = (len(data) - offset) // _HEAD
        if whole < 1:
            continue
        words = np.frombuffer(data, dtype="<u8", count=whole, offset=offset)
        for place in np.flatnonzero(np.isin(words, heads)).tolist():
            start = place * _HEAD + offset
            for needle in by_head[int(words[place])]:
                if data.startswith(needle, start):
                    found.add(needle)
    return found
