"""What every part of a client asks through: one ticket, one connection, one loop."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hindsight_ray.client.loop import LoopThread
from hindsight_ray.client.transport import Connection
from hindsight_ray.domain.commands import Command
from hindsight_ray.domain.settings import Settings

if TYPE_CHECKING:  # only names of types: a client need not load what the ports load
    from hindsight_ray.ports import Clock, IdSource


@dataclass(frozen=True, slots=True)
class Calls:
    """Commands of one caller. `token` is asked for each time: an operator's is renewed."""

    connection: Connection
    loop: LoopThread
    token: Callable[[], Awaitable[str]]

    async def ask(self, command: Command) -> Any:
        """The door's answer to `command`, from whichever loop this is awaited on."""
        return await self.loop.run(self._ask(command))

    @property
    def settings(self) -> Settings:
        return self.connection.settings

    @property
    def clock(self) -> "Clock":
        return self.connection.clock

    @property
    def ids(self) -> "IdSource":
        return self.connection.ids

    async def _ask(self, command: Command) -> Any:
        return await self.connection.transport.call(await self.token(), command)
