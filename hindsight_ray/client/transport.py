"""What stands between a client and a memory: the one call, and what comes with it.

`compose` makes a `Connection` for an embedded home or for a deployment on Ray; from here on a
client no longer knows which of the two it talks to.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hindsight_ray.domain.commands import Command
from hindsight_ray.domain.settings import Settings

if TYPE_CHECKING:  # only names of types: a client need not load what the ports load
    from concurrent.futures import Future

    from hindsight_ray.ports import Clock, IdSource, TaskRunner


class Transport(Protocol):
    """Carries commands to the door. Raises the errors of the door, and `Unavailable`."""

    async def call(self, token: str, command: Command) -> Any:
        """The answer to `command` for whoever holds `token`."""
        ...

    async def close(self) -> None:
        """Let what is in flight finish, then let go of the memory."""
        ...


class OperatorToken(Protocol):
    """Signs with the operator's key: a ticket of `agent:operator` in a tenant.

    The tenant begins with it, unless `begin` is false.
    """

    async def __call__(self, tenant: str, *, begin: bool = True) -> str: ...


@dataclass(frozen=True, slots=True)
class Connection:
    """A transport and what recording needs besides.

    `operator_token` signs with the operator's key; None where this process does not hold it.
    `tasks` runs replays; None where they run in this process. `gone` is done once the memory will
    not come back to this client; None where that cannot be.
    """

    transport: Transport
    settings: Settings
    clock: "Clock"
    ids: "IdSource"
    operator_token: OperatorToken | None = None
    tasks: "TaskRunner | None" = None
    gone: "Future[None] | None" = None
