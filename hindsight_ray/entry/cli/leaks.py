"""`leakcheck` from a shell: every verb, tool, route and command as everybody else."""

import typer

from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import opened
from hindsight_ray.entry.cli.options import ACCESS, Asked, command
from hindsight_ray.errors import InvalidSettings


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
    made = show.table("stranger", "asked", "wrong", "answer")
    for one in report.findings:
        made.add_row(one.stranger, one.asked, one.wrong, show.plain(one.seen))
    for name in report.untried:
        made.add_row("", name, "is not in the table of what is tried", "")
    head = f"{report.answers} answers to {len(report.strangers)} kinds of callers"
    text = f"{head}: nothing leaked" if report.tight else f"{head}: NOT TIGHT"
    parts = [show.plain(text)]
    if report.allowed:
        parts.append(show.plain(f"the policy lets these read: {', '.join(report.allowed)}"))
    show.answer(asked.json, document, show.stacked(*parts, *([] if report.tight else [made])))
    return 0 if report.tight else 1
