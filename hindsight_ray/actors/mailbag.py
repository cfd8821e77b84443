"""Batches of many recorders that go to one host together: a call costs as much as dozens of them.

Each batch keeps its own answer, so whoever sent it tries again, or is refused, by itself.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from ray.actor import ActorHandle

from hindsight_ray.domain.run import RecordAck

TOGETHER_BYTES_MAX = 1 << 19  # in one call: a part of what a host takes apart at once

_Sent = tuple[str, bytes, asyncio.Future[RecordAck]]


class Mailbag:
    """What is to be sent in this turn of the event loop, by host. For one loop."""

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[ActorHandle[Any], list[_Sent]]] = {}
        self._calls: set[asyncio.Task[None]] = set()

    async def send(self, host: ActorHandle[Any], token: str, batch: bytes) -> RecordAck:
        """Have `host` journal a packed batch. Raises what it raises for this batch, and Ray's."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[RecordAck] = loop.create_future()
        if id(host) not in self._waiting:
            self._waiting[id(host)] = (host, [])
            loop.call_soon(self._go, id(host))
        self._waiting[id(host)][1].append((token, batch, answer))
        return await answer

    def _go(self, place: int) -> None:
        host, sent = self._waiting.pop(place)
        for together in _parts(sent):
            call = asyncio.create_task(_ask(host, together))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)


async def _ask(host: ActorHandle[Any], sent: Sequence[_Sent]) -> None:
    asked: Any = host  # typed in part only
    told: Sequence[RecordAck | Exception]
    try:
        # Each an argument of its own: a large one would take the way through the object store.
        told = await asked.record_all.remote(*((token, batch) for token, batch, _ in sent))
    except Exception as error:  # noqa: BLE001 - whoever waits tries again, or is told
        told = [error] * len(sent)
    for (_, _, answer), one in zip(sent, told, strict=True):
        if answer.done():  # nobody waits any more
            continue
        if isinstance(one, Exception):
            answer.set_exception(one)
        else:
            answer.set_result(one)


def _parts(sent: Sequence[_Sent]) -> Iterator[list[_Sent]]:
    part: list[_Sent] = []
    size = 0
    for one in sent:
        if part and size + len(one[1]) > TOGETHER_BYTES_MAX:
            yield part
            part, size = [], 0
        part.append(one)
        size += len(one[1])
    yield part
