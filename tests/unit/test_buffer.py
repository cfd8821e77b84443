"""The buffer between an agent's thread and the shipping of its events."""

from typing import Any
from uuid import UUID

import pytest

from hindsight_ray.client.buffer import EventBuffer
from hindsight_ray.domain.event import Event
from hindsight_ray.errors import BufferFull, InvalidInput, RunClosed, Unavailable
from tests.worlds import START


def event(seq: int) -> Event:
    return Event.model_validate(
        {
            "event_id": str(UUID(int=0x7 << 76 | 0b10 << 62 | seq + 1)),
            "run_id": str(UUID(int=0x7 << 76 | 0b10 << 62)),
            "agent": "planner",
            "incarnation": "first",
            "seq": seq,
            "timestamp": START,
            "kind": "state",
            "summary": "",
        }
    )


def buffer(limit: int = 3, when_full: str = "fail", **given: Any) -> tuple[EventBuffer, list[int]]:
    woken: list[int] = []
    made = EventBuffer(
        limit=limit,
        when_full=when_full,
        wake=lambda: woken.append(1),
        may_wait=given.get("may_wait", lambda: True),
    )
    return made, woken


def seqs(events: tuple[Event, ...]) -> list[int]:
    return [one.seq for one in events]


def test_events_leave_in_the_order_of_their_numbers_and_stay_until_taken() -> None:
    made, _ = buffer()
    for _ in range(3):
        made.append(event)
    assert seqs(made.head(2)) == [0, 1]
    assert seqs(made.head(2)) == [0, 1]
    made.take(2)
    assert seqs(made.head(2)) == [2]
    assert (made.taken, made.end, len(made)) == (2, 3, 1)


def test_shipping_is_woken_once_until_it_rests_again() -> None:
    made, woken = buffer()
    made.append(event)
    made.append(event)
    assert len(woken) == 1
    assert not made.rest()
    made.take(2)
    assert made.rest()
    made.append(event)
    assert len(woken) == 2


@pytest.mark.covers("G4.buffer")
def test_a_full_buffer_that_fails_takes_the_number_back() -> None:
    made, _ = buffer(limit=1)
    made.append(event)
    with pytest.raises(BufferFull, match="1 events"):
        made.append(event)
    made.take(1)
    assert made.append(event).seq == 1


@pytest.mark.covers("G4.buffer")
def test_a_full_buffer_that_drops_counts_and_leaves_the_number_used() -> None:
    made, _ = buffer(limit=1, when_full="drop")
    made.append(event)
    assert made.append(event).seq == 1
    made.take(1)
    assert made.append(event).seq == 2
    assert made.dropped == 1


@pytest.mark.covers("G4.buffer")
def test_a_full_buffer_never_waits_in_the_thread_that_would_make_the_room() -> None:
    made, _ = buffer(limit=1, when_full="block", may_wait=lambda: False)
    made.append(event)
    with pytest.raises(BufferFull):
        made.append(event)


@pytest.mark.covers("G4.buffer")
def test_a_full_buffer_that_cannot_be_shipped_says_why_instead_of_waiting() -> None:
    made, _ = buffer(limit=1, when_full="block")
    made.append(event)
    made.refuse(Unavailable("`memory` is gone"))
    with pytest.raises(BufferFull, match="`memory` is gone"):
        made.append(event)


def test_an_event_that_cannot_be_built_uses_up_no_number() -> None:
    made, _ = buffer()

    def refuse(_seq: int) -> Event:
        raise InvalidInput("`summary` is no text")

    with pytest.raises(InvalidInput):
        made.append(refuse)
    assert made.append(event).seq == 0


def test_a_sealed_buffer_takes_nothing() -> None:
    made, _ = buffer()
    made.seal()
    with pytest.raises(RunClosed):
        made.append(event)
    made.unseal()
    assert made.append(event).seq == 0
