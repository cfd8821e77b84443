"""Live a synthetic year in an embedded home under a set clock, and count what became of it."""

import pathlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from benchmarks._frames import PLAIN, Vocabulary
from benchmarks._mistaken import Judge
from benchmarks._year import YEAR, Saying, letters_apart, sayings
from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Search, Write
from hindsight_ray.domain.ids import CommandName
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.settings import Settings
from hindsight_ray.ports import Embedder, Purpose, Vector
from hindsight_ray.service.least import everything
from hindsight_ray.service.maintain import steward_slice
from hindsight_ray.service.search import search
from hindsight_ray.service.write import write
from tests.worlds import TENANT, Staged, world

_TICKET_S = 366 * 24 * 3600
_MONTH = timedelta(days=30)
_SEARCH_EACH = 10  # writes between two searches, which keep some memories from growing cold
_SLICE = 2_000
_ARCHIVE_DAYS = 60
_NEW = ("stored", "superseded", "pending", "split")


class Counting:
    """An embedder that counts the texts that it is asked for."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.space = inner.space
        self.texts = 0

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        self.texts += len(texts)
        return await self._inner.embed(texts, purpose)


@dataclass(slots=True)
class Lived:
    """What a year left behind, by kind of saying and result."""

    results: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    stored_again: Counter[str] = field(default_factory=Counter[str])  # the fact was there, active
    said_again: Counter[str] = field(default_factory=Counter[str])
    wrong_merges: int = 0
    merges: int = 0
    contradicted: Counter[str] = field(default_factory=Counter[str])
    both_active: Counter[str] = field(default_factory=Counter[str])
    waiting: Counter[str] = field(default_factory=Counter[str])  # of those both_active is not
    retired: int = 0  # outdated by a statement about something else
    asked_in_vain: int = 0  # of statements that contradict nothing, those that wait for a person
    deleted: int = 0
    deleted_unarchived: int = 0
    archived: int = 0
    growth: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    examples: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    writes: int = 0
    pending: int = 0

    def show(self, what: str, text: str) -> None:
        kept = self.examples.setdefault(what, [])
        if len(kept) < 5:
            kept.append(text)


@dataclass(slots=True)
class _Year:
    """The year as it goes: who holds which label where."""

    home: Staged
    lived: Lived
    callers: dict[tuple[int, int | None], Caller] = field(
        default_factory=dict[tuple[int, "int | None"], Caller]
    )
    label_of: dict[str, str] = field(default_factory=dict[str, str])  # by memory id
    text_of: dict[str, str] = field(default_factory=dict[str, str])
    ids_of: dict[str, set[str]] = field(default_factory=dict[str, set[str]])  # by label
    distinct: set[str] = field(default_factory=set[str])
    changed: set[str] = field(default_factory=set[str])  # facts that had another value before
    retired: set[str] = field(default_factory=set[str])

    async def caller(self, saying: Saying) -> Caller:
        key = (saying.agent, saying.user)
        if key not in self.callers:
            user = None if saying.user is None else f"u{saying.user}"
            self.callers[key] = await self.home.caller(
                agent=f"a{saying.agent}", user=user, lifetime_s=_TICKET_S
            )
        return self.callers[key]


async def lived(
    folder: pathlib.Path,
    embedder: Embedder,
    *,
    writes: int,
    agents: int,
    seed: int = 7,
    spoken: Vocabulary = PLAIN,
    judge: Judge | None = None,
) -> Lived:
    """Write the year's sayings in order, searching now and then, with upkeep once a month."""
    settings = Settings(archived_kept_days=_ARCHIVE_DAYS)
    if judge is not None:
        settings = judge.settings(settings)
    chat = None if judge is None else LiteLLMChat(settings)
    async with world(folder, embedder=embedder, settings=settings, chat=chat) as home:
        year = _Year(home, Lived(writes=writes))
        step = YEAR / writes
        upkeep_at = home.clock.now() + _MONTH
        for number, saying in enumerate(sayings(writes, agents, seed, spoken)):
            home.clock.advance(seconds=step.total_seconds())
            if judge is not None:
                judge.learn(saying)
            await _say(year, saying, number)
            if home.clock.now() >= upkeep_at:
                upkeep_at += _MONTH
                await _upkeep(year)
        await _upkeep(year)
        return year.lived


