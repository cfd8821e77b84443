"""From a command line to the door: open the memory, act as whoever asks, send one command."""

import base64
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar, cast

from hindsight_ray import compose
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.client.memory import Memory
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import Value, build
from hindsight_ray.entry.cli.options import Asked
from hindsight_ray.entry.cli.places import (
    begins_home,
    begins_tenant,
    check_home,
    check_tenant,
    deployment_of,
)
from hindsight_ray.entry.cli.rehearsal import thrown_away, without_texts
from hindsight_ray.errors import InvalidInput, InvalidSettings

TOKEN_PARTS = 3  # of a ticket's text, between dots
TICKET_LIFETIME_S = 600  # one command's ticket; nobody else ever sees it


@asynccontextmanager
async def opened(asked: Asked) -> AsyncGenerator[Hindsight]:
    """The memory that `--home` or `--address` names; by the deployment, if one holds the home."""
    if asked.address is None:
        check_home(asked)
        asked = replace(asked, address=deployment_of(asked), home=asked.folder)
    if asked.address is not None:
        async with compose.joined(asked.address, asked.home) as hindsight:
            yield hindsight
        return
    async with compose.open(asked.folder) as hindsight:
        yield hindsight


async def caller_memory(hindsight: Hindsight, asked: Asked) -> Memory:
    """The memory of who asks: by the given ticket, else one for the names, else the operator's."""
    await check_who(hindsight, asked)
    if asked.ticket is not None:
        return hindsight.as_caller(asked.ticket)
    return await _named(hindsight, asked)


async def _named(hindsight: Hindsight, asked: Asked) -> Memory:
    if asked.agent is None and asked.user is None:
        return hindsight.operator(asked.tenant_named())
    fields = asked.ticket_fields(lifetime_s=TICKET_LIFETIME_S)
    return hindsight.as_caller(await hindsight.issue_ticket(**fields))


@asynccontextmanager
async def asking(asked: Asked, first: c.Command | None = None) -> AsyncGenerator[Memory]:
    """The memory of who asks; a line that names nobody is refused before anything is opened.

    Where a memory or a tenant begins with it, what would be refused of `first` is refused before.
    """
    asked.check_caller()
    begins = begins_home(asked)
    if begins:
        await _rehearsed(asked, first, None)
    async with opened(asked) as hindsight:
        alone = asked.begins and asked.ticket is None and not begins
        if alone and await begins_tenant(hindsight, asked):
            await _rehearsed(asked, first, hindsight)
        yield await caller_memory(hindsight, asked)


async def _rehearsed(asked: Asked, command: c.Command | None, like: Hindsight | None) -> None:
    if command is None:
        return
    async with thrown_away(asked.tenant_named(), like) as tried:
        await _asked(await _named(tried, asked), without_texts(command))


async def check_who(hindsight: Hindsight, asked: Asked) -> None:
    """Refuse a tenant that is not there, and names that are not those of the ticket given."""
    if asked.ticket is None:
        await check_tenant(hindsight, asked)
        return
    given = {
        "tenant": asked.tenant, "agent": asked.agent, "user": asked.user, "session": asked.session,
    }  # fmt: skip
    named = {name: value for name, value in given.items() if value is not None}
    if not named:
        return
    caller = await hindsight.as_caller(asked.ticket).whoami()
    for name, value in named.items():
        if getattr(caller, name) != value:
            raise InvalidSettings(
                f"`--{name}` {value!r} is not what the ticket says; leave it out, or leave out"
                " `--ticket` (also HINDSIGHT_TICKET and HINDSIGHT_TENANT, where they are set)",
                field=name,
            )


async def with_first_tenant(asked: Asked, hindsight: Hindsight) -> Asked:
    """Of what is one for all tenants, the audit of the first by name tells, if none was named."""
    if asked.ticket is not None or asked.tenant is not None:
        return asked
    return replace(asked, tenant=next(iter(await hindsight.tenants()), None))


