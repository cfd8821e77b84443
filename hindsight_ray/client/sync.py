"""The synchronous client: one generic facade over the asynchronous one.

Every method that would be awaited is carried out on the client's own loop while the calling thread
waits; everything else is as it is. So there is no second client to keep in step.
"""

import inspect
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.client.loop import LoopThread
from hindsight_ray.client.memory import Memory
from hindsight_ray.client.run import RunRecorder
from hindsight_ray.client.transport import Connection

Faced = Hindsight | Memory | RunRecorder


class Synchronous:
    """A client object without `await`: `with client.as_caller(t).run(goal=...) as run: ...`."""

    def __init__(self, target: Faced, loop: LoopThread) -> None:
        self._target = target
        self._loop = loop

    @property
    def target(self) -> Faced:
        """The asynchronous object behind this one."""
        return self._target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        return self._synchronous(found) if inspect.isroutine(found) else found

    def __enter__(self) -> Self:
        self._done(self._context().__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        context = self._context()
        if not (isinstance(context, Hindsight) and context.closed):
            self._done(context.__aexit__(kind, error, trace))

    def close(self) -> Any:
        """Close a client, or leave a run. Again, nothing happens."""
        context = self._context()
        if isinstance(context, Hindsight) and context.closed:
            return None
        return self._done(context.close())

    def _context(self) -> Hindsight | RunRecorder:
        if isinstance(self._target, Memory):
            raise TypeError("a memory needs no `with`; a client and a run do")
        return self._target

    def __repr__(self) -> str:
        return f"Synchronous({self._target!r})"

    def _synchronous(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            plain = [_target(one) for one in arguments]
            answer = method(*plain, **{name: _target(one) for name, one in named.items()})
            return self._faced(self._done(answer) if inspect.isawaitable(answer) else answer)

        called.__name__ = method.__name__
        called.__doc__ = method.__doc__
        return called

    def _done(self, job: Awaitable[Any]) -> Any:
        return self._loop.wait(job)

    def _faced(self, answer: Any) -> Any:
        return Synchronous(answer, self._loop) if isinstance(answer, Faced) else answer


def opened(connect: Callable[[LoopThread], Awaitable[Connection]]) -> Synchronous:
    """A synchronous client that `connect` gives its connection."""
    loop = LoopThread()
    try:
        return Synchronous(Hindsight(loop.wait(connect(loop)), loop), loop)
    except BaseException:
        loop.stop()
        raise


def _target(argument: Any) -> Any:
    return argument.target if isinstance(argument, Synchronous) else argument