async def _say(year: _Year, saying: Saying, number: int) -> None:
    home, caller = year.home, await year.caller(saying)
    command = Write.model_validate(
        {
            "command_id": CommandName(f"y{number}"),
            "content": saying.content,
            "scope": None if saying.user is not None else f"agent:a{saying.agent}",
            "topic": saying.topic,
            "confidence": saying.confidence,
        }
    )
    there = await _active(year, year.ids_of.get(saying.label, set()))
    before = await _active(year, year.ids_of.get(saying.against or "", set()))
    if saying.kind == "duplicate":  # of the same words, rather than of a paraphrase
        plain = letters_apart(saying.content)
        there = {name for name in there if letters_apart(year.text_of[name]) == plain}
    receipt = await write(home.world, caller, command)
    await _counted(year, saying, receipt, bool(there))
    if before:
        await _contradicted(year, saying, before)
    if number % _SEARCH_EACH == 0:
        await search(home.world, caller, Search(query=saying.content))
        await home.jobs.finish()


async def _counted(year: _Year, saying: Saying, receipt: Receipt, there: bool) -> None:
    seen = year.lived
    _count_asked(year, saying, receipt)
    seen.results[saying.kind, receipt.result] += 1
    seen.pending += receipt.result == "pending"
    if receipt.result in ("duplicate", "merged"):
        seen.merges += 1
        kept = receipt.ids[0]
        same = letters_apart(year.text_of.get(kept, "")) == letters_apart(saying.content)
        if saying.kind != "noise" and year.label_of.get(kept) != saying.label and not same:
            seen.wrong_merges += 1
            seen.show("wrong merge", f"{saying.content!r} into {year.text_of.get(kept)!r}")
        year.text_of[kept] = saying.content
    elif receipt.result in _NEW:
        for name in receipt.ids:
            year.label_of[name] = saying.label
            year.text_of[name] = saying.content
        if saying.kind != "noise":
            year.ids_of.setdefault(saying.label, set()).update(receipt.ids)
    if saying.kind != "noise":
        year.distinct.add(saying.label.partition("/")[0])
    if there and saying.kind in ("duplicate", "paraphrase"):
        seen.said_again[saying.kind] += 1
        if receipt.result in _NEW:
            seen.stored_again[saying.kind] += 1
            seen.show(f"{saying.kind} stored", f"{saying.content!r}: {receipt.why}")


def _count_asked(year: _Year, saying: Saying, receipt: Receipt) -> None:
    """What waits for a person though its fact never had another value."""
    name = saying.label.partition("/")[0]
    if saying.against is not None:
        year.changed.add(name)
    if saying.kind != "noise" and receipt.result == "pending" and name not in year.changed:
        year.lived.asked_in_vain += 1
        year.lived.show("asked in vain", f"{saying.content!r}: {receipt.why}")


async def _contradicted(year: _Year, saying: Saying, before: set[str]) -> None:
    seen = year.lived
    seen.contradicted[saying.kind] += 1
    new = await _active(year, year.ids_of.get(saying.label, set()))
    if not new:
        seen.waiting[saying.kind] += 1
    if new and await _active(year, before):
        seen.both_active[saying.kind] += 1
        seen.show(f"{saying.kind} both active", saying.content)


async def _active(year: _Year, ids: set[str]) -> set[str]:
    if not ids:
        return set()
    async with year.home.world.ledger.reading() as unit:
        found = await unit.memories.current(TENANT, sorted(ids))
    return {name for name, memory in found.items() if memory.status == "active"}


async def _upkeep(year: _Year) -> None:
    """A pass of the steward; what it lets go must have been archived before."""
    home, seen = year.home, year.lived
    await _count_retired(year)
    while True:
        done = await steward_slice(home.world, TENANT, _SLICE)
        seen.archived += len(done.archived)
        seen.deleted += len(done.forgotten)
        async with home.world.ledger.reading() as unit:
            for name in done.forgotten:
                notes = await unit.memories.history(TENANT, name)
                seen.deleted_unarchived += [note.status for note in notes][-2] != "archived"
        if done.done:
            break
    seen.growth.append((len(year.distinct), len(await _rows(home, "active"))))


async def _count_retired(year: _Year) -> None:
    """Outdated ones that what superseded them says nothing about."""
    for memory in await _rows(year.home, "outdated"):
        by = year.label_of.get(memory.superseded_by or "")
        was = year.label_of.get(memory.id)
        if by is None or was is None or memory.id in year.retired:
            continue
        year.retired.add(memory.id)
        if by.partition("/")[0] != was.partition("/")[0]:
            year.lived.retired += 1
            newer = year.text_of[memory.superseded_by or ""]
            year.lived.show("wrongly retired", f"{memory.content!r} by {newer!r}")


async def _rows(home: Staged, status: Status) -> list[Memory]:
    rows = replace(everything(TENANT), statuses=frozenset({status}))
    found: list[Memory] = []
    after = 0
    async with home.world.ledger.reading() as unit:
        while page := await unit.upkeep.page(rows, after=after, limit=_SLICE):
            found += [memory for _, memory in page]
            after = page[-1][0]
    return found
