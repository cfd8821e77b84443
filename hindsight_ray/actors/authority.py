"""The authority: root of a deployment. Holds the home and the operator key, writes policy."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from hindsight_ray.actors.plan import Deployed, Plan, Release
from hindsight_ray.actors.roles import Crew
from hindsight_ray.actors.shell import Shell
from hindsight_ray.errors import HomeInUse, Unavailable
from hindsight_ray.service.world import World

StartCrew = Callable[[Plan], Awaitable[None]]  # starts whoever of the plan is not there


class CrewHands(Protocol):
    """What the cluster keeps and ends for the authority."""

    def remembered(self) -> Crew | None:
        """The crew that was set last, by whichever process; None if it is still the plan's."""
        ...

    def remember(self, crew: Crew) -> None: ...

    async def retire(self, names: Sequence[str]) -> None:
        """Let these actors finish what they have in hand, sending callers elsewhere; end them."""
        ...


class Authority(Shell):
    """Answers the commands that change what others may do, and brings the other actors up.

    **Guarantees** (beside those of `Shell`)
    - Whichever drivers ask it to `bring_up` a deployment, and however often, there is one: the
      actors are named, and this process alone starts them.
    - It holds the home for the deployment as long as it lives, and takes it again when it is
      restarted; without the home it answers nothing.
    - A `revoke` that has returned is committed, and so in force for every later call anywhere.
    """

    def __init__(self, plan: Plan, start_crew: StartCrew, hands: CrewHands | None = None) -> None:
        super().__init__(plan.authority_world)
        crew = None if hands is None else hands.remembered()
        self._plan = plan if crew is None else plan.with_crew(crew)
        self._hands = hands
        self._start_crew = start_crew
        self._release: Release | None = None
        self._starting = asyncio.Lock()
        self._up = False
        try:
            self._hold_home()  # at once after a restart, whoever asks first
        except HomeInUse:
            self._release = None  # asked again by whoever needs it, who is then told

    async def bring_up(self) -> Deployed:
        """Take the home and start whichever actors are missing. Raises `HomeInUse`.

        Every client asks this first, so that none sees a home that is half made.
        """
        async with self._starting:
            if not self._up:
                await self.ready()
                await self._start_crew(self._plan)
                self._up = True
        return self._plan.deployed()

    async def about(self) -> Deployed:
        """Which home, node, settings and crew this deployment has, in order or not."""
        return self._plan.deployed()

    async def scale(self, crew: Crew) -> Deployed:
        """Have so many actors of each role, from now on. Nothing acknowledged is lost by it.

        New ones are there before anybody hears of them; whoever is to go is not named any more
        when it stops taking work, and what it was sent meanwhile goes to another.
        """
        if self._hands is None:
            raise Unavailable("`deployment` cannot be scaled here")
        async with self._starting:
            before = self._plan.crew
            self._plan = self._plan.with_crew(crew)
            await self._start_crew(self._plan)
            self._hands.remember(crew)
            staying = set(crew.names())
            await self._hands.retire([name for name in before.names() if name not in staying])
        return self._plan.deployed()

    async def world(self) -> World:
        world = await super().world()
        self._hold_home()
        return world

    async def drain(self, leaving: bool = False) -> None:
        await super().drain(leaving)
        if self._release is not None:
            self._release()
            self._release = None

    def _hold_home(self) -> None:
        if self._release is None:
            self._release = self._plan.seize()
