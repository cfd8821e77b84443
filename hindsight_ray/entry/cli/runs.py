"""The verbs on runs: list, show, import, outcome, review."""

import pathlib
import re
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from hindsight_ray.core.logs.formats import PARSERS
from hindsight_ray.core.report.counts import counted
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.chat import Retried, Spent
from hindsight_ray.domain.review import ReviewReport
from hindsight_ray.domain.run import Outcome, RunSummary, Trajectory
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import ask, asking, built
from hindsight_ray.entry.cli.options import RUNS, Asked, command, remember_place
from hindsight_ray.errors import InvalidImport, InvalidInput

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]
_NEGATIVE = re.compile(r"-\.?\d.*")
_PAGE = 100
_FILE_BYTES_MAX = 256 * 1024 * 1024


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    group = typer.Typer(no_args_is_help=True, help="What was recorded.", callback=remember_place)
    command(group, "list", epilog="Example: hindsight-ray run list --tenant acme")(listed)
    command(group, "show", epilog="Example: hindsight-ray run show RUN --tenant acme")(shown)
    app.add_typer(group, name="run", rich_help_panel=RUNS)
    command(
        app,
        "import",
        panel=RUNS,
        begins=True,
        epilog="Example: hindsight-ray import log.json --format openai-messages --tenant acme",
    )(imported)
    command(
        app,
        "outcome",
        panel=RUNS,
        cls=_TakesNegative,
        epilog="Example: hindsight-ray outcome RUN -0.5 --evaluator monitor --tenant acme",
    )(judged)
    command(app, "review", epilog="Example: hindsight-ray review RUN --tenant acme", panel=RUNS)(
        reviewed
    )
    command(app, "spent", epilog="Example: hindsight-ray spent --tenant acme", panel=RUNS)(spent)


async def listed(
    asked: Asked,
    *,
    limit: Annotated[int | None, typer.Option(help="At most so many (20).")] = None,
    task_type: Annotated[str | None, typer.Option(help="Only of this type.")] = None,
    before: Annotated[
        str | None, typer.Option(metavar="RUN", help="Only older ones than this.")
    ] = None,
) -> None:
    """List runs, newest first; says whether there are more."""
    fields = {"task_type": task_type, "before": before}
    page = built(c.ListRuns, {**fields, "limit": limit})
    async with asking(asked) as memory:
        runs: tuple[RunSummary, ...] = await memory.ask(page)
        more = False
        if len(runs) == page.limit:
            rest = built(c.ListRuns, {**fields, "before": runs[-1].run.run_id, "limit": 1})
            more = bool(await memory.ask(rest))
    parts = [show.runs(runs)]
    if more:
        parts.append(show.plain(f"there are more: --before {runs[-1].run.run_id}"))
    show.answer(asked.json, {"runs": list(runs), "more": more}, show.stacked(*parts))


async def shown(asked: Asked, run_id: RunId) -> None:
    """Show a run as a timeline: who did what, and what each step rests on."""
    trajectory: Trajectory = await ask(asked, c.ReadRun, {"run_id": run_id})
    show.answer(asked.json, trajectory, show.trajectory(trajectory))


async def imported(
    asked: Asked,
    file: Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="The log, JSON.")],
    *,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="`openai-messages` (lists of chat messages, as of τ-bench) or `who-and-when`.",
        ),
    ],
    scope: Annotated[str, typer.Option(help="Whose the runs are.", metavar="SCOPE")] = "global",
    untrusted: Annotated[
        bool, typer.Option("--untrusted", help="Nobody vouches for it: what it teaches waits.")
    ] = False,
) -> int:
    """Record the runs of a log file, as the operator. Importing again adds nothing.

    Exit 1 where the file holds no run that can be taken.
    """
    fields = {
        "format": format_, "text": _text_of(file), "scope": scope, "trusted": not untrusted,
    }  # fmt: skip
    log = built(c.ImportRuns, fields)
    parsed = PARSERS[log.format](log.text)
    if not parsed.runs:  # nor does it begin a memory
        refused = tuple(c.Refused(position=at, reason=reason) for at, reason in parsed.refused)
        nothing = c.ImportReport(runs=0, events=0, repeated=0, refused=refused)
        show.answer(asked.json, nothing, show.imported(nothing))
        return 1
    report: c.ImportReport = await ask(asked, c.ImportRuns, fields)
    show.answer(asked.json, report, show.imported(report))
    return 0 if report.runs or report.repeated else 1


