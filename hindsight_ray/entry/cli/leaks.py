"""`leakcheck` from a shell: every verb, tool, route and command as everybody else."""

from collections import Counter
from typing import TYPE_CHECKING

import typer
from rich.console import RenderableType

from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import opened
from hindsight_ray.entry.cli.options import ACCESS, Asked, command
from hindsight_ray.errors import InvalidSettings

if TYPE_CHECKING:
    from hindsight_ray.entry.leakcheck import Report


def add_to(app: typer.Typer) -> None:
    """Put the command of this module into the program."""
    command(
        app,
        "leakcheck",
        caller=False,
        epilog="Example: hindsight-ray --home ./memory leakcheck",
        panel=ACCESS,
    )(leakcheck)


async def leakcheck(asked: Asked) -> int:
    """Plant secrets in tenants of its own and ask for them as everybody else. Exit 1 on a leak.

    The tenants are dropped again; their audit, and the policy's revision, tell that they were.
    """
    from hindsight_ray.entry.leakcheck import Report, check  # noqa: PLC0415 - loads every verb
    from hindsight_ray.entry.leakcheck.routes import try_routes  # noqa: PLC0415 - loads starlette
    from hindsight_ray.entry.leakcheck.tools import try_tools  # noqa: PLC0415 - loads MCP

    if asked.address is None and not asked.folder.exists():
        raise InvalidSettings(f"`--home` {asked.folder} is not there; name the memory to check")
    async with opened(asked) as hindsight:
        report = Report()
        try:
            await check(hindsight, report=report)
            await try_tools(hindsight, report)
            await try_routes(hindsight, report)
        finally:
            for tenant in report.tenants:
                await hindsight.drop_tenant(tenant)
    document = {
        "tight": report.tight,
        "answers": report.answers,
        "strangers": report.strangers,
        "allowed_by_policy": report.allowed,
        "untried": report.untried,
        "findings": [
            {"stranger": f.stranger, "asked": f.asked, "wrong": f.wrong, "seen": f.seen}
            for f in report.findings
        ],
    }
    head = f"{report.answers} answers to {len(report.strangers)} kinds of callers"
    text = f"{head}: nothing leaked" if report.tight else f"{head}: NOT TIGHT"
    parts = [show.plain(text)]
    if report.allowed:
        parts.append(show.plain(f"the policy lets these read: {', '.join(report.allowed)}"))
    show.answer(
        asked.json, document, show.stacked(*parts, *([] if report.tight else found(report)))
    )
    return 0 if report.tight else 1


def found(report: "Report") -> list[RenderableType]:
    """How often each caller was told too much by each way in; `--json` has every answer."""
    told = Counter((one.stranger, *_way(one.asked), _kind(one.wrong)) for one in report.findings)
    made = show.table("stranger", "door", "verb", "what is wrong…", "answers#")
    for (stranger, door, verb, wrong), number in told.items():
        made.add_row(stranger, door, verb, wrong, str(number))
    for name in report.untried:
        made.add_row("", *_way(name), "is not in the table of what is tried", "")
    return [made, show.plain("`--json` shows every finding with its answer")]


def _way(asked: str) -> tuple[str, str]:
    """The door and the verb of what was asked: `route get`, `tool memory_get`, or `Get 2`."""
    first, _, rest = asked.partition(" ")
    return (first, rest) if first in ("route", "tool") else ("client", first)


def _kind(wrong: str) -> str:
    """What is wrong, without the very secret or id."""
    for kind in ("holds the secret", "holds the id"):
        if wrong.startswith(kind):
            return kind.replace("the", "a", 1) if kind.endswith("secret") else "holds an id"
    return wrong
