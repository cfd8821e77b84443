"""People in the loop: what waits for them, and samples that they look at."""

import uuid
from collections.abc import Sequence
from typing import Annotated, Literal

import typer
from rich.console import RenderableType

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.upkeep import Sample, SampleReport, SampleWeek, Verdict, Waiting
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import ask, asking, built, text_or_input
from hindsight_ray.entry.cli.options import UPKEEP, Asked, command, remember_place
from hindsight_ray.errors import HindsightError

Id = Annotated[str, typer.Argument(metavar="ID", help="The memory's id.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Memories' ids.")]
Why = Annotated[str | None, typer.Option("--why", help="Kept in its history.")]
ScopeOption = Annotated[
    str | None, typer.Option("--scope", metavar="SCOPE", help="Only this scope.")
]


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    pending = typer.Typer(
        no_args_is_help=True, help="What waits for a person.", callback=remember_place
    )
    example = "Example: hindsight-ray pending"
    command(pending, "list", epilog=f"{example} list --tenant acme --user alice")(listed)
    command(pending, "accept", epilog=f"{example} accept ID --tenant acme --user alice")(accept)
    command(pending, "reject", epilog=f"{example} reject ID --tenant acme --user alice")(reject)
    command(pending, "edit", epilog=f'{example} edit ID "The depot opens at six"')(edit)
    app.add_typer(pending, name="pending", rich_help_panel=UPKEEP)


def add_to_audit(audit: typer.Typer) -> None:
    """Put what people say of samples beside the audit."""
    example = "Example: hindsight-ray audit"
    command(audit, "sample", epilog=f"{example} sample --n 20 --seed 7 --tenant acme")(sample)
    command(audit, "judge", epilog=f"{example} judge ID bad --tenant acme")(judge)
    command(audit, "report", epilog=f"{example} report --tenant acme")(report)


async def listed(
    asked: Asked,
    *,
    scope: ScopeOption = None,
    limit: Annotated[int, typer.Option(help="At most so many.")] = 50,
) -> None:
    """List what waits for a person, oldest first, with why and what contradicts it."""
    found: Sequence[Waiting] = await ask(asked, c.ListPending, {"scope": scope, "limit": limit})
    made = show.table("id", "scope", "status", "statement…", "why…", "against…")
    for one in found:
        memory = one.memory
        against = "; ".join(kept.content for kept in one.conflicts)
        row = (memory.id, memory.scope, memory.status, memory.content, one.why, against)
        made.add_row(*map(show.plain, row))
    show.answer(asked.json, list(found), show.rows(made, "memories", "wait for a person"))


async def accept(asked: Asked, memory_ids: Ids, *, why: Why = None) -> int:
    """Accept what waits: it counts from now on, and outdates what it contradicts."""
    return await _decide_each(asked, memory_ids, "accept", why)


async def reject(asked: Asked, memory_ids: Ids, *, why: Why = None) -> int:
    """Reject what waits: it is forgotten."""
    return await _decide_each(asked, memory_ids, "reject", why)


async def edit(
    asked: Asked,
    memory_id: Id,
    content: Annotated[str, typer.Argument(help="The right text; `-` reads standard input.")],
    *,
    why: Why = None,
) -> None:
    """Accept what waits with a text of your own in its place."""
    decision = _decision(memory_id, "edit", why, text_or_input(content))
    receipt: Receipt = await ask(asked, c.DecidePending, decision)
    show.answer(asked.json, receipt, show.receipt(receipt))


async def _decide_each(
    asked: Asked, memory_ids: Sequence[str], decision: Literal["accept", "reject"], why: str | None
) -> int:
    """Each is answered by itself: one that is refused holds up no other. Exit 1 if one was."""
    fields = [_decision(one, decision, why) for one in dict.fromkeys(memory_ids)]
    if len(fields) == 1:
        receipt: Receipt = await ask(asked, c.DecidePending, fields[0])
        show.answer(asked.json, receipt, show.receipt(receipt))
        return 0
    commands = [built(c.DecidePending, one) for one in fields]
    told: list[dict[str, object]] = []
    parts: list[RenderableType] = []
    async with asking(asked) as memory:
        for one in commands:
            try:
                receipt = await memory.ask(one)
            except HindsightError as error:
                kind = type(error).__name__
                told.append({"id": one.memory_id, "error": kind, "message": error.message})
                parts.append(show.plain(f"refused  {error.message}\n  {one.memory_id}"))
            else:
                told.append({"id": one.memory_id, **receipt.model_dump(mode="json")})
                parts.append(show.receipt(receipt))
    show.answer(asked.json, told, show.stacked(*parts))
    return 1 if any("error" in one for one in told) else 0


def _decision(
    memory_id: str,
    decision: Literal["accept", "reject", "edit"],
    why: str | None,
    content: str | None = None,
) -> dict[str, object]:
    return {
        "memory_id": memory_id, "decision": decision, "why": why, "content": content,
        "command_id": uuid.uuid4().hex,
    }  # fmt: skip


async def sample(
    asked: Asked,
    *,
    n: Annotated[int, typer.Option("--n", "-n", help="How many to look at.")] = 20,
    seed: Annotated[
        int | None, typer.Option(help="The same seed draws the same ones; another each time.")
    ] = None,
    scope: ScopeOption = None,
) -> None:
    """Draw memories at random, to say of each with `audit judge` whether it is good."""
    drawn: Sample = await ask(asked, c.DrawSample, {"n": n, "seed": seed, "scope": scope})
    made = show.table("id", "scope", "type", "statement…", "from")
    for one in drawn.memories:
        row = (one.id, one.scope, one.type, one.content, one.source.kind)
        made.add_row(*map(show.plain, row))
    told = f"{len(drawn.memories)} of {drawn.population}; --seed {drawn.seed} draws the same ones"
    parts = [show.rows(made, "memories", "to draw from")]
    parts += [show.plain(told)] if drawn.memories else []
    show.answer(asked.json, drawn, show.stacked(*parts))


async def judge(
    asked: Asked,
    memory_id: Id,
    verdict: Annotated[str, typer.Argument(help="good, bad or unsure.")],
) -> None:
    """Record whether a memory that was drawn is good."""
    fields = {"memory_id": memory_id, "verdict": verdict, "command_id": uuid.uuid4().hex}
    said: Verdict = await ask(asked, c.JudgeSample, fields)
    show.answer(asked.json, said, show.plain(f"{said.memory_id} is {said.verdict}"))


async def report(asked: Asked, *, scope: ScopeOption = None) -> None:
    """Tell the estimated share of bad memories, with its interval, week by week."""
    found: SampleReport = await ask(asked, c.ReadSamples, {"scope": scope})
    made = show.table("week from", "judged#", "bad#", "unsure#", "share", "95 % interval")
    for week in found.weeks:
        made.add_row(*_row(week.since.date().isoformat(), week))
    if found.total is not None:
        made.add_row(*_row("all", found.total))
    show.answer(asked.json, found, show.rows(made, "memories", "were judged yet"))


def _row(name: str, week: SampleWeek) -> tuple[str, ...]:
    share = "" if week.share is None else f"{week.share:.1%}"
    interval = f"{week.low:.1%} to {week.high:.1%}"
    return name, str(week.judged), str(week.bad), str(week.unsure), share, interval
