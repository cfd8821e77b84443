"""Clients for tests: the real client over a staged world, and ways for answers to go astray."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindsight_ray.client import Connection, Hindsight, LoopThread, Memory
from hindsight_ray.domain.commands import Command
from hindsight_ray.errors import Unavailable
from hindsight_ray.service import door
from tests import worlds
from tests.worlds import TENANT, Staged


class Local:
    """A transport that calls the door of a staged world, and may be made to fail on the way."""

    def __init__(self, staged: Staged, leave: AsyncExitStack) -> None:
        self._staged = staged
        self._leave = leave
        self.before: Callable[[Command], None] = _pass
        self.after: Callable[[Command], None] = _pass
        self.carried: list[Command] = []

    async def call(self, token: str, command: Command) -> Any:
        self.before(command)
        answer = await door.call(self._staged.world, token, command)
        self.carried.append(command)
        self.after(command)
        return answer

    async def close(self) -> None:
        await self._leave.aclose()


def _pass(_command: Command) -> None: ...


class Lost:
    """Raises `Unavailable` for the next `times` commands of a kind."""

    def __init__(self, kind: type[Command], times: int) -> None:
        self._kind = kind
        self.left = times

    def __call__(self, command: Command) -> None:
        if isinstance(command, self._kind) and self.left:
            self.left -= 1
            raise Unavailable("`transport` lost this one")


@dataclass(frozen=True, slots=True)
class Client:
    """A client, what is behind it, and memories for whoever a test names."""

    hindsight: Hindsight
    staged: Staged
    transport: Local
    loop: LoopThread

    async def memory(self, **caller: Any) -> Memory:
        ticket = await self.hindsight.issue_ticket(**{"tenant": TENANT, **caller})
        return self.hindsight.as_caller(ticket)


@asynccontextmanager
async def client(path: Path, **options: Any) -> AsyncGenerator[Client]:
    """An embedded client on a staged world; the world lives on the client's own loop."""
    connection, staged, transport, loop = await connected(path, **options)
    async with Hindsight(connection, loop) as hindsight:
        yield Client(hindsight, staged, transport, loop)


async def connected(path: Path, **options: Any) -> tuple[Connection, Staged, Local, LoopThread]:
    """A connection to a staged world, for whoever makes a client of it."""
    loop, stack = LoopThread(), AsyncExitStack()
    staged = await loop.run(stack.enter_async_context(worlds.world(path, **options)))
    transport = Local(staged, stack)
    world = staged.world
    connection = Connection(transport, world.settings, world.clock, world.ids, staged.operator)
    return connection, staged, transport, loop
