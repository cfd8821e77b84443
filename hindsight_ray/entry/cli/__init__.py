"""The command line. `hindsight-ray` calls `main` by way of `entry/start.py`.

An answer goes to standard output, everything said beside it to standard error. With `--json` the
answer is one JSON document, and so is an error: `error`, `message` and `exit_code`. Exit codes: 0
done, 1 refused, failed or found wanting, 2 misused, 130 interrupted.
"""

import itertools
import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from typing import Annotated

import typer
from typer.main import get_command_name
from typer.models import CommandInfo, TyperInfo

from hindsight_ray import compose
from hindsight_ray.entry.cli import (
    attribution,
    audits,
    deployment,
    keeping,
    leaks,
    memories,
    one_memory,
    operate,
    people,
    policies,
    runs,
    serve,
    setting,
    sharing,
    show,
    tickets,
    upkeep,
)
from hindsight_ray.entry.cli.options import Address, Home, remember_place
from hindsight_ray.errors import HindsightError, InvalidInput

REFUSED = 1
MISUSED = 2
INTERRUPTED = 130
_DEBUG = "HINDSIGHT_DEBUG"


def _told_version(context: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    said = metadata.version("hindsight-ray")
    if context.params.get("json_"):
        show.print_json({"version": said})
    else:
        show.print_line(f"hindsight-ray {said}")
    raise typer.Exit


_Json = Annotated[  # known before `--version` answers
    bool, typer.Option("--json", help="Print one JSON document and nothing else.", is_eager=True)
]
_Version = Annotated[
    bool, typer.Option("--version", help="Print the version.", callback=_told_version)
]


def begun(
    context: typer.Context,
    home: Home = None,
    address: Address = None,
    json_: _Json = False,
    version: _Version = False,  # noqa: ARG001 - its callback answers
) -> None:
    """Keep what was said before the command."""
    remember_place(context, home, address, json_)


def program() -> typer.Typer:
    """The whole command line, put together."""
    app = typer.Typer(
        name="hindsight-ray",
        help="Shared memory for teams of agents: what they did, what they learned, who may know.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        callback=begun,
    )
    for module in (
        operate, setting, memories, one_memory, runs, attribution, tickets, sharing, policies,
        audits, leaks, people, upkeep, deployment, serve, keeping,
    ):  # fmt: skip
        module.add_to(app)
    return app


def narrowed(app: typer.Typer, arguments: Sequence[str]) -> typer.Typer:
    """The program with the commands alone that these arguments may ask for; all if they name none.

    Making all of them ready costs more than most of them take.
    """
    words = frozenset(arguments)
    groups = [one for one in app.registered_groups if _name_of(one) in words]
    commands = [one for one in app.registered_commands if _name_of(one) in words]
    if groups or commands:
        app.registered_groups, app.registered_commands = groups, commands
    return app


def _name_of(one: TyperInfo | CommandInfo) -> str:
    if isinstance(one.name, str):
        return one.name
    if isinstance(one, CommandInfo):
        return get_command_name(one.callback.__name__) if one.callback is not None else ""
    inner = one.typer_instance
    return "" if inner is None or not isinstance(inner.info.name, str) else inner.info.name


def main() -> int:
    """Run the command line of this process; return its exit code."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # a terminal that lacks a character shows `?`
    code = run([_as_utf8(argument) for argument in sys.argv[1:]])
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has gone: `hindsight-ray run list | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    compose.part()
    return code


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line; return its exit code. Raises nothing but `SystemExit`."""
    said = partial(_complain, as_json=_wants_json(arguments))
    try:
        app = narrowed(program(), arguments)
        code = app(list(arguments), prog_name="hindsight-ray", standalone_mode=False)
    except HindsightError as error:
        code = MISUSED if isinstance(error, InvalidInput) else REFUSED
        return said(type(error).__name__, _clean(error).message, code)
    except typer.TyperException as misuse:
        return said(InvalidInput.__name__, misuse.format_message(), misuse.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return said("Interrupted", "interrupted", INTERRUPTED)
    except BrokenPipeError:
        return REFUSED
    except OSError as fault:
        where = "" if fault.filename is None else f"{fault.filename}: "
        return said("StorageFailed", f"{where}{fault.strerror or fault}", REFUSED)
    except Exception as fault:  # the outermost place: a fault is one line too
        if os.environ.get(_DEBUG):
            raise
        kind = type(fault).__name__
        return said("Fault", f"{kind}: {fault} (a fault of ours; {_DEBUG}=1 shows where)", REFUSED)
    return code if isinstance(code, int) else 0


def _clean(error: HindsightError) -> HindsightError:
    """Without the secrets that it quotes: what is typed may be refused before any door sees it."""
    from hindsight_ray.core.cleaning import clean_error  # noqa: PLC0415 - for who errs alone
    from hindsight_ray.domain.privacy import SECRETS_ALONE  # noqa: PLC0415

    return clean_error(error, SECRETS_ALONE)


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` is among the options, be the rest of the line however wrong."""
    return "--json" in itertools.takewhile(lambda one: one != "--", arguments)


def _as_utf8(argument: str) -> str:
    """The argument as UTF-8, though the locale (`C`, say) could not read it as characters."""
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError:
        return argument


def _complain(kind: str, message: str, code: int, *, as_json: bool) -> int:
    """Say one line on standard error, or one JSON document."""
    line = " ".join(message.split())
    if not line:  # a group that was named without a command has shown its help instead
        return code
    if as_json:
        line = json.dumps({"error": kind, "message": line, "exit_code": code}, ensure_ascii=False)
    else:
        line = f"error: {line}"
    sys.stderr.write(line.encode("utf-8", "replace").decode("utf-8") + "\n")
    return code
