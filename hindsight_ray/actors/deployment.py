"""Starting, joining, watching and stopping the actors on a cluster that this process is part of.

The classes are decorated here and nowhere else, so that a test may build each of them plainly.
"""

import asyncio
import contextlib
import importlib
import itertools
import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import ray
from ray.actor import ActorHandle
from ray.exceptions import ActorAlreadyExistsError, GetTimeoutError, RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from hindsight_ray.actors.authority import Authority
from hindsight_ray.actors.broker import Broker
from hindsight_ray.actors.models import Models
from hindsight_ray.actors.plan import ActorState, Deployed, Plan
from hindsight_ray.actors.reach import Reach
from hindsight_ray.actors.recorder_host import RecorderHost
from hindsight_ray.actors.reviewer import Reviewer
from hindsight_ray.actors.roles import NAMESPACE, Crew, actor_name, is_actor_name
from hindsight_ray.actors.steward import Steward
from hindsight_ray.errors import HindsightError, Unavailable

_ray: Any = ray  # typed in part only
_kv: Any = vars(importlib.import_module("ray.experimental.internal_kv"))  # has no public names
_log = logging.getLogger(__name__)
_KEPT = b"hindsight"  # where these lie
_CREW = b"crew"  # which authority is that of the actors there are, and how many they are
_ENDING = b"ending"  # the authority whose deployment somebody has begun to end

AUTHORITY = actor_name("authority", 0)
_DRAINED: tuple[frozenset[str], ...] = (
    frozenset({"broker", "recorder_host", "steward"}),
    frozenset({"reviewer"}),
    frozenset({"models"}),
    frozenset({"authority"}),
)
_CALLS_AT_ONCE = 128  # each costs Ray a stack; more wait in the actor's queue
_ANSWER_WAIT_S = 10.0
_FOUND_WAIT_S = 30.0  # for the authority, which may be starting again on a busy machine
_CREW_WAIT_S = 90.0  # the same where the deployment is only being started
_GONE_CHECKS = 200
_GONE_PAUSE_S = 0.05
_BEGIN_WAIT_S = 30.0  # for the process of an actor to begin
_PLACE_TRIES = 10
_PLACE_PAUSE_S = 0.3


def is_there() -> bool:
    """Whether this cluster has a deployment, in order or not."""
    return _handle(AUTHORITY) is not None


async def find(*, wait_s: float = _FOUND_WAIT_S) -> Deployed | None:
    """The deployment of this cluster, in order or not, or None if there is none.

    Raises `Unavailable` if its authority, which need not be in order for that, says nothing.
    """
    if not is_there():
        return None
    try:
        asked = Reach().ask((AUTHORITY,), lambda authority: authority.about.remote())
        return await asyncio.wait_for(asked, wait_s)
    except TimeoutError:
        raise Unavailable(
            f"`{AUTHORITY}` has said nothing for {wait_s:g} s: its process or node is stopped or"
            " out of reach; see to that, or end the deployment with `hindsight-ray down`",
            actor=AUTHORITY,
        ) from None


async def join() -> Deployed | None:
    """The deployment of this cluster once it is in order, or None if nobody has started one.

    Raises `HomeInUse` if its home is open elsewhere.
    """
    if await find(wait_s=_CREW_WAIT_S) is None:
        return None
    return await Reach().ask((AUTHORITY,), lambda authority: authority.bring_up.remote())


async def bring_up(plan: Plan) -> Deployed:
    """Start the deployment, or join the one that somebody else is starting at this moment.

    Raises `HomeInUse` if the plan's home is open elsewhere; nothing is left running then.
    """
    mine = await _start_all({AUTHORITY: (Authority, plan, start_crew, RayHands())}, plan)
    try:
        found = await join()
    except HindsightError:
        if mine:
            with contextlib.suppress(Unavailable):  # what went wrong first is what is told
                await take_down()
        raise
    if found is None:
        raise Unavailable(f"`{AUTHORITY}` has ended while it started; try again")
    return found


async def start_crew(plan: Plan) -> None:
    """Start every actor of the plan that has no living namesake. Runs in the authority."""
    await _start_all({name: part for name, *part in _crew_of(plan)}, plan)


async def _start_all(parts: Mapping[str, Sequence[Any]], plan: Plan) -> bool:
    """Start each by its class and what it is built from, unless it runs; whether any was started.

    Where they may be on several nodes, this returns once each is on the node that is meant for it.
    """
    started = [name for name, part in parts.items() if _start(name, plan, *part)]
    away = [] if plan.pinned else await astray(started, plan)
    for _ in range(_PLACE_TRIES):
        if not away:
            return bool(started)
        await _ended({name: one for name, one in _present().items() if name in away})
        await asyncio.sleep(_PLACE_PAUSE_S)
        for name in away:
            _start(name, plan, *parts[name])
        away = await astray(away, plan)
    _log.warning("%s may not all be on the nodes that were meant for them", ", ".join(away))
    return bool(started)


