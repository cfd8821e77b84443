"""The authority: root of a deployment. Holds the home and the operator key, writes policy."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Protocol

from hindsight_ray.actors.plan import Deployed, Plan, Release
from hindsight_ray.actors.roles import Crew, actor_name
from hindsight_ray.actors.shell import STOPPING, Shell
from hindsight_ray.errors import HomeInUse, Unavailable
from hindsight_ray.service.world import World

StartCrew = Callable[[Plan], Awaitable[None]]  # starts whoever of the plan is not there

_log = logging.getLogger(__name__)
_ITSELF = actor_name("authority", 0)


class CrewHands(Protocol):
    """What the cluster keeps and ends for the authority."""

    def remembered(self) -> Crew | None:
        """The crew that this deployment was given last; None before it has been brought up."""
        ...

    def remember(self, crew: Crew) -> None: ...

    def ending(self) -> bool:
        """Whether somebody has begun to end this deployment."""
        ...

    async def retire(self, but: Collection[str]) -> str:
        """Let every actor there is, `but` these, finish what it has in hand, and end it.

        Callers are sent elsewhere. What went wrong in that, or nothing.
        """
        ...


class Authority(Shell):
    """Answers the commands that change what others may do, and brings the other actors up.

    **Guarantees** (beside those of `Shell`)
    - Whichever drivers ask it to `bring_up` a deployment, and however often, there is one: the
      actors are named, and this process alone starts them. Whoever bears such a name and was
      left by another deployment, of another home maybe, is ended before anybody is started.
    - Whoever is not of the crew is ended by the next `scale` or `bring_up`, if this process was
      ended before it had come to that.
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
        try:
            self._hold_home()  # at once after a restart, whoever asks first
        except HomeInUse:
            self._release = None  # asked again by whoever needs it, who is then told

    async def bring_up(self) -> Deployed:
        """Take the home and start whichever actors are missing. Raises `HomeInUse`.

        Every client asks this first, so that none sees a home that is half made.
        """
        async with self._starting:
            self._require_going_on()
            await self.ready()
            left = await self._in_order(self._plan)
            if left:
                _log.warning("actors that were to go left jobs undone: %s", left)
        return self._plan.deployed()

    async def about(self) -> Deployed:
        """Which home, node, settings and crew this deployment has, in order or not."""
        return self._plan.deployed()

    async def scale(self, numbers: Mapping[str, int]) -> Deployed:
        """Have so many actors of each role that is named. Nothing acknowledged is lost by it.

        New ones are there before anybody hears of them; whoever is to go is not named any more
        when it stops taking work, and what it was sent meanwhile goes to another.
        """
        if self._hands is None:
            raise Unavailable("`deployment` cannot be scaled here")
        async with self._starting:
            self._require_going_on()
            crew = replace(self._plan.crew, **numbers)
            left = await self._in_order(self._plan.with_crew(crew))
            if left:
                raise Unavailable(f"actors have left, but not all jobs had ended: {left}")
        return self._plan.deployed()

    async def _in_order(self, plan: Plan) -> str:
        """Whoever the plan names is there, begun by this deployment, and nobody else is."""
        hands = self._hands
        if hands is not None and hands.remembered() is None:
            left = await hands.retire({_ITSELF})
            if left:
                _log.warning("actors of an earlier deployment left jobs undone: %s", left)
            hands.remember(self._plan.crew)
        await self._start_crew(plan)
        self._plan = plan
        if hands is None:
            return ""
        hands.remember(plan.crew)
        return await hands.retire(set(plan.crew.names()))

    def _require_going_on(self) -> None:
        if self._draining or (self._hands is not None and self._hands.ending()):
            raise Unavailable(STOPPING)

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
