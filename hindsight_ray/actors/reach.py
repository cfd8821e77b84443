"""How any process of a cluster reaches the actors: names to handles, Ray's failures to ours.

Apart from the transport, because brokers reach the models the same way. Retrying is safe for
what has one effect however often it is sent; callers say so.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import ray
from ray.actor import ActorHandle
from ray.exceptions import RayActorError, RayError, RayTaskError

from hindsight_ray.actors.roles import NAMESPACE
from hindsight_ray.errors import HindsightError, Unavailable

_ray: Any = ray  # typed in part only

ATTEMPTS_MAX = 9
_PAUSE_FIRST_S = 0.1
_PAUSE_MAX_S = 4.0  # nine attempts wait 21 s: several times what a restart takes

Invoke = Callable[[ActorHandle[Any]], Awaitable[Any]]


class Reach:
    """Handles of the deployment's actors, found by name when first needed."""

    def __init__(self, require: Callable[[], None] | None = None) -> None:
        """`require` raises `Unavailable` where Ray itself is not to be asked."""
        self._require = require
        self._handles: dict[str, ActorHandle[Any]] = {}

    async def ask(
        self,
        names: tuple[str, ...],
        invoke: Invoke,
        *,
        repeatable: bool = True,
        anew: Callable[[], Awaitable[tuple[str, ...]]] | None = None,
    ) -> Any:
        """`invoke` the first of `names` that answers. Raises what the actor raised as its own type.

        An actor that is restarting is asked again, the next of `names` in between, within
        stated bounds; then `Unavailable`. One that has left the deployment took nothing in hand;
        `anew` says who is there instead.
        """
        pause_s = _PAUSE_FIRST_S
        for attempt in range(ATTEMPTS_MAX):
            name = names[attempt % len(names)]
            try:
                return await invoke(self._handle(name))
            except (RayTaskError, HindsightError) as failure:
                cause = _cause(failure)
                if anew is None or not _has_left(cause):
                    raise cause from None
                self._handles.pop(name, None)
                names = await anew()
            except RayActorError:
                self._handles.pop(name, None)
                if not repeatable:
                    break
            except RayError as failure:
                raise Unavailable(f"`{name}` could not be asked: {failure}", actor=name) from None
            except _Absent:
                if anew is not None:
                    names = await anew()
            if (attempt + 1) % len(names) == 0:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _PAUSE_MAX_S)
        raise Unavailable(
            f"`{names[0]}` did not answer; see `hindsight-ray status`, or start the deployment"
            " again with `hindsight-ray up`",
            actor=names[0],
        )

    def _handle(self, name: str) -> ActorHandle[Any]:
        if name not in self._handles:
            if not ray.is_initialized():  # else Ray would look for some cluster of its own accord
                raise Unavailable("`client` is closed or has left the cluster; connect again")
            if self._require is not None:
                self._require()
            try:
                self._handles[name] = _ray.get_actor(name, namespace=NAMESPACE)
            except ValueError:
                raise _Absent from None
        return self._handles[name]


class _Absent(Exception):
    """No actor has this name now."""


def _has_left(cause: BaseException) -> bool:
    return isinstance(cause, Unavailable) and bool(cause.details.get("leaving"))


def _cause(failure: RayTaskError | HindsightError) -> BaseException:
    """What the actor's code raised, as it was: Ray's error is of that type and of its own."""
    cause: Any = failure
    if isinstance(failure, RayTaskError):
        cause = vars(failure)["cause"]
    return cause if isinstance(cause, HindsightError) else failed(cause)


def failed(cause: object) -> Unavailable:
    """What a caller is told of an error that no verb raises."""
    return Unavailable(f"the deployment failed to answer: {cause!r}")
