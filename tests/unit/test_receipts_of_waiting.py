"""Whoever says again what they may not be shown is told what they would be if it were not there."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.domain import commands as c
from tests.asking import ask, wrote
from tests.worlds import Staged, world

OFFER = "The offer is nine million"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _lent(home: Staged) -> tuple[str, str]:
    """An agent of alice's, and bob, an agent to whom she has lent her scope."""
    alice, bob = await home.ticket(user="alice"), await home.ticket(agent="bob")
    actions = ("read", "write")
    await ask(home, alice, c.Share, scope="user:alice", to="agent:bob", actions=actions)
    return await home.ticket(agent="planner", user="alice"), bob


def _told(receipt: Any) -> tuple[str, str, int]:
    return receipt.result, receipt.why, len(receipt.ids)


@pytest.mark.covers("G1.receipt", "G1.statuses")
@pytest.mark.parametrize("how", [{"confidence": 0.2}, {"source": "tool"}])
async def test_who_repeats_what_waits_unseen_is_told_as_if_it_were_new(
    home: Staged, how: dict[str, Any]
) -> None:
    alice, bob = await _lent(home)
    first = await wrote(home, alice, OFFER, scope="user:alice", **how)
    said = {"scope": "user:alice", **how}
    again = await ask(home, bob, c.Write, content=OFFER, command_id="again", **said)
    fresh = await ask(home, bob, c.Write, content="Dinner is at the harbour", **said)
    assert first not in again.ids
    assert _told(again) == _told(fresh)
    assert await ask(home, bob, c.Write, content=OFFER, command_id="again", **said) == again
    seen = await ask(home, alice, c.Write, content=OFFER, **said)  # who may see it is told of it
    assert (seen.result, seen.ids) == ("duplicate", (first,))


async def test_who_confirms_what_waits_is_told_of_it_as_it_is_now(home: Staged) -> None:
    alice, bob = await _lent(home)
    first = await wrote(home, alice, OFFER, scope="user:alice", confidence=0.2)
    receipt = await ask(home, bob, c.Write, content=OFFER, scope="user:alice")
    assert (receipt.result, receipt.ids) == ("merged", (first,))
    assert (await ask(home, bob, c.Get, memory_id=first)).content == OFFER


@pytest.mark.covers("G1.receipt")
async def test_a_reason_names_no_statement_that_its_reader_may_not_be_shown(home: Staged) -> None:
    planner = await home.ticket(agent="planner", user="alice")
    said = {"scope": "user:alice", "topic": "offer"}
    first = await wrote(home, planner, OFFER, **said, source="tool")
    _, bob = await _lent(home)
    receipt = await ask(home, bob, c.Write, content="The offer is ten million", **said)
    assert (receipt.result, receipt.why) == ("superseded", "another is outdated by it")
    assert first not in receipt.ids


@pytest.mark.covers("G1.history", "G1.statuses")
@pytest.mark.parametrize("ends", [c.Archive, c.Forget])
async def test_no_history_names_a_memory_that_its_reader_may_not_be_shown(
    home: Staged, ends: type[c.Command]
) -> None:
    alice, bob = await _lent(home)
    owner = await home.ticket(user="alice")
    said = {"scope": "user:alice", "topic": "offer"}
    kept = await wrote(home, alice, OFFER, **said, source="user")
    waits = await wrote(home, alice, "The offer is ten million", **said)
    await ask(home, owner, c.DecidePending, memory_id=waits, decision="accept")
    assert (await ask(home, bob, c.Get, memory_id=kept)).superseded_by == waits
    assert waits in str(await ask(home, bob, c.History, memory_id=kept))
    await ask(home, owner, ends, memory_id=waits)
    assert (await ask(home, bob, c.Get, memory_id=kept)).superseded_by is None
    told = await ask(home, bob, c.History, memory_id=kept)
    assert waits not in str(told)
    assert told[-1].why == "a person decided for another"
    (hit,) = (await ask(home, bob, c.Search, query=OFFER)).hits
    assert (hit.memory.id, hit.memory.superseded_by) == (kept, None)


@pytest.mark.covers("G1.history")
async def test_what_waits_names_no_memory_that_is_there_no_longer(home: Staged) -> None:
    alice, _ = await _lent(home)
    owner = await home.ticket(user="alice")
    said = {"scope": "user:alice", "topic": "offer"}
    kept = await wrote(home, alice, OFFER, **said, source="user")
    await ask(home, alice, c.Write, content="The offer is ten million", **said)
    (waiting,) = await ask(home, owner, c.ListPending)
    assert kept in waiting.why
    await ask(home, owner, c.Forget, memory_id=kept)
    (waiting,) = await ask(home, owner, c.ListPending)
    assert kept not in waiting.why
