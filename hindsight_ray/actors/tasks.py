"""Independent jobs as Ray tasks: sent in chunks, few at a time, results in the order of inputs."""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import ray

from hindsight_ray.adapters.tasks.local import chunk_size, run_chunk
from hindsight_ray.ports import Done

T = TypeVar("T")
_ray: Any = ray  # typed in part only


class RayTasks:
    """`TaskRunner` on the cluster that this process belongs to.

    **Guarantees**
    - The job travels once, inputs in chunks; at most `workers` chunks run at a time.
    - A chunk whose worker died runs again: jobs are pure, so nothing is doubled.
    - Results depend on neither the number of workers nor the order in which they finish.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers

    async def map(
        self, job: Callable[[Any], T], inputs: Sequence[Any], *, done: Done[T] | None = None
    ) -> Sequence[T]:
        if not inputs:
            return []
        workers = self._workers or _processors()
        size = chunk_size(len(inputs), workers)
        sent = _ray.put(job)
        room = asyncio.Semaphore(workers)
        results: dict[int, T] = {}

        async def one(first: int) -> None:
            async with room:
                found = await _chunk.remote(sent, inputs[first : first + size])
            for at, result in enumerate(found, start=first):
                results[at] = result
                if done is not None:
                    done(at, result)

        try:
            async with asyncio.TaskGroup() as group:
                for first in range(0, len(inputs), size):
                    group.create_task(one(first))
        except ExceptionGroup as failed:  # the others were cancelled on account of the first
            raise failed.exceptions[0] from None
        return [results[at] for at in range(len(inputs))]


def _processors() -> int:
    """How many chunks can make progress at a time: a local cluster claims more than it has."""
    claimed = int(_ray.cluster_resources().get("CPU", 1))
    nodes = sum(bool(node["Alive"]) for node in _ray.nodes())
    return max(1, min(claimed, nodes * (os.cpu_count() or 1)))


@_ray.remote(num_cpus=1, max_retries=3, retry_exceptions=False)
def _chunk(job: Callable[[Any], Any], chunk: Sequence[Any]) -> list[Any]:
    return run_chunk(job, chunk)
