"""Recording without hand-written calls: a plain function whose calls become tool events."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from hindsight_ray.client.run import RunRecorder

P = ParamSpec("P")
R = TypeVar("R")


def recorded(
    run: RunRecorder, *, name: str | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Record each call of a function, plain or `async`, as a tool call of this run.

    What the function raises is recorded and raised. Arguments are recorded by name, as digests.
    """

    def wrapped(function: Callable[P, R]) -> Callable[P, R]:
        called = name or function.__name__
        signature = inspect.signature(function)

        def note(arguments: inspect.BoundArguments, **what: Any) -> None:
            run.tool(called, arguments=dict(arguments.arguments), edge_evidence="observed", **what)

        @functools.wraps(function)
        def plain(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                note(bound, error=error)
                raise
            note(bound, result=result)
            return result

        @functools.wraps(function)
        async def waiting(*args: P.args, **kwargs: P.kwargs) -> Any:
            bound = signature.bind(*args, **kwargs)
            try:
                result = await cast("Any", function(*args, **kwargs))
            except BaseException as error:
                note(bound, error=error)
                raise
            note(bound, result=result)
            return result

        return cast("Callable[P, R]", waiting) if inspect.iscoroutinefunction(function) else plain

    return wrapped