def _crew_of(plan: Plan) -> Iterator[tuple[Any, ...]]:
    """Each actor but the authority: its name, its class and what it is built from."""
    crew = plan.crew
    yield actor_name("models", 0), Models, plan.embedder, plan.chat
    for i in range(crew.brokers):
        yield actor_name("broker", i), Broker, plan.broker_world
    for i in range(crew.recorder_hosts):
        yield actor_name("recorder_host", i), RecorderHost, plan.recorder_world
    for i in range(crew.reviewers):
        yield actor_name("reviewer", i), Reviewer, plan.broker_world
    upkeep = (plan.settings.upkeep_every_s, plan.settings.upkeep_slice)
    yield actor_name("steward", 0), Steward, plan.broker_world, *upkeep


async def astray(names: Sequence[str], plan: Plan) -> list[str]:
    """Which of these actors have begun on another living node than the one meant for them.

    Ray's preference for a node gives way where the process that places an actor has not heard of
    the node yet, as in the first moments of one that has just joined.
    """
    places = await asyncio.gather(*map(_place_now, names))
    found: list[str] = []
    for name, place in zip(names, places, strict=True):
        meant = _node_of(name, plan)
        if place and place != meant and meant in _living_nodes():
            found.append(name)
    return found


async def _place_now(name: str) -> str:
    """The node of an actor, once it has begun; empty if it does not say in time."""
    handle = _handle(name)
    if handle is None:
        return ""
    try:
        return str(await asyncio.wait_for(_awaited(handle.where.remote()), _BEGIN_WAIT_S))
    except (RayActorError, RayTaskError, TimeoutError, GetTimeoutError):
        return ""


class RayHands:
    """`CrewHands` of this cluster, in the authority's process.

    What is remembered lies with the names of the actors, under the id of this authority: it is the
    same however often Ray restarts it, and another deployment's is another.
    """

    def remembered(self) -> Crew | None:
        found = json.loads(_kept(_CREW) or "{}")
        return Crew(*found["crew"]) if found.get("of") == _own_id() else None

    def remember(self, crew: Crew) -> None:
        _keep(_CREW, json.dumps({"of": _own_id(), "crew": astuple(crew)}))

    def ending(self) -> bool:
        return _kept(_ENDING) == _own_id()

    async def retire(self, but: Collection[str]) -> str:
        return await _ended(
            {name: actor for name, actor in _present().items() if name not in but}, leaving=True
        )


def _own_id() -> str:
    return str(_ray.get_runtime_context().get_actor_id())


def _kept(key: bytes) -> str | None:
    found = _kv["_internal_kv_get"](key, namespace=_KEPT)
    return None if found is None else found.decode()


def _keep(key: bytes, text: str) -> None:
    _kv["_internal_kv_put"](key, text.encode(), overwrite=True, namespace=_KEPT)


async def scale(numbers: Mapping[str, int]) -> Deployed:
    """Have so many actors of each role named. Raises `Unavailable` if there is no deployment."""
    return await Reach().ask((AUTHORITY,), lambda authority: authority.scale.remote(numbers))


async def crew_now() -> Crew | None:
    """How many actors of each role there are by now; None without a deployment."""
    found = await find()
    return None if found is None else found.crew


async def watch(*, wait_s: float = _ANSWER_WAIT_S) -> Deployed | None:
    """The deployment with its actors' process ids; 0 for one that does not answer now."""
    found = await find()
    if found is None:
        return None
    states = await asyncio.gather(*(_state(name, wait_s) for name in found.crew.names()))
    return found.with_actors(states)


async def half_ended() -> bool:
    """Whether there is what a `take_down` that did not come to its end, or has not yet, left."""
    there = _present()
    if AUTHORITY not in there:
        return bool(there)
    return _kept(_ENDING) == _id_of(there[AUTHORITY])


async def take_down() -> bool:
    """Drain every actor and end them all. False if there are none.

    Whoever is asked by others drains after them, so that what is in hand is finished. Raises
    `Unavailable` naming whoever failed to drain, after all have been ended.
    """
    there = _present()
    if AUTHORITY in there:  # from here on it starts nobody, for anyone
        _keep(_ENDING, _id_of(there[AUTHORITY]))
    faults: list[str] = []
    for roles in _DRAINED:
        leaving = {name: one for name, one in there.items() if name.rpartition("-")[0] in roles}
        faults += await asyncio.gather(*itertools.starmap(_drain, leaving.items()))
    faults.append(await _ended(there))
    rest = _present()  # whoever it was starting meanwhile
    if AUTHORITY not in rest:
        await _ended(rest)
    said = "; ".join(fault for fault in faults if fault)
    if said:
        raise Unavailable(f"`deployment` has ended, but not all jobs had: {said}")
    return bool(there)


