"""The authority and its crew without Ray: who is there, whoever was ended in the middle of what."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from hindsight_ray.actors.authority import Authority
from hindsight_ray.actors.plan import Plan
from hindsight_ray.actors.roles import Crew, is_actor_name
from hindsight_ray.errors import Unavailable
from hindsight_ray.service.world import Opened
from tests.worlds import Staged, world

AUTHORITY = "authority-0"


class Killed(Exception):
    """The authority's process ends here."""


@dataclass
class Cluster:
    """Names given out one each, as a cluster does, and what is kept beside them."""

    there: dict[str, str] = field(default_factory=dict[str, str])  # who began each
    crew: tuple[str, Crew] | None = None
    ended: str = ""  # whose end has begun
    retiring_kills: bool = False


class Hands:
    """`CrewHands` of one deployment on that cluster."""

    def __init__(self, cluster: Cluster, mine: str) -> None:
        self._cluster = cluster
        self._mine = mine
        cluster.there.setdefault(AUTHORITY, mine)

    def remembered(self) -> Crew | None:
        kept = self._cluster.crew
        return None if kept is None or kept[0] != self._mine else kept[1]

    def remember(self, crew: Crew) -> None:
        self._cluster.crew = (self._mine, crew)

    def ending(self) -> bool:
        return self._cluster.ended == self._mine

    async def retire(self, but: Collection[str]) -> str:
        going = self._cluster.there.keys() - set(but)
        if going and self._cluster.retiring_kills:
            raise Killed
        for name in going:
            del self._cluster.there[name]
        return ""

    async def start(self, plan: Plan) -> None:
        await asyncio.sleep(0)
        for name in plan.crew.names():
            self._cluster.there.setdefault(name, self._mine)


@asynccontextmanager
async def _planned(folder: Path) -> AsyncGenerator[Plan]:
    async with world(folder) as staged:
        factory = partial(_opened, staged)
        yield Plan(
            home=str(folder), address="127.0.0.1:1", node_id="node",
            settings=staged.world.settings.model_copy(
                update={"brokers": 2, "recorder_hosts": 1, "reviewers": 1}
            ),
            seize=lambda: lambda: None,
            authority_world=factory, broker_world=factory, recorder_world=factory,
            embedder=factory,  # type: ignore[arg-type]  # never asked for here
        )  # fmt: skip


async def _opened(staged: Staged) -> Opened:
    async def close() -> None:
        """The world belongs to the test."""

    return Opened(staged.world, close)


def _authority(plan: Plan, cluster: Cluster, mine: str = "this") -> Authority:
    hands = Hands(cluster, mine)
    return Authority(plan, hands.start, hands)


@pytest.mark.covers("cluster.crew")
@pytest.mark.parametrize("again", ["scale", "bring_up"])
async def test_whoever_was_to_go_when_the_authority_was_killed_goes_when_it_is_asked_again(
    tmp_path: Path, again: str
) -> None:
    cluster = Cluster()
    async with _planned(tmp_path) as plan:
        await _authority(plan, cluster).bring_up()
        assert "broker-1" in cluster.there
        cluster.retiring_kills = True
        with pytest.raises(Killed):
            await _authority(plan, cluster).scale({"brokers": 1})
        cluster.retiring_kills = False
        successor = _authority(plan, cluster)
        assert (await successor.about()).crew.brokers == 1
        await (successor.bring_up() if again == "bring_up" else successor.scale({"brokers": 1}))
        assert cluster.there.keys() == set(Crew(1, 1, 1).names())


@pytest.mark.covers("cluster.crew")
async def test_namesakes_that_another_deployment_has_left_are_ended_before_anybody_is_started(
    tmp_path: Path,
) -> None:
    left = {name: "another" for name in Crew(3, 1, 1).names() if name != AUTHORITY}
    cluster = Cluster(left, crew=("another", Crew(3, 1, 1)))
    async with _planned(tmp_path) as plan:
        authority = _authority(plan, cluster)
        assert (await authority.bring_up()).crew == Crew(2, 1, 1)
        assert cluster.there == dict.fromkeys(Crew(2, 1, 1).names(), "this")


@pytest.mark.covers("cluster.scale")
async def test_of_two_who_scale_at_once_each_has_its_way_with_what_it_named(
    tmp_path: Path,
) -> None:
    cluster = Cluster()
    async with _planned(tmp_path) as plan:
        authority = _authority(plan, cluster)
        await authority.bring_up()
        await asyncio.gather(
            authority.scale({"brokers": 3}), authority.scale({"recorder_hosts": 2})
        )
        assert (await authority.about()).crew == Crew(3, 2, 1)
        assert (await _authority(plan, cluster).about()).crew == Crew(3, 2, 1)


async def test_new_actors_are_there_before_anybody_hears_of_them(tmp_path: Path) -> None:
    cluster = Cluster()
    async with _planned(tmp_path) as plan:
        hands = Hands(cluster, "this")

        async def start(given: Plan) -> None:
            assert (await authority.about()).crew.brokers == 2
            await hands.start(given)

        authority = Authority(plan, start, hands)
        await authority.bring_up()
        assert (await authority.scale({"brokers": 3})).crew.brokers == 3


@pytest.mark.covers("cluster.crew")
async def test_who_is_missing_is_started_whenever_the_deployment_is_asked_for(
    tmp_path: Path,
) -> None:
    cluster = Cluster()
    async with _planned(tmp_path) as plan:
        authority = _authority(plan, cluster)
        await authority.bring_up()
        del cluster.there["steward-0"]
        await authority.bring_up()
        assert cluster.there.keys() == set(Crew(2, 1, 1).names())


@pytest.mark.covers("cluster.ended")
async def test_a_deployment_that_is_being_ended_starts_nobody(tmp_path: Path) -> None:
    cluster = Cluster()
    async with _planned(tmp_path) as plan:
        authority = _authority(plan, cluster)
        await authority.bring_up()
        cluster.ended = "this"
        cluster.there = {AUTHORITY: "this"}
        for asked in (authority.bring_up(), authority.scale({"brokers": 3})):
            with pytest.raises(Unavailable, match="is stopping"):
                await asked
        assert cluster.there.keys() == {AUTHORITY}


@pytest.mark.parametrize(
    ("name", "ours"),
    [("broker-0", True), ("recorder_host-12", True), ("authority-0", True), ("broker", False),
     ("broker-x", False), ("pipeline-0", False), ("my-broker-1", False), ("", False)],
)  # fmt: skip
def test_whose_name_is_no_actors_of_a_deployment_is_left_alone(name: str, ours: bool) -> None:
    assert is_actor_name(name) is ours
