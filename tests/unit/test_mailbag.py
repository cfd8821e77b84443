"""Batches that go to one host together keep their own answers."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from hindsight_ray.actors.mailbag import TOGETHER_BYTES_MAX, Mailbag
from hindsight_ray.domain.run import RecordAck
from hindsight_ray.errors import InvalidInput, Unavailable


class _Host:
    """An actor's handle as far as it is used: `record_all.remote(…)` is awaited."""

    def __init__(self, *, down: bool = False) -> None:
        self.calls: list[Sequence[tuple[str, bytes]]] = []
        self.record_all = self
        self._down = down

    async def remote(self, *sent: tuple[str, bytes]) -> list[RecordAck | InvalidInput]:
        self.calls.append(sent)
        if self._down:
            raise Unavailable("`host` is away")
        return [
            InvalidInput("`batch` is bad") if batch == b"bad" else _ack(len(batch))
            for _, batch in sent
        ]


def _ack(stored: int) -> RecordAck:
    return RecordAck(stored=stored, repeated=0)


async def _sent(bag: Mailbag, host: Any, *batches: bytes) -> list[RecordAck | BaseException]:
    sending = (bag.send(host, f"t{n}", batch) for n, batch in enumerate(batches))
    return await asyncio.gather(*sending, return_exceptions=True)


@pytest.mark.covers("G9.recording")
async def test_what_is_sent_in_one_turn_goes_in_one_call_to_each_host() -> None:
    bag, one, other = Mailbag(), _Host(), _Host()
    (first, second), (third,) = await asyncio.gather(
        _sent(bag, one, b"1", b"22"), _sent(bag, other, b"333")
    )
    assert [first, second, third] == [_ack(1), _ack(2), _ack(3)]
    assert one.calls == [(("t0", b"1"), ("t1", b"22"))]
    assert other.calls == [(("t0", b"333"),)]
    assert await _sent(bag, one, b"4444") == [_ack(4)]


async def test_a_bad_batch_is_refused_alone() -> None:
    good, bad, last = await _sent(Mailbag(), _Host(), b"1", b"bad", b"1")
    assert (good, last) == (_ack(1), _ack(1))
    assert isinstance(bad, InvalidInput)


async def test_whoever_sent_to_a_host_that_is_away_is_told() -> None:
    told = await _sent(Mailbag(), _Host(down=True), b"1", b"2")
    assert [type(one) for one in told] == [Unavailable, Unavailable]


async def test_whoever_waits_no_more_holds_nobody_up() -> None:
    bag, host = Mailbag(), _Host()
    gone = asyncio.create_task(bag.send(host, "t", b"1"))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    gone.cancel()
    assert await _sent(bag, host, b"22") == [_ack(2)]


async def test_no_call_is_larger_than_its_bound_but_for_one_batch() -> None:
    bag, host = Mailbag(), _Host()
    half = b"x" * (TOGETHER_BYTES_MAX // 2)
    huge = b"x" * (TOGETHER_BYTES_MAX + 1)
    told = await _sent(bag, host, half, half, half, huge, b"1")
    assert [one.stored for one in told if isinstance(one, RecordAck)] == [
        len(half), len(half), len(half), len(huge), 1,
    ]  # fmt: skip
    assert [len(call) for call in host.calls] == [2, 1, 1, 1]
