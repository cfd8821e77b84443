"""The verbs on one memory, by its id: get, update, forget, history, explain, promote."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.memory import Memory, RevisionNote
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import ask, text_or_input
from hindsight_ray.entry.cli.memories import CommandId, Times, moment
from hindsight_ray.entry.cli.options import MEMORIES, Asked, command
from hindsight_ray.entry.once import fresh_unless

Id = Annotated[str, typer.Argument(metavar="ID", help="The memory's id.")]


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    who = "--tenant acme --user alice"
    for name, verb, more in (
        ("get", get, ""),
        ("update", update, ' "The depot opens at six"'),
        ("forget", forget, ""),
        ("history", history, ""),
        ("explain", explain, ""),
        ("promote", promote, " --scope global"),
    ):
        example = f"Example: hindsight-ray {name} ID{more} {who}"
        command(app, name, epilog=example, panel=MEMORIES)(verb)


async def get(asked: Asked, memory_id: Id) -> None:
    """Show a memory as it is now."""
    memory: Memory = await ask(asked, c.Get, {"memory_id": memory_id})
    fields = memory.model_dump(mode="json", exclude_defaults=True)
    made = show.table("field", "value…")
    for name, value in fields.items():
        made.add_row(
            name.replace("_", " "),
            show.plain(value if isinstance(value, str) else json.dumps(value)),
        )
    show.answer(asked.json, memory, made)


async def update(
    asked: Asked,
    memory_id: Id,
    content: Annotated[
        str | None, typer.Argument(help="The new text; `-` reads standard input.")
    ] = None,
    *,
    confidence: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="In place of those before; may be repeated.")
    ] = None,
    expires: Times = None,
    if_revision: Annotated[
        int | None, typer.Option(metavar="N", help="Refuse if the memory has moved on from it.")
    ] = None,
    command_id: CommandId = None,
) -> None:
    """Change a memory; what is left out stays."""
    fields = {
        "memory_id": memory_id, "content": None if content is None else text_or_input(content),
        "confidence": confidence, "importance": importance, "tags": tag or None,
        "expires_at": moment("expires", expires), "if_revision": if_revision,
        "command_id": fresh_unless(command_id),
    }  # fmt: skip
    await _changed(asked, c.Update, fields)


async def forget(asked: Asked, memory_id: Id, *, command_id: CommandId = None) -> None:
    """Take a memory out of every answer."""
    fields = {"memory_id": memory_id, "command_id": fresh_unless(command_id)}
    await _changed(asked, c.Forget, fields)


async def history(asked: Asked, memory_id: Id) -> None:
    """Show who changed a memory, when and why, and what it said then."""
    notes: Sequence[RevisionNote] = await ask(asked, c.History, {"memory_id": memory_id})
    made = show.table("revision#", "at", "by", "why…", "status", "statement…")
    for note in notes:
        at = note.at.isoformat(timespec="seconds")
        said = note.content or "(erased)"
        row = (str(note.revision), at, note.by, note.why, note.status, said)
        made.add_row(*map(show.plain, row))
    show.answer(asked.json, list(notes), made)


async def explain(asked: Asked, memory_id: Id) -> None:
    """Show what a memory rests on: the events it cites and what it was derived from."""
    found: c.Explanation = await ask(asked, c.Explain, {"memory_id": memory_id})
    head = show.pairs(
        {
            "memory": found.memory_id,
            "source": found.source_kind,
            "run": found.run_id,
            "derived from": "\n".join(
                f"{one.id} revision {one.revision}" for one in found.derived_from
            ),
        }
    )
    made = show.table("at", "agent", "kind", "what…")
    for event in found.events:
        at = event.timestamp.isoformat(timespec="seconds") if found.timed else ""
        made.add_row(*map(show.plain, (at, event.agent, event.kind)), show.step(event))
    parts = [head, made] if found.events else [head, show.nothing("events")]
    show.answer(asked.json, found, show.stacked(*parts))


async def promote(
    asked: Asked,
    memory_id: Id,
    *,
    scope: Annotated[str, typer.Option(metavar="SCOPE", help="Where it is copied to.")] = "global",
    command_id: CommandId = None,
) -> None:
    """Copy a memory to another scope, for its readers, on purpose; a curator may."""
    fields = {"memory_id": memory_id, "scope": scope, "command_id": fresh_unless(command_id)}
    await _changed(asked, c.Promote, fields)


async def _changed(asked: Asked, kind: type[c.Command], fields: Mapping[str, object]) -> None:
    receipt: Receipt = await ask(asked, kind, fields)
    show.answer(asked.json, receipt, show.receipt(receipt))
