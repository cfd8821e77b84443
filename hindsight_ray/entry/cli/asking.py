"""From a command line to the door: open the memory, act as whoever asks, send one command."""

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from hindsight_ray import compose
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.client.memory import Memory
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.entry.cli.options import Asked
from hindsight_ray.entry.cli.show import note
from hindsight_ray.errors import Unavailable

TICKET_LIFETIME_S = 600  # one command's ticket; nobody else ever sees it


@asynccontextmanager
async def opened(asked: Asked) -> AsyncGenerator[Hindsight]:
    """The memory that `--home` or `--address` names."""
    if asked.address is not None:
        if await compose.status(asked.address) is None:
            raise Unavailable(f"no deployment runs at `--address {asked.address}`; see `up`")
        async with compose.connect(asked.address, asked.home) as hindsight:
            yield hindsight
        return
    folder = asked.folder
    if not folder.exists():
        note(f"a new memory begins in {folder}")
    async with compose.open(folder) as hindsight:
        yield hindsight


async def caller_memory(hindsight: Hindsight, asked: Asked) -> Memory:
    """The memory of who asks: by the given ticket, else one for the names, else the operator's."""
    if asked.ticket is not None:
        return hindsight.as_caller(asked.ticket)
    if asked.agent is None and asked.user is None:
        return hindsight.operator(asked.tenant_named())
    fields = asked.ticket_fields(lifetime_s=TICKET_LIFETIME_S)
    return hindsight.as_caller(await hindsight.issue_ticket(**fields))


async def ask(asked: Asked, kind: type[c.Command], fields: Mapping[str, object]) -> Any:
    """The answer to one command. What was not said is left to the command's own defaults."""
    command = built(kind, fields)
    asked.check_caller()
    async with opened(asked) as hindsight:
        memory = await caller_memory(hindsight, asked)
        return await memory.ask(command)


async def ask_as_operator(asked: Asked, kind: type[c.Command], fields: Mapping[str, object]) -> Any:
    """The same where the names are whom it is about: asked by a ticket's holder or the operator."""
    command = built(kind, fields)
    asked.check_caller()
    async with opened(asked) as hindsight:
        if asked.ticket is not None:
            return await hindsight.as_caller(asked.ticket).ask(command)
        return await hindsight.operator(asked.tenant_named()).ask(command)


def built(kind: type[c.Command], fields: Mapping[str, object]) -> c.Command:
    """The command of what was said. Raises `InvalidInput` before anything is opened."""
    return build(kind, {name: value for name, value in fields.items() if value is not None})


def text_or_input(text: str) -> str:
    """The argument, or what comes on standard input where it is `-`."""
    return sys.stdin.read().strip() if text == "-" else text
