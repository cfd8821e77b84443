"""Independent jobs without a cluster: in this process, or in a few processes beside it."""

import asyncio
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from typing import Any, TypeVar

from hindsight_ray.ports import Done

T = TypeVar("T")
_CHUNKS_PER_WORKER = 8  # so that a slow chunk at the end leaves nobody idle for long
_CHUNK_MAX = 64


class LocalTasks:
    """`TaskRunner` here. With more than one worker, jobs and inputs must pickle.

    A single worker runs jobs in this thread and gives way between them.
    """

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    async def map(
        self, job: Callable[[Any], T], inputs: Sequence[Any], *, done: Done[T] | None = None
    ) -> Sequence[T]:
        if self._workers == 1 or len(inputs) <= 1:
            return await _here(job, inputs, done)
        context = multiprocessing.get_context("spawn")  # a fork would copy locks of other threads
        with ProcessPoolExecutor(self._workers, mp_context=context) as pool:
            return await _beside(pool, job, inputs, done, chunk_size(len(inputs), self._workers))


def chunk_size(inputs: int, workers: int) -> int:
    """How many inputs travel together."""
    return max(1, min(_CHUNK_MAX, inputs // (workers * _CHUNKS_PER_WORKER)))


def run_chunk(job: Callable[[Any], T], chunk: Sequence[Any]) -> list[T]:
    """The results of a chunk, in order."""
    return [job(one) for one in chunk]


async def _here(
    job: Callable[[Any], T], inputs: Sequence[Any], done: Done[T] | None
) -> Sequence[T]:
    results: list[T] = []
    for at, one in enumerate(inputs):
        results.append(job(one))
        if done is not None:
            done(at, results[-1])
        await asyncio.sleep(0)
    return results


async def _beside(
    pool: ProcessPoolExecutor,
    job: Callable[[Any], T],
    inputs: Sequence[Any],
    done: Done[T] | None,
    size: int,
) -> Sequence[T]:
    results: dict[int, T] = {}
    started: dict[Future[list[T]], int] = {
        pool.submit(run_chunk, job, inputs[at : at + size]): at
        for at in range(0, len(inputs), size)
    }
    waiting = {asyncio.wrap_future(future): at for future, at in started.items()}
    try:
        while waiting:
            ready, _ = await asyncio.wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                first = waiting.pop(future)
                for at, result in enumerate(await future, start=first):
                    results[at] = result
                    if done is not None:
                        done(at, result)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return [results[at] for at in range(len(inputs))]
