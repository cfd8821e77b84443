"""How answers look: one JSON document for programs, tables for people.

Colours appear on a terminal only, and `NO_COLOR` turns them off there too. Ids are never cut, and
what goes into a pipe has lines as long as they are.
"""

import io
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from hindsight_ray.core.report.counts import counted
from hindsight_ray.core.steps import call_and_end
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.chat import Retried
from hindsight_ray.domain.commands import ImportReport, WhyAnswer
from hindsight_ray.domain.credit import Credit
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.review import ReviewReport
from hindsight_ray.domain.run import Outcome, Run, RunSummary, Trajectory
from hindsight_ray.entry.cli.listing import PROSE, Listing

_PIPE_WIDTH = 1_000_000  # columns where no terminal says how wide it is


def answer(as_json: bool, document: object, picture: RenderableType) -> None:
    """Print the document if JSON is wanted, else the picture."""
    if as_json:
        print_json(document)
    else:
        _print(picture)


def _print(picture: RenderableType) -> None:
    """Text is never broken here: a terminal wraps it and can still copy it whole."""
    if sys.stdout.isatty():
        Console(highlight=False).print(picture, soft_wrap=True)
        return
    drawn = io.StringIO()
    Console(file=drawn, highlight=False, width=_PIPE_WIDTH).print(picture, soft_wrap=True)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in drawn.getvalue().split("\n")[:-1]))


def print_line(text: str) -> None:
    """Print text for another program to take: never wrapped, never coloured."""
    sys.stdout.write(text + "\n")


def print_json(document: object) -> None:
    """Print one JSON document on standard output, in UTF-8 whatever the terminal's locale."""
    text = json.dumps(document, default=_plain, ensure_ascii=False, indent=2)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def table(*headings: str, title: str | None = None) -> Table:
    """An empty table in the house style.

    A heading ending in `#` is set to the right; one ending in `…` is of prose, which may fold.
    """
    made = Listing(
        title=title, title_justify="left", title_style="bold", box=None, header_style="bold dim",
        pad_edge=False,
    )  # fmt: skip
    for heading in headings:
        right = heading.endswith("#")
        prose = heading.endswith(PROSE)
        made.add_column(
            heading[:-1] if right or prose else heading,
            justify="right" if right else "left",
            no_wrap=not prose,
            overflow="fold",
        )
    return made


def pairs(fields: Mapping[str, object]) -> Table:
    """Names and values under one another; what is None or empty is left out."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="dim")
    made.add_column(overflow="fold")
    for name, value in fields.items():
        if value is not None and value not in ("", (), []):
            made.add_row(name, escape(value if isinstance(value, str) else str(value)))
    return made


def counting(text: str) -> None:
    """Say on a terminal how far something long has come, over what was said before."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text}" if text else "\r\x1b[K")
        sys.stderr.flush()


def note(as_json: bool, text: str) -> None:
    """Say something on standard error that belongs to no document; to a program, nothing."""
    if as_json:
        return
    Console(stderr=True, highlight=False).print(Text(text, style="dim"), soft_wrap=True)


_RESULT_STYLE = {"stored": "green", "merged": "green", "split": "green", "refused": "red"}


def receipt(value: Receipt) -> RenderableType:
    style = _RESULT_STYLE.get(value.result, "yellow")
    lines: list[RenderableType] = [Text.assemble((value.result, f"bold {style}"), f"  {value.why}")]
    lines += [Text(f"  {identity}") for identity in value.ids]
    return Group(*lines)


def nothing(what: str, more: str = "") -> RenderableType:
    """How every empty answer reads."""
    return Text(f"no {what} {more}".rstrip(), style="dim")


def rows(made: Table, what: str, more: str = "") -> RenderableType:
    """The table, or that there is nothing in it."""
    return made if made.row_count else nothing(what, more)


def heading(text: str) -> RenderableType:
    """What the following is about."""
    return Text(text, style="bold")


