"""Grants from a shell: let somebody act on a scope, and take it back."""

from typing import Annotated

import typer
from rich.console import RenderableType

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.receipt import Grant
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import ask
from hindsight_ray.entry.cli.memories import CommandId, Times, moment
from hindsight_ray.entry.cli.options import ACCESS, Asked, command
from hindsight_ray.entry.once import fresh_unless

ScopeName = Annotated[
    str, typer.Argument(metavar="SCOPE", help="`global`, `user:<id>` or `agent:<id>`.")
]
To = Annotated[str, typer.Option(metavar="WHO", help="`user:<id>`, `agent:<id>` or `role:<id>`.")]


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    who = "user:alice --to user:bob --tenant acme --user alice"
    for name, verb in (("share", share), ("revoke", revoke)):
        command(app, name, epilog=f"Example: hindsight-ray {name} {who}", panel=ACCESS)(verb)


async def share(
    asked: Asked,
    scope: ScopeName,
    *,
    to: To,
    action: Annotated[
        list[str] | None, typer.Option(help="What may be done (read); may be repeated.")
    ] = None,
    until: Times = None,
    command_id: CommandId = None,
) -> None:
    """Let somebody act on a scope of yours; in force once this has returned."""
    fields = {
        "scope": scope, "to": to, "actions": tuple(action) if action else None,
        "until": moment("until", until), "command_id": fresh_unless(command_id),
    }  # fmt: skip
    grant: Grant = await ask(asked, c.Share, fields)
    show.answer(asked.json, grant, _grant(grant, "in force"))


async def revoke(
    asked: Asked,
    scope: ScopeName,
    *,
    to: Annotated[
        str, typer.Option("--from", "--to", metavar="WHO", help="Whom it was shared with.")
    ],
    action: Annotated[
        list[str] | None, typer.Option(help="Only this (every one); may be repeated.")
    ] = None,
    command_id: CommandId = None,
) -> None:
    """Take back what was shared; no call that starts after this has returned sees the grant."""
    fields = {
        "scope": scope, "to": to, "actions": tuple(action) if action else None,
        "command_id": fresh_unless(command_id),
    }  # fmt: skip
    grant: Grant = await ask(asked, c.Revoke, fields)
    show.answer(asked.json, grant, _grant(grant, "taken back"))


def _grant(grant: Grant, done: str) -> RenderableType:
    if not grant.rules:
        return show.nothing("grants", "to take back")
    return show.plain(f"{done} at policy revision {grant.revision}:\n" + "\n".join(grant.rules))
