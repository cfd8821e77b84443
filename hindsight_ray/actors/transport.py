"""The client's way to a deployment: each command to the actor that answers it."""

from collections.abc import Awaitable, Callable
from typing import Any

from ray.actor import ActorHandle

from hindsight_ray.actors.reach import Reach
from hindsight_ray.actors.roles import Crew, Role, actor_name, role_of, stable_number
from hindsight_ray.actors.wire import packed_events
from hindsight_ray.domain import commands as c

_NOT_REPEATABLE: frozenset[type[c.Command]] = frozenset({c.Note})  # carries no id of its own


class RayTransport:
    """Carries commands to the actors. Costs no process: a table of handles.

    **Guarantees**
    - An error arrives as the type it was raised as, with its details.
    - While an actor restarts, its calls are sent again within stated bounds, to another of its
      role where there is one; every command that is sent again has one effect.
    """

    def __init__(self, crew: Crew, leave: Callable[[], Awaitable[None]]) -> None:
        self._crew = crew
        self._leave = leave
        self._reach = Reach()

    async def call(self, token: str, command: c.Command) -> Any:
        """Answer one command of whoever holds `token`."""
        role = role_of(command)
        names = self._names(role, token, command)
        if isinstance(command, c.RecordEvents):
            batch = packed_events(command)
            return await self._reach.ask(names, lambda host: host.record.remote(token, batch))

        def invoke(actor: ActorHandle[Any]) -> Any:
            return actor.call.remote(token, command)

        repeatable = type(command) not in _NOT_REPEATABLE
        return await self._reach.ask(names, invoke, repeatable=repeatable)

    async def close(self) -> None:
        """Part from the cluster as far as this client came to it; the deployment stays."""
        await self._leave()

    def _names(self, role: Role, token: str, command: c.Command) -> tuple[str, ...]:
        """The preferred actor first. An agent keeps its host, a ticket its broker."""
        count = self._crew.count(role)
        if isinstance(command, c.RecordEvents):
            agent = command.events[0].agent if command.events else token
            return (actor_name(role, stable_number(agent, count)),)
        first = stable_number(token, count)
        return tuple(actor_name(role, (first + i) % count) for i in range(count))
