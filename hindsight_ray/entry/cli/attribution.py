"""The command `attribute`: who made the outcome, as a table, a page, an image or a document."""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import typer

from hindsight_ray.core.report.page import heading, page
from hindsight_ray.core.report.timeline import timeline
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.credit import Attribution, Credited
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.entry.cli import show, show_credit
from hindsight_ray.entry.cli.asking import asking, built
from hindsight_ray.entry.cli.options import RUNS, Asked, command
from hindsight_ray.errors import InvalidInput

_HERE = ("provenance", "blame", "spectrum", "judge")  # found by asking; any other method was kept


def add_to(app: typer.Typer) -> None:
    """Put the command of this module into the program."""
    command(
        app,
        "attribute",
        panel=RUNS,
        epilog="Example: hindsight-ray attribute RUN --tenant acme --html credit.html",
    )(attributed)


async def attributed(
    asked: Asked,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")],
    *,
    method: Annotated[
        str,
        typer.Option(
            help="`provenance`, `blame`, `spectrum`, `judge`, or one by which credit was kept, such"
            " as `shapley`."
        ),
    ] = "provenance",
    formula: Annotated[
        str | None, typer.Option(help="Of a spectrum: `ochiai`, `tarantula` or `dstar`.")
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="Of a judge: `all at once`, `step by step` or `binary search`."),
    ] = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show every step of the run with its credit as well.")
    ] = False,
    html: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", help="Write a page with the figure.")
    ] = None,
    png: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", help="Write the figure as an image.")
    ] = None,
    prov: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", help="Write a W3C PROV document, JSON.")
    ] = None,
) -> None:
    """Share a run's outcome among the decisions that led to it, or say why not."""
    run = built(c.ReadForReplay, {"run_id": run_id})
    question = None
    if method in _HERE:
        fields = {"run_id": run_id, "method": method, "formula": formula, "strategy": strategy}
        question = built(c.Attribute, fields)
    async with asking(asked) as memory:
        # What this reader may not read is left out of all three answers, so of every file too.
        record: c.ReplayRecord = await memory.ask(run)
        kept = await memory.credits(run_id)
        found: Attribution = (
            _kept_by(method, kept) if question is None else await memory.ask(question)
        )
    for file, content in (
        (html, lambda: page(record.trajectory, found).encode("utf-8")),
        (png, lambda: _image(record.trajectory, found)),
        (prov, lambda: _document(record.trajectory, found)),
    ):
        if file is not None:
            show.note(asked.json, f"wrote {file} ({_write(file, content()):,} bytes)")
    picture = show_credit.attribution(found, record.trajectory, kept, steps=steps)
    show.answer(asked.json, found, picture)


def _kept_by(method: str, kept: Sequence[Credited]) -> Attribution:
    """The newest that was kept by this method."""
    found = [one for one in kept if one.attribution.method == method]
    if not found:
        there = ", ".join(dict.fromkeys(one.attribution.method for one in kept)) or "none"
        raise InvalidInput(
            f"`--method` {method!r} is none of {', '.join(_HERE)}, and no credit by it is kept for"
            f" this run (kept: {there}); replay the run from Python with `memory.attribute`",
            field="method",
        )
    return max(found, key=lambda one: one.at).attribution


def _image(trajectory: Trajectory, found: Attribution) -> bytes:
    from hindsight_ray.adapters.reports.png import png  # noqa: PLC0415 - only where it is wanted

    return png(timeline(trajectory, found), heading(trajectory, found))


def _document(trajectory: Trajectory, found: Attribution) -> bytes:
    from hindsight_ray.adapters.reports.w3c_prov import prov_json  # noqa: PLC0415 - as above

    return prov_json(trajectory, found).encode("utf-8")


def _write(file: pathlib.Path, data: bytes) -> int:
    try:
        file.write_bytes(data)
    except OSError as error:
        raise InvalidInput(f"`FILE` {file} cannot be written: {error.strerror}") from None
    return len(data)