def found(value: Found) -> RenderableType:
    far = value.below_similarity_min
    less = f"{far} left out below search_similarity_min" if far else ""
    if not value.hits:
        return nothing("memories", f"found; {less}" if far else "found")
    made = table("score#", "type", "scope", "memory…", "why…", "id")
    for hit in value.hits:
        routes = ", ".join(f"{route} {rank}" for route, rank in hit.routes.items())
        state = "" if hit.memory.status == "active" else f" [{hit.memory.status}]"
        made.add_row(
            f"{hit.score:.3f}",
            hit.memory.type,
            hit.memory.scope,
            Text(hit.memory.content + state),
            routes,
            Text(str(hit.memory.id), style="dim"),
        )
    notes = [Text(f"degraded: {what}", style="yellow") for what in value.degraded]
    notes += [Text(less, style="dim")] if less else []
    return Group(made, *notes)


def runs(value: Sequence[RunSummary]) -> RenderableType:
    if not value:
        return nothing("runs")
    made = table("started", "run", "goal…", "scope", "events#", "outcome#", "state")
    for one in value:
        made.add_row(
            _began(one.run),
            one.run.run_id,
            Text(line(one.run.goal)),
            one.run.scope,
            str(one.events),
            score(one.outcome),
            "closed" if one.run.closed_at else "open",
        )
    return made


def _state(run: Run) -> str:
    if run.closed_at is None:
        return "open"
    return f"closed {run.closed_at:%Y-%m-%d %H:%M:%S}" if run.timed else "closed"


def _began(run: Run) -> str:
    """When it began; of a log that does not say, when that was imported."""
    return f"{'' if run.timed else 'imported '}{run.started_at:%Y-%m-%d %H:%M}"


def trajectory(value: Trajectory) -> RenderableType:
    """The run's head, its timeline with what each step rests on, and its outcomes."""
    run = value.run
    people = sorted({one.agent or "" for one in run.participants} | {e.agent for e in value.events})
    head = pairs(
        {
            "run": run.run_id,
            "goal": run.goal,
            "task": run.task_type,
            "scope": run.scope,
            "audience": ", ".join(run.audience),
            "agents": ", ".join(filter(None, people)),
            "state": _state(run),
            "imported": "yes, trusted" if run.imported and run.trusted else
                        "yes, untrusted" if run.imported else None,
            "times": None if run.timed else
                     f"none in its log; imported {run.started_at:%Y-%m-%d %H:%M:%S}",
        }
    )  # fmt: skip
    parts: list[RenderableType] = [head, Text(""), timeline(value), Text("")]
    parts += [outcome(one) for one in value.outcomes]
    for gap in value.gaps:
        missing = f"missing: {gap.agent} numbers {gap.first} to {gap.last}"
        parts.append(Text(missing, style="yellow"))
    if value.dangling:
        parts.append(Text(f"dangling causes: {len(value.dangling)}", style="yellow"))
    return Group(*parts)


def outcome(value: Outcome) -> Text:
    verdict = Text("outcome ", style="dim")
    verdict.append(score(value.value), style="bold green" if value.success else "bold red")
    return verdict.append(f" by {value.by} ({value.evaluator})")


_STEP_CHARACTERS, _CALL_CHARACTERS = 160, 80  # of a step in a line; of its call
_KIND_STYLE = {
    "tool": "cyan", "decision": "magenta", "message": "blue", "user": "green", "llm": "white",
    "state": "dim",
}  # fmt: skip


def timeline(
    value: Trajectory, given: Mapping[str, Credit] | None = None, word: str = "credit"
) -> Table:
    """Every step with what it rests on, and its credit or score where `given`, by event; without
    seconds where they are not known."""
    numbers = {event.event_id: number for number, event in enumerate(value.events, start=1)}
    more = () if given is None else (f"{word}#",)
    made = table("##", "+s#", "agent", "kind", *more, "what…", "because of…")
    start = value.events[0].timestamp if value.events else value.run.started_at
    for event in value.events:
        made.add_row(
            str(numbers[event.event_id]),
            f"{(event.timestamp - start).total_seconds():.1f}" if value.run.timed else "",
            event.agent,
            Text(event.kind, style=_KIND_STYLE.get(event.kind, "")),
            *(() if given is None else (_credit(given.get(event.event_id)),)),
            step(event),
            " ".join(f"#{numbers[cause]}" if cause in numbers else "?" for cause in event.causes),
        )
    return made