async def _ended(actors: Mapping[str, ActorHandle[Any]], *, leaving: bool = False) -> str:
    """End these, who drain first if they are `leaving`; what went wrong in that."""
    faults: list[str] = []
    if leaving:
        drains = (_drain(name, one, leaving=True) for name, one in actors.items())
        faults = await asyncio.gather(*drains)
    for one in actors.values():
        _ray.kill(one, no_restart=True)
    await _gone(actors)
    return "; ".join(fault for fault in faults if fault)


def _present() -> dict[str, ActorHandle[Any]]:
    """Every actor on this cluster that has the name of one of a deployment's, whoever began it."""
    found = _ray.util.list_named_actors(all_namespaces=True)
    names = sorted(one["name"] for one in found if one["namespace"] == NAMESPACE)
    there = {name: _handle(name) for name in names if is_actor_name(name)}
    return {name: one for name, one in there.items() if one is not None}


def _id_of(actor: ActorHandle[Any]) -> str:
    return str(vars(actor)["_ray_actor_id"].hex())


def _start(name: str, plan: Plan, kind: type[Any], *arguments: Any) -> bool:
    """Create the actor unless its name is taken; whether this call made it.

    Names are given out by the cluster, one actor each, so of two that create at once one wins.
    """
    options = {
        "name": name,
        "namespace": NAMESPACE,
        "lifetime": "detached",
        "max_restarts": -1,
        "max_concurrency": _CALLS_AT_ONCE,
        "num_cpus": 0,
        "scheduling_strategy": _place_of(name, plan),
    }
    if _handle(name) is not None:
        return False
    try:
        _ray.remote(kind).options(**options).remote(*arguments)
    except ActorAlreadyExistsError:
        return False
    return True


def _place_of(name: str, plan: Plan) -> NodeAffinitySchedulingStrategy:
    """Where the actor starts: firmly beside the ledger's file, else so that it may move.

    Whoever loses its node starts on another.
    """
    return NodeAffinitySchedulingStrategy(_node_of(name, plan), soft=not plan.pinned)


def _node_of(name: str, plan: Plan) -> str:
    """The node meant for an actor: the home's, or else the living nodes in turn.

    Ray would put actors that reserve nothing on one node.
    """
    if plan.pinned or name == AUTHORITY:
        return plan.node_id
    nodes = _living_nodes()
    return nodes[plan.crew.names().index(name) % len(nodes)]


def _living_nodes() -> list[str]:
    return sorted(node["NodeID"] for node in _ray.nodes() if node["Alive"])


def _handle(name: str) -> ActorHandle[Any] | None:
    if not ray.is_initialized():  # else Ray would look for some cluster of its own accord
        raise Unavailable("this process has left the cluster; connect again")
    try:
        return _ray.get_actor(name, namespace=NAMESPACE)
    except ValueError:
        return None


async def _state(name: str, wait_s: float) -> ActorState:
    handle = _handle(name)
    if handle is None:
        return ActorState(name)
    try:
        said = await asyncio.wait_for(_awaited(handle.state.remote()), wait_s)
    except (RayActorError, RayTaskError, TimeoutError, GetTimeoutError):
        return ActorState(name)
    return ActorState(name, **said)


async def _drain(name: str, actor: ActorHandle[Any], *, leaving: bool = False) -> str:
    """Have an actor finish what it has in hand; what went wrong in that, or nothing.

    One that does not answer has nothing in flight that anybody was told of.
    """
    try:
        await asyncio.wait_for(_awaited(actor.drain.remote(leaving)), _ANSWER_WAIT_S)
    except (RayActorError, TimeoutError):
        return ""
    except RayTaskError as failure:
        return f"`{name}`: {failure.cause!r}"
    return ""


async def _awaited(reference: Any) -> Any:
    return await reference


async def _gone(actors: Mapping[str, ActorHandle[Any]]) -> None:
    """Wait until the cluster has given their names free, or to others."""
    ids = {_id_of(one) for one in actors.values()}
    for _ in range(_GONE_CHECKS):
        there = filter(None, map(_handle, actors))
        if ids.isdisjoint(map(_id_of, there)):
            return
        await asyncio.sleep(_GONE_PAUSE_S)
    raise Unavailable("`deployment` does not end; see `hindsight-ray status`")
