"""Starting, joining, watching and stopping the actors on a cluster that this process is part of.

The classes are decorated here and nowhere else, so that a test may build each of them plainly.
"""

import asyncio
import importlib
import json
from collections.abc import Sequence
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
_CREW, _CREW_SPACE = b"crew", b"hindsight"

AUTHORITY = actor_name("authority", 0)
_CALLS_AT_ONCE = 128  # each costs Ray a stack; more wait in the actor's queue
_ANSWER_WAIT_S = 10.0
_GONE_CHECKS = 200
_GONE_PAUSE_S = 0.05


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
    mine = _start(AUTHORITY, Authority, plan, plan, start_crew, RayHands())
    try:
        return await Reach().ask((AUTHORITY,), lambda authority: authority.bring_up.remote())
    except HindsightError:
        if mine:
            _kill(AUTHORITY)
        raise


def start_crew(plan: Plan) -> None:
    """Start every actor of the plan that has no living namesake. Runs in the authority."""
    _start(actor_name("models", 0), Models, plan, plan.embedder, plan.chat)
    for i in range(plan.crew.brokers):
        _start(actor_name("broker", i), Broker, plan, plan.broker_world)
    for i in range(plan.crew.recorder_hosts):
        _start(actor_name("recorder_host", i), RecorderHost, plan, plan.recorder_world)
    for i in range(plan.crew.reviewers):
        _start(actor_name("reviewer", i), Reviewer, plan, plan.broker_world)
    upkeep = (plan.settings.upkeep_every_s, plan.settings.upkeep_slice)
    _start(actor_name("steward", 0), Steward, plan, plan.broker_world, *upkeep)


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
    """Drain every actor, the authority last, and end them. False if there is no deployment.

    Raises `Unavailable` naming whoever failed to drain, after all have been ended.
    """
    found = await find()
    if found is None:
        return False
    others = [name for name in found.crew.names() if name != AUTHORITY]
    faults = [*await asyncio.gather(*map(_drain, others)), await _drain(AUTHORITY)]
    for name in (*others, AUTHORITY):
        _kill(name)
    await _gone(found.crew.names())
    RayHands().forget()
    said = "; ".join(fault for fault in faults if fault)
    if said:
        raise Unavailable(f"`deployment` has ended, but not all jobs had: {said}")
    return True


def _start(name: str, kind: type[Any], plan: Plan, *arguments: Any) -> bool:
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
    """Where the actor starts: beside the ledger's file, or else on the living nodes in turn.

    Ray would put actors that reserve nothing on one node. Whoever loses its node starts on another.
    """
    if plan.pinned or name == AUTHORITY:
        return NodeAffinitySchedulingStrategy(plan.node_id, soft=not plan.pinned)
    nodes = sorted(node["NodeID"] for node in _ray.nodes() if node["Alive"])
    turn = plan.crew.names().index(name)
    return NodeAffinitySchedulingStrategy(nodes[turn % len(nodes)], soft=True)


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
