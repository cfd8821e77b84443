"""What reviews and attribution make of real logs, and that doing it all again adds nothing.

Each file is imported into a tenant of its own, every run reviewed and attributed through the public
client of an embedded home. Counts are reported as they come; the figures that can fail are shares
that must be whole and additions that must be none.
"""

import asyncio
import json
import math
import pathlib
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import hindsight_ray as hr

Format = Literal["openai-messages", "who-and-when"]

_LOGS: tuple[tuple[str, Format, str], ...] = (
    ("airline", "openai-messages", "tau_airline/runs_tasks_0_24.json"),
    ("generated", "who-and-when", "who_and_when/algorithm_generated.json"),
    ("crafted", "who-and-when", "who_and_when/hand_crafted.json"),
)
_PAGE = 100


@dataclass
class _Seen:
    """What happened to one file."""

    runs: int = 0
    events: int = 0
    reviews: int = 0
    refusals: int = 0  # lessons and claims that reviews made and that were not kept
    refused: int = 0
    attributed: int = 0
    unsummed: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    uncited: int = 0
    added_again: int = 0
    triggers: Counter[str] = field(default_factory=Counter)


def figures(data: pathlib.Path) -> list[dict[str, Any]]:
    """Counts and shares for every log that is there."""
    found: list[dict[str, Any]] = []
    for name, format_, path in _LOGS:
        if not (data / path).is_file():
            continue
        text = (data / path).read_text(encoding="utf-8")
        seen = asyncio.run(_gone_through(name, format_, text))
        found += _figures(name, seen, items=len(json.loads(text)))
    if not found:
        raise SystemExit(f"none of the public logs is in {data}; name their folder by --data")
    return found


async def _gone_through(tenant: str, format_: Format, text: str) -> _Seen:
    seen = _Seen()
    with tempfile.TemporaryDirectory() as folder:
        async with hr.open(pathlib.Path(folder) / "home", embedding="static") as hindsight:
            memory = hindsight.operator(tenant)
            report = await memory.import_runs(text, format=format_)
            seen.runs, seen.events, seen.refused = report.runs, report.events, len(report.refused)
            runs = [line.run.run_id for line in await memory.runs(limit=_PAGE)]
            for run_id in runs:
                await _look_at(memory, run_id, seen)
            again = await memory.import_runs(text, format=format_)
            seen.added_again += again.runs + again.events
            for run_id in runs:
                seen.added_again += len((await memory.review(run_id)).stored)
    return seen


async def _look_at(memory: hr.Memory, run_id: str, seen: _Seen) -> None:
    events = {event.event_id for event in (await memory.trajectory(run_id)).events}
    report = await memory.review(run_id)
    seen.triggers.update(report.triggers)
    seen.reviews += report.kind is not None
    seen.refusals += len(report.rejected)
    for memory_id in report.stored:
        kept = await memory.get(memory_id)
        seen.kept[kept.type] += 1
        seen.uncited += not kept.source.events or not set(kept.source.events) <= events
    given = await memory.attribute(run_id)
    if given.abstained is None or given.outcome == 0:  # of nothing there is nothing to share out
        seen.attributed += 1
        total = math.fsum(credit.value for credit in given.credits)
        seen.unsummed += total != given.outcome


def _figures(name: str, seen: _Seen, *, items: int) -> list[dict[str, Any]]:
    share = seen.attributed / max(seen.runs, 1)
    kinds = ("fact", "preference", "procedure")
    found = sum(seen.kept[kind] for kind in kinds)
    extracted = ", ".join(f"{seen.kept[kind]} {kind}s" for kind in kinds)
    told = ", ".join(f"{count} {trigger}" for trigger, count in seen.triggers.most_common())
    return [
        _at_least(f"{name}.imported", "share of the file's runs imported", seen.runs / items, 1),
        _at_least(f"{name}.runs", f"runs imported, with {seen.events:,} events", seen.runs, 1),
        _at_most(f"{name}.refused", "runs of the file refused", seen.refused, 0),
        _at_least(f"{name}.reviews", f"reviews made, started by {told}", seen.reviews, 0),
        _at_least(f"{name}.rejected", "claims and lessons refused in them", seen.refusals, 0),
        _at_least(f"{name}.attributed", "share of runs with credit, or outcome 0", share, 1),
        _at_most(f"{name}.unsummed", "credits that miss the outcome", seen.unsummed, 0),
        _at_least(f"{name}.lessons", "experiences learned", seen.kept["experience"], 0),
        _at_least(f"{name}.extracted", f"extracted: {extracted}", found, 0),
        _at_most(f"{name}.uncited", "memories that cite no event", seen.uncited, 0),
        _at_most(f"{name}.again", "what doing it again added", seen.added_again, 0),
    ]


def _at_least(name: str, what: str, value: float, bound: float) -> dict[str, Any]:
    return {**_figure(name, what, value, bound), "holds": value >= bound}


def _at_most(name: str, what: str, value: float, bound: float) -> dict[str, Any]:
    return {**_figure(name, what, value, bound), "holds": value <= bound}


def _figure(name: str, what: str, value: float, bound: float) -> dict[str, Any]:
    unit = "share" if what.startswith("share") else "count"
    return {"id": f"reviews.{name}", "what": what, "value": value, "bound": bound, "unit": unit}
