"""The client's way to a deployment: each command to the actor that answers it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from ray.actor import ActorHandle

from hindsight_ray.actors.allowance import Allowance
from hindsight_ray.actors.mailbag import Mailbag
from hindsight_ray.actors.presence import Presence
from hindsight_ray.actors.reach import Reach
from hindsight_ray.actors.roles import Crew, Role, actor_name, role_of, stable_number
from hindsight_ray.actors.wire import packed_events
from hindsight_ray.domain import commands as c
from hindsight_ray.errors import Unavailable

_ENDED = "the deployment has ended; `hindsight-ray up` starts it again"
_LOOK_S = 5.0  # how long a client may go on with the crew that it knows
_UNDER_WAY_MAX = 4_096  # events to one host: enough for it to have some at hand after each commit


class RayTransport:
    """Carries commands to the actors. Costs no process: a table of handles.

    **Guarantees**
    - An error arrives as the type it was raised as, with its details.
    - An agent's batches come one after the other, so its host may change between two of them: by
      scaling, or where two clients know of another number for some seconds. The ledger orders them.
    - However many recorders there are, only so many events are on their way to one host at once;
      the rest wait in their recorders' own bounded buffers.
    - While an actor restarts, its calls are sent again within stated bounds, to another of its
      role where there is one; every command that is sent again has one effect.
    - Where the whole cluster goes away, whoever waits is told `Unavailable`, and this process parts
      from it before Ray would end it.
    """

    def __init__(
        self,
        crew: Crew,
        leave: Callable[[], Awaitable[None]],
        crew_now: Callable[[], Awaitable[Crew | None]] | None = None,
        presence: Presence | None = None,
    ) -> None:
        """`crew_now` asks how many actors there are by now: a deployment may be scaled."""
        self._crew = crew
        self._leave = leave
        self._crew_now = crew_now
        self._looked_at = 0.0
        self._looking: asyncio.Task[bool] | None = None
        self._presence = presence
        self._reach = Reach(None if presence is None else presence.require)
        self._mailbag = Mailbag()
        self._under_way: dict[str, Allowance] = {}  # by host: none waits for another one's sake

    async def call(self, token: str, command: c.Command) -> Any:
        """Answer one command of whoever holds `token`."""
        with contextlib.nullcontext() if self._presence is None else self._presence.waited_for():
            return await self._call(token, command)

    async def _call(self, token: str, command: c.Command) -> Any:
        role = role_of(command)
        self._look_in_a_while()
        names = self._names(role, token, command)

        async def anew() -> tuple[str, ...]:
            if not await self._look():
                raise Unavailable(_ENDED) from None
            return self._names(role, token, command)

        if isinstance(command, c.RecordEvents):
            under_way = self._under_way.setdefault(names[0], Allowance(_UNDER_WAY_MAX))
            async with under_way.of(len(command.events)):
                batch = packed_events(command)
                return await self._reach.ask(
                    names, lambda host: self._mailbag.send(host, token, batch), anew=anew
                )

        def invoke(actor: ActorHandle[Any]) -> Any:
            return actor.call.remote(token, command)

        repeatable = not isinstance(command, c.Note) or command.command_id is not None
        return await self._reach.ask(names, invoke, repeatable=repeatable, anew=anew)

    async def close(self) -> None:
        """Part from the cluster as far as this client came to it; the deployment stays."""
        if self._looking is not None:
            self._looking.cancel()
        if self._presence is not None:
            self._presence.close()
        await self._leave()

    def _look_in_a_while(self) -> None:
        """See, now and then and beside the call, whether there are more or fewer actors."""
        now = asyncio.get_running_loop().time()
        if self._crew_now is None or now - self._looked_at < _LOOK_S:
            return
        if self._looking is None or self._looking.done():
            first, self._looked_at = self._looked_at == 0.0, now
            if not first:
                self._looking = asyncio.create_task(self._look())

    async def _look(self) -> bool:
        """See how many actors there are; false if nobody is, since the deployment has ended."""
        if self._crew_now is None:
            return True
        try:
            if self._presence is not None:
                self._presence.require()
            crew = await self._crew_now()
        except Unavailable:  # nobody knows: who is there is asked for all the same
            return True
        self._crew = crew or self._crew
        return crew is not None

    def _names(self, role: Role, token: str, command: c.Command) -> tuple[str, ...]:
        """The preferred actor first. An agent keeps its host, a ticket its broker."""
        count = self._crew.count(role)
        if isinstance(command, c.RecordEvents):
            agent = command.events[0].agent if command.events else token
            return (actor_name(role, stable_number(agent, count)),)
        first = stable_number(token, count)
        return tuple(actor_name(role, (first + i) % count) for i in range(count))