def _credit(given: Credit | None) -> Text:
    if given is None:
        return Text("")
    style = "blue" if given.value > 0 else "red" if given.value < 0 else "dim"
    return Text(score(given.value), style=style)


def step(event: Event) -> Text:
    """A step in a line: of a call whether it worked, with what arguments, and what came back."""
    text = Text()
    if event.tool is not None:
        worked, name = event.tool.status == "ok", len(event.tool.name)
        text.append("ok  " if worked else "failed  ", style="green" if worked else "red")
        call, end = call_and_end(event)
        call = line(call, _CALL_CHARACTERS)
        text.append(call[:name], style="bold").append(call[name:])
        if end:
            text.append(f" → {line(end, _STEP_CHARACTERS - len(call))}")
    else:
        text.append(line(event.summary))
    if event.to:
        text.append(f"  → {event.to}", style="blue")
    if event.used:
        text.append(f"  (used {counted(len(event.used), 'memory')})", style="dim")
    return text


def review(value: ReviewReport) -> RenderableType:
    return pairs(
        {
            "review": f"{value.kind or 'made'} ({', '.join(value.triggers)})",
            "claims": value.claims,
            "stored": "\n".join(value.stored) or "none",
            "wait for a person": value.waiting or None,
            "known before": value.duplicates or None,
            "rejected": "\n".join(value.rejected),
            "model failed": value.failure and f"{value.failure.failure}: {value.failure.why}",
        }
    )


def retried(value: Retried) -> RenderableType:
    parts: list[RenderableType] = [
        Text(f"{value.tried} tried, {len(value.mended)} mended, {len(value.failed)} failed")
    ]
    parts += [
        Text(
            f"{one.run_id}  {one.kind}  {one.failure} ({one.attempts})  {line(one.why)}",
            style="yellow",
        )
        for one in value.failed
    ]
    if value.stopped:
        parts.append(Text(f"stopped: {value.stopped}", style="yellow"))
    return Group(*parts)


def imported(value: ImportReport) -> RenderableType:
    said = f"{counted(value.runs, 'run')}, {counted(value.events, 'event')}"
    if value.repeated:
        were = "was" if value.repeated == 1 else "were"
        before = f"{counted(value.repeated, 'run')} {were} there before"
        said = f"{said}; {before}" if value.runs else f"nothing new: {before}"
    elif not value.runs:
        said = "nothing was taken: no run in the file could be"
    parts: list[RenderableType] = [Text(said)]
    if value.untimed:
        parts.append(Text(f"no times in the log of {counted(value.untimed, 'run')}", style="dim"))
    parts += [
        Text(f"left out at {one.position}: {one.reason}", style="yellow") for one in value.refused
    ]
    return Group(*parts)


def why(value: WhyAnswer) -> RenderableType:
    verdict = ("allowed", "bold green") if value.allowed else ("denied", "bold red")
    made = table("action", "object", "decision", "reason…", "rule…", "by way of…")
    for one in value.decisions:
        made.add_row(
            one.action,
            one.object,
            Text("allow" if one.allowed else "deny", style="green" if one.allowed else "red"),
            one.reason,
            one.rule or "",
            " → ".join(one.role_path),
        )
    stands = f"; the memory is {value.status}" if value.status is not None else ""
    return Group(Text.assemble(verdict, f" at policy revision {value.revision}{stands}"), made)


def score(value: float | None) -> str:
    """A score with its sign, or nothing."""
    return "" if value is None else f"{value:+.2f}"


def is_nothing(value: float) -> bool:
    """Whether a score reads as zero."""
    return abs(value) < 0.005


def line(text: str, limit: int = 120) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def facts(document: Mapping[str, Any], title: str) -> RenderableType:
    """A flat document as names and values under a title."""
    said = {name.replace("_", " "): value for name, value in document.items()}
    return Group(Text(title, style="bold"), pairs(said))


def plain(text: str) -> RenderableType:
    """Text as it is, with no markup read into it."""
    return Text(text)


def stacked(*parts: RenderableType) -> RenderableType:
    """One under the other."""
    return Group(*parts)