class _TakesNegative(TyperCommand):
    """A command whose arguments may be below nothing: `-0.5` is a number and no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        numbers = [one for one in args if _NEGATIVE.fullmatch(one)]
        if not numbers or "--" in args:
            return super().parse_args(ctx, args)
        others = [one for one in args if one not in numbers]
        return super().parse_args(ctx, [*others, "--", *numbers])


async def judged(
    asked: Asked,
    run_id: RunId,
    value: Annotated[
        float,
        typer.Argument(metavar="VALUE", help="From -1 to 1; above nothing it went well."),
    ],
    *,
    success: Annotated[
        bool | None,
        typer.Option("--success/--failure", help="Where the value does not say it."),
    ] = None,
    evaluator: Annotated[
        str | None, typer.Option(metavar="NAME", help="By whose or which judgement.")
    ] = None,
) -> None:
    """Say how a run went, or say it anew; who says it is in the ticket."""
    fields = {"run_id": run_id, "value": value, "success": success, "evaluator": evaluator}
    kept: Outcome = await ask(asked, c.AssertOutcome, fields)
    show.answer(asked.json, kept, show.outcome(kept))


async def reviewed(
    asked: Asked,
    run_id: Annotated[str | None, typer.Argument(metavar="RUN", help="The run's id.")] = None,
    *,
    retry: Annotated[
        bool, typer.Option("--retry", help="Take failed reviews up again, of one run or of all.")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="List the reviews that failed; try none.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Every run of the tenant; imported ones, say.")
    ] = False,
) -> None:
    """Review a run now and keep what it teaches."""
    if every:
        if run_id is not None or retry or failed:
            raise InvalidInput("`--all` takes no `RUN`, `--retry` or `--failed`")
        await _review_all(asked)
        return
    if retry or failed:
        fields = {"run_id": run_id, "list_only": failed}
        retried: Retried = await ask(asked, c.RetryReviews, fields)
        show.answer(asked.json, retried, show.retried(retried))
        return
    if run_id is None:
        raise InvalidInput("`RUN` is needed, or `--all`, or `--retry` for the reviews that failed")
    report: ReviewReport = await ask(asked, c.ReviewRun, {"run_id": run_id})
    show.answer(asked.json, report, show.review(report))


async def _review_all(asked: Asked) -> None:
    """Review each run, the newest first; what was learned before is counted as known."""
    told: dict[str, int] = {
        "runs": 0,
        "claims": 0,
        "stored": 0,
        "waiting": 0,
        "known": 0,
        "failed": 0,
    }
    async with asking(asked) as memory:
        before: str | None = None
        while page := await memory.ask(built(c.ListRuns, {"limit": _PAGE, "before": before})):
            for one in page:
                report: ReviewReport = await memory.ask(
                    built(c.ReviewRun, {"run_id": one.run.run_id})
                )
                told["runs"] += 1
                told["claims"] += report.claims
                told["stored"] += len(report.stored)
                told["waiting"] += report.waiting
                told["known"] += len(report.known)
                told["failed"] += report.failure is not None
                show.counting(f"{counted(told['runs'], 'run')} reviewed")
            before = page[-1].run.run_id
    show.counting("")
    show.answer(asked.json, told, show.facts(told, "reviewed"))


async def spent(
    asked: Asked,
    run_id: Annotated[str | None, typer.Argument(metavar="RUN", help="Of one run.")] = None,
) -> None:
    """Show what asking models has cost: of a run, or of the whole tenant."""
    found: Spent = await ask(asked, c.ReadSpending, {"run_id": run_id})
    show.answer(asked.json, found, show.facts(found.model_dump(), "asking models has cost"))


def _text_of(file: pathlib.Path) -> str:
    try:
        if file.stat().st_size > _FILE_BYTES_MAX:
            raise InvalidImport(f"`FILE` {file} is larger than {_FILE_BYTES_MAX:,} bytes; split it")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"`FILE` {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidImport(f"`FILE` {file} is not UTF-8 at byte {error.start}") from None
