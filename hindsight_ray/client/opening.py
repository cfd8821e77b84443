"""Things that are opened either way: `thing = await opening`, or `async with opening as thing`."""

from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound="AbstractAsyncContextManager[Any]")


class Opening(Generic[T]):
    """Something not yet open. Awaiting it opens it and leaves closing to whoever awaited."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._make = make
        self._open: T | None = None

    def __await__(self) -> Generator[Any, Any, T]:
        return self._make().__await__()

    async def __aenter__(self) -> T:
        self._open = await self._make()
        await self._open.__aenter__()
        return self._open

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open is not None:
            await self._open.__aexit__(kind, error, trace)
