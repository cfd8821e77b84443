"""What replays rest on: a runner for independent jobs, and a place that keeps what came out.

Apart from the ledger's logs, because replays run where the environment is: with the client.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Done = Callable[[int, T], None]  # the position of an input, and its result


class TaskRunner(Protocol):
    """Runs independent pure jobs, here or on a cluster; results in the order of the inputs."""

    async def map(
        self, job: Callable[[Any], T], inputs: Sequence[Any], *, done: Done[T] | None = None
    ) -> Sequence[T]:
        """`job` of each input. `done` hears each result as it comes, in any order.

        Raises the first error of a job; what `done` has heard until then counts.
        """
        ...


class Evaluations(Protocol):
    """Outcomes of replays by key. A key says everything that an outcome depends on."""

    def known(self, keys: Iterable[str]) -> Mapping[str, float]:
        """Those of `keys` that are here."""
        ...

    def keep(self, outcomes: Mapping[str, float]) -> None:
        """Keep these; they survive the process once this has returned, if anything here does."""
        ...
