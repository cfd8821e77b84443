"""Starting, joining, watching and stopping the actors on a cluster that this process is part of.

The classes are decorated here and nowhere else, so that a test may build each of them plainly.
"""

import asyncio
import importlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
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
from hindsight_ray.actors.roles import NAMESPACE, Crew, actor_name
from hindsight_ray.actors.steward import Steward
from hindsight_ray.errors import HindsightError, Unavailable

_ray: Any = ray  # typed in part only
_kv: Any = vars(importlib.import_module("ray.experimental.internal_kv"))  # has no public names
_log = logging.getLogger(__name__)
_CREW, _CREW_SPACE = b"crew", b"hindsight"

AUTHORITY = actor_name("authority", 0)
_DRAINED: tuple[frozenset[str], ...] = (
    frozenset({"broker", "recorder_host", "steward"}),
    frozenset({"reviewer"}),
    frozenset({"models"}),
    frozenset({"authority"}),
)
_CALLS_AT_ONCE = 128  # each costs Ray a stack; more wait in the actor's queue
_ANSWER_WAIT_S = 10.0
_GONE_CHECKS = 200
_GONE_PAUSE_S = 0.05
_BEGIN_WAIT_S = 30.0  # for the process of an actor to begin
_PLACE_TRIES = 10
_PLACE_PAUSE_S = 0.3


async def find() -> Deployed | None:
    """The deployment of this cluster, in order or not, or None if there is none."""
    if _handle(AUTHORITY) is None:
        return None
    return await Reach().ask((AUTHORITY,), lambda authority: authority.about.remote())


async def join() -> Deployed | None:
    """The deployment of this cluster once it is in order, or None if nobody has started one.

    Raises `HomeInUse` if its home is open elsewhere.
    """
    if _handle(AUTHORITY) is None:
        return None
    return await Reach().ask((AUTHORITY,), lambda authority: authority.bring_up.remote())


async def bring_up(plan: Plan) -> Deployed:
    """Start the deployment, or join the one that somebody else is starting at this moment.

    Raises `HomeInUse` if the plan's home is open elsewhere; nothing is left running then.
    """
    mine = await _start_all({AUTHORITY: (Authority, plan, start_crew, RayHands())}, plan)
    try:
        return await Reach().ask((AUTHORITY,), lambda authority: authority.bring_up.remote())
    except HindsightError:
        if mine:
            _kill(AUTHORITY)
        raise


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
        for name in away:
            _kill(name)
        await _gone(tuple(away))
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
    """`CrewHands` of this cluster. What is remembered lies with the names of the actors."""

    def remembered(self) -> Crew | None:
        found = _kv["_internal_kv_get"](_CREW, namespace=_CREW_SPACE)
        return None if found is None else Crew(*json.loads(found))

    def remember(self, crew: Crew) -> None:
        numbers = json.dumps([crew.brokers, crew.recorder_hosts, crew.reviewers])
        _kv["_internal_kv_put"](_CREW, numbers.encode(), overwrite=True, namespace=_CREW_SPACE)

    def forget(self) -> None:
        _kv["_internal_kv_del"](_CREW, namespace=_CREW_SPACE)

    async def retire(self, names: Sequence[str]) -> None:
        faults = await asyncio.gather(*(_drain(name, leaving=True) for name in names))
        for name in names:
            _kill(name)
        await _gone(tuple(names))
        said = "; ".join(fault for fault in faults if fault)
        if said:
            raise Unavailable(f"actors have left, but not all jobs had ended: {said}")


async def scale(crew: Crew) -> Deployed:
    """Have so many actors of each role. Raises `Unavailable` if there is no deployment."""
    return await Reach().ask((AUTHORITY,), lambda authority: authority.scale.remote(crew))


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


async def take_down() -> bool:
    """Drain every actor and end them all. False if there is no deployment.

    Whoever is asked by others drains after them, so that what is in hand is finished. Raises
    `Unavailable` naming whoever failed to drain, after all have been ended.
    """
    found = await find()
    if found is None:
        return False
    others = [name for name in found.crew.names() if name != AUTHORITY]
    faults: list[str] = []
    for roles in _DRAINED:
        leaving = [name for name in found.crew.names() if name.rpartition("-")[0] in roles]
        faults += await asyncio.gather(*map(_drain, leaving))
    for name in (*others, AUTHORITY):
        _kill(name)
    await _gone(found.crew.names())
    RayHands().forget()
    said = "; ".join(fault for fault in faults if fault)
    if said:
        raise Unavailable(f"`deployment` has ended, but not all jobs had: {said}")
    return True


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


async def _drain(name: str, *, leaving: bool = False) -> str:
    """Have an actor finish what it has in hand; what went wrong in that, or nothing.

    One that does not answer has nothing in flight that anybody was told of.
    """
    handle = _handle(name)
    if handle is None:
        return ""
    try:
        await asyncio.wait_for(_awaited(handle.drain.remote(leaving)), _ANSWER_WAIT_S)
    except (RayActorError, TimeoutError):
        return ""
    except RayTaskError as failure:
        return f"`{name}`: {failure.cause!r}"
    return ""


async def _awaited(reference: Any) -> Any:
    return await reference


def _kill(name: str) -> None:
    handle = _handle(name)
    if handle is not None:
        _ray.kill(handle, no_restart=True)


async def _gone(names: tuple[str, ...]) -> None:
    """Wait until the cluster has given the names free."""
    for _ in range(_GONE_CHECKS):
        if not any(_handle(name) for name in names):
            return
        await asyncio.sleep(_GONE_PAUSE_S)
    raise Unavailable("`deployment` does not end; see `hindsight-ray status`")
