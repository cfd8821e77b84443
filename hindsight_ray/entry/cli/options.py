"""Which options every command takes, and how a command is declared.

`--home`, `--address` and `--json` mean the same before and after a command, so they are declared
once here and added to each command's signature; the later one wins. A command itself is an
`async def` whose first parameter is `Asked`.
"""

import asyncio
import functools
import inspect
import pathlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from hindsight_ray.domain.base import build
from hindsight_ray.domain.caller import TicketRequest
from hindsight_ray.errors import InvalidInput, InvalidSettings

# What the commands are listed under, in this order.
START = "Beginning"
MEMORIES = "Memories"
RUNS = "Runs and credit"
ACCESS = "Who may know what"
UPKEEP = "Keeping it in order"
SERVING = "Serving"

HOME_DEFAULT = pathlib.Path("memory")

Home = Annotated[
    pathlib.Path | None,
    typer.Option("--home", metavar="DIR", help="Folder of the memory, by default ./memory."),
]
Address = Annotated[
    str | None,
    typer.Option("--address", metavar="ADDRESS", help="Ray cluster of a deployment instead."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

_WHO = "Who asks"
Tenant = Annotated[
    str | None,
    typer.Option("--tenant", envvar="HINDSIGHT_TENANT", metavar="ID", rich_help_panel=_WHO),
]
Agent = Annotated[str | None, typer.Option("--agent", metavar="ID", rich_help_panel=_WHO)]
User = Annotated[str | None, typer.Option("--user", metavar="ID", rich_help_panel=_WHO)]
Session = Annotated[str | None, typer.Option("--session", metavar="ID", rich_help_panel=_WHO)]
TicketText = Annotated[
    str | None,
    typer.Option(
        "--ticket",
        envvar="HINDSIGHT_TICKET",
        metavar="TOKEN",
        help="A ticket instead of the names above.",
        rich_help_panel=_WHO,
        show_envvar=True,
    ),
]

NewTenant = Annotated[
    bool,
    typer.Option("--new-tenant", help="Begin the tenant if it is not there.", rich_help_panel=_WHO),
]

_PLACE = {"home": Home, "address": Address, "json_": Json}
_CALLER = {
    "tenant": Tenant,
    "agent": Agent,
    "user": User,
    "session": Session,
    "ticket": TicketText,
}
_BEGINNER = {"new_tenant": NewTenant}
_FLAGS = frozenset({"json_", "new_tenant"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for beside the command's own arguments."""

    home: pathlib.Path | None = None
    address: str | None = None
    json: bool = False
    tenant: str | None = None
    agent: str | None = None
    user: str | None = None
    session: str | None = None
    ticket: str | None = None
    begins: bool = False  # whether the command may begin a home, and its first tenant
    new_tenant: bool = False

    @property
    def folder(self) -> pathlib.Path:
        """The home, named or by default."""
        return self.home or HOME_DEFAULT

    def tenant_named(self) -> str:
        """The tenant, or the complaint that it is missing."""
        if self.tenant is None:
            raise InvalidSettings(
                "`--tenant` is missing; name the tenant, or pass `--ticket`", field="tenant"
            )
        return self.tenant

    def check_caller(self) -> None:
        """Refuse what names nobody, before anything is opened. Raises `InvalidInput`."""
        if self.ticket is None:
            self.ticket_fields(lifetime_s=1)

    def ticket_fields(self, *, lifetime_s: int) -> dict[str, Any]:
        """What to ask a ticket for: these names, checked. Raises `InvalidInput`."""
        named = {"agent": self.agent, "user": self.user, "session": self.session}
        fields = {"tenant": self.tenant_named(), "lifetime_s": lifetime_s, **named}
        try:
            return build(TicketRequest, fields).model_dump(exclude_none=True)
        except InvalidInput as error:
            message = error.message.replace("`", "`--", 1) if "field" in error.details else ""
            raise InvalidInput(message or error.message, **error.details) from None


def remember_place(
    context: typer.Context, home: Home = None, address: Address = None, json_: Json = False
) -> None:
    """Keep what was said before the command (the callback of the program and of its groups)."""
    context.obj = _later(_said(context.parent), home=home, address=address, json_=json_)


Verb = Callable[..., Awaitable[int | None]]


def command(
    app: typer.Typer,
    name: str,
    *,
    caller: bool = True,
    begins: bool = False,
    epilog: str | None = None,
    panel: str | None = None,
    hidden: bool = False,
    cls: type[TyperCommand] | None = None,
) -> Callable[[Verb], Verb]:
    """Make an `async def` a command of `app`, with the options of place and, if asked, of caller.

    One that `begins` may begin a home and a tenant. What a command returns is the exit code; None
    is 0.
    """

    def declare(function: Verb) -> Verb:
        shared = _PLACE | (_CALLER if caller else {}) | (_BEGINNER if caller and begins else {})
        hints = get_type_hints(function, include_extras=True)
        own = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in list(inspect.signature(function).parameters.values())[1:]
        ]
        added = [
            inspect.Parameter(
                key,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if key in _FLAGS else None,
                annotation=kind,
            )
            for key, kind in shared.items()
        ]

        @functools.wraps(function)
        def invoked(context: typer.Context, **given: Any) -> None:
            said = {key: given.pop(key) for key in shared}
            asked = replace(_later(_said(context.parent), **said), begins=begins)
            code = asyncio.run(_awaited(function(asked, **given)))
            if code:
                raise typer.Exit(code)

        context = inspect.Parameter(
            "context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
        )
        keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        signature = inspect.Signature([context, *keyword, *added])
        invoked.__signature__ = signature  # pyright: ignore[reportAttributeAccessIssue]
        invoked.__annotations__ = {
            one.name: one.annotation for one in signature.parameters.values()
        }
        del invoked.__wrapped__  # pyright: ignore[reportAttributeAccessIssue]
        app.command(name, cls=cls, epilog=epilog, rich_help_panel=panel, hidden=hidden)(invoked)
        return function

    return declare


async def _awaited(answer: Awaitable[int | None]) -> int | None:
    return await answer


def _said(context: Any) -> Asked:
    return context.obj if context is not None and isinstance(context.obj, Asked) else Asked()


def _later(before: Asked, *, json_: bool, **given: Any) -> Asked:
    """What was said before, with what was said after in its place."""
    named = {key: value for key, value in given.items() if value is not None}
    return replace(before, json=before.json or json_, **named)