async def ask(asked: Asked, kind: type[c.Command], fields: Mapping[str, object]) -> Any:
    """The answer to one command. What was not said is left to the command's own defaults."""
    command = built(kind, fields)
    async with asking(asked, command) as memory:
        return await _asked(memory, command)


async def ask_as_operator(asked: Asked, kind: type[c.Command], fields: Mapping[str, object]) -> Any:
    """The same where the names are whom it is about: asked by a ticket's holder or the operator."""
    command = built(kind, fields)
    asked.check_caller()
    async with opened(asked) as hindsight:
        if asked.ticket is not None:
            return await _asked(hindsight.as_caller(asked.ticket), command)
        await check_tenant(hindsight, asked)
        return await _asked(hindsight.operator(asked.tenant_named()), command)


async def ask_audit(asked: Asked, kind: type[c.Command], fields: Mapping[str, object]) -> Any:
    """The same as `ask`; the operator is answered of a tenant that was dropped too."""
    operator = asked.ticket is None and asked.agent is None and asked.user is None
    if not operator:
        return await ask(asked, kind, fields)
    command = built(kind, fields)
    asked.check_caller()
    async with opened(asked) as hindsight:
        if asked.tenant_named() not in await hindsight.dropped_tenants():
            await check_tenant(hindsight, asked)
        return await _asked(hindsight.operator(asked.tenant_named(), begin=False), command)


async def _asked(memory: Memory, command: c.Command) -> Any:
    """The answer; what the memory refuses of the input is said in words of the command line."""
    try:
        return await memory.ask(command)
    except InvalidInput as error:
        raise _as_said(type(command), error) from None


V = TypeVar("V", bound=Value)
# What is typed for a field where it is not the field's own name as an option.
_SAID = {
    "memory_id": "ID", "memory_ids": "ID", "run_id": "RUN", "content": "CONTENT",
    "query": "QUERY", "object": "OBJECT", "action": "ACTION", "verdict": "VERDICT",
    "scopes": "--scope", "types": "--type", "layers": "--layer", "statuses": "--status",
    "tools": "--tool", "tags": "--tag", "labels": "--label", "steps": "--step",
    "actions": "--action", "expires_at": "--expires", "lifetime_s": "--hours",
    "ticket_id": "--revoke", "text": "FILE",
}  # fmt: skip
_ARGUMENTS: dict[tuple[type[Value], str], str] = {
    (c.AssertOutcome, "value"): "VALUE",
    (c.CloseProject, "project"): "PROJECT",
    (c.Erase, "user"): "USER",
    (c.WhoSees, "scope"): "SCOPE",
    (c.WhoSees, "action"): "--action",
    (c.DropTenant, "tenant"): "TENANT",
}


def built(kind: type[V], fields: Mapping[str, object]) -> V:
    """The value of what was said. Raises `InvalidInput` before anything is opened."""
    try:
        return build(kind, {name: value for name, value in fields.items() if value is not None})
    except InvalidInput as error:
        raise _as_said(kind, error) from None


def _as_said(kind: type[Value], error: InvalidInput) -> InvalidInput:
    """The error about what was typed: an option or an argument, not the field it stands for."""
    field, _, rest = str(error.details.get("field", "")).partition("[")
    if not field or not error.message.startswith(f"`{field}"):
        return error
    said = _ARGUMENTS.get((kind, field)) or _SAID.get(field) or f"--{field.replace('_', '-')}"
    place = f"`{field}[{rest}`" if rest else f"`{field}`"
    message = error.message.replace(place, f"`{said}`", 1)
    return type(error)(message, **error.details)


def claims_of(token: str) -> Mapping[str, Any]:
    """What a ticket's text says, as far as it can be read; whether it is so, the door finds out."""
    parts = token.split(".")
    try:
        claims: Any = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], claims) if isinstance(claims, dict) else {}


def text_or_input(text: str) -> str:
    """The argument, or what comes on standard input where it is `-`."""
    return sys.stdin.read().strip() if text == "-" else text
