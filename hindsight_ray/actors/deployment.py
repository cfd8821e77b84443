"""Starting, joining, watching and stopping the actors on a cluster that this process is part of.

The classes are decorated here and nowhere else, so that a test may build each of them plainly.
"""

import asyncio
from typing import Any

import ray
from ray.actor import ActorHandle
from ray.exceptions import ActorAlreadyExistsError, GetTimeoutError, RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from hindsight_ray.actors.authority import Authority
from hindsight_ray.actors.broker import Broker
from hindsight_ray.actors.models import Models
from hindsight_ray.actors.plan import Deployed, Plan
from hindsight_ray.actors.reach import Reach
from hindsight_ray.actors.recorder_host import RecorderHost
from hindsight_ray.actors.reviewer import Reviewer
from hindsight_ray.actors.roles import NAMESPACE, actor_name
from hindsight_ray.errors import HindsightError, Unavailable

_ray: Any = ray  # typed in part only

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
    mine = _start(AUTHORITY, Authority, plan, plan, start_crew)
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


async def watch(*, wait_s: float = _ANSWER_WAIT_S) -> Deployed | None:
    """The deployment with its actors' process ids; 0 for one that does not answer now."""
    found = await find()
    if found is None:
        return None
    names = found.crew.names()
    pids = await asyncio.gather(*(_pid(name, wait_s) for name in names))
    return found.with_pids(dict(zip(names, pids, strict=True)))


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
        "scheduling_strategy": NodeAffinitySchedulingStrategy(plan.node_id, soft=False),
    }
    if _handle(name) is not None:
        return False
    try:
        _ray.remote(kind).options(**options).remote(*arguments)
    except ActorAlreadyExistsError:
        return False
    return True


def _handle(name: str) -> ActorHandle[Any] | None:
    if not ray.is_initialized():  # else Ray would look for some cluster of its own accord
        raise Unavailable("this process has left the cluster; connect again")
    try:
        return _ray.get_actor(name, namespace=NAMESPACE)
    except ValueError:
        return None


async def _pid(name: str, wait_s: float) -> int:
    handle = _handle(name)
    if handle is None:
        return 0
    try:
        return await asyncio.wait_for(_awaited(handle.ready.remote()), wait_s)
    except (RayActorError, RayTaskError, TimeoutError, GetTimeoutError):
        return 0


async def _drain(name: str) -> str:
    """Have an actor finish what it has in hand; what went wrong in that, or nothing.

    One that does not answer has nothing in flight that anybody was told of.
    """
    handle = _handle(name)
    if handle is None:
        return ""
    try:
        await asyncio.wait_for(_awaited(handle.drain.remote()), _ANSWER_WAIT_S)
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
