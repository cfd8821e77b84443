"""The command line. `main` is what `hindsight-ray` calls.

An answer goes to standard output, everything said beside it to standard error. Exit codes: 0 done,
1 refused or failed, 2 misused.
"""

import os
import sys
from collections.abc import Sequence

import typer

from hindsight_ray.entry.cli import (
    attribution,
    audits,
    deployment,
    keeping,
    leaks,
    memories,
    operate,
    people,
    policies,
    runs,
    serve,
    upkeep,
)
from hindsight_ray.entry.cli.options import remember_place
from hindsight_ray.errors import HindsightError, InvalidInput

_INTERRUPTED = 130
_DEBUG = "HINDSIGHT_DEBUG"


def program() -> typer.Typer:
    """The whole command line, put together."""
    app = typer.Typer(
        name="hindsight-ray",
        help="Shared memory for teams of agents: what they did, what they learned, who may know.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        callback=remember_place,
    )
    for module in (
        operate, deployment, keeping, memories, runs, attribution, policies, audits, leaks, serve,
        people, upkeep,
    ):  # fmt: skip
        module.add_to(app)
    return app


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # a terminal that lacks a character shows `?`
    code = run([_as_utf8(argument) for argument in sys.argv[1:]])
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has gone: `hindsight-ray run list | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line; return its exit code. Raises nothing but `SystemExit`."""
    try:
        code = program()(list(arguments), prog_name="hindsight-ray", standalone_mode=False)
    except InvalidInput as misuse:
        return _complain(misuse.message, 2)
    except HindsightError as refusal:
        return _complain(refusal.message, 1)
    except typer.TyperException as misuse:
        return _complain(misuse.format_message(), misuse.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        return 1
    except Exception as fault:  # the outermost place: a fault is one line too
        if os.environ.get(_DEBUG):
            raise
        kind = type(fault).__name__
        return _complain(f"{kind}: {fault} (a fault of ours; {_DEBUG}=1 shows where)", 1)
    return code if isinstance(code, int) else 0


def _as_utf8(argument: str) -> str:
    """The argument as UTF-8, though the locale (`C`, say) could not read it as characters."""
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError:
        return argument


def _complain(message: str, code: int) -> int:
    """Say one line on standard error."""
    line = " ".join(message.split())
    if line:  # a group that was named without a command has shown its help instead
        sys.stderr.write(f"error: {line}\n")
    return code
