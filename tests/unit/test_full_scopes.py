"""Full scopes: what makes room for whose word, and what never does."""

from pathlib import Path
from uuid import uuid4

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import OverQuota
from tests.worlds import Staged, world

FEW = Settings(memories_per_scope_max=4)


async def _wrote(home: Staged, token: str, content: str, **fields: object) -> Receipt:
    named = {"command_id": uuid4().hex, "content": content, "scope": "user:alice", **fields}
    receipt = await home.ask(token, build(c.Write, named))
    assert isinstance(receipt, Receipt)
    return receipt


async def _share(home: Staged, owner: str, to: str, *actions: str) -> None:
    named = {"command_id": uuid4().hex, "scope": "user:alice", "to": to, "actions": actions}
    await home.ask(owner, build(c.Share, named))


async def _status(home: Staged, token: str, name: str) -> str:
    found = await home.ask(token, build(c.Get, {"memory_id": name}))
    assert isinstance(found, Memory)
    return found.status


@pytest.mark.covers("life.quota_outside")
@pytest.mark.parametrize("shared", [False, True])
async def test_text_from_outside_pushes_out_nothing_but_its_like(
    tmp_path: Path, *, shared: bool
) -> None:
    async with world(tmp_path, settings=FEW) as home:
        alice = await home.ticket(user="alice")
        planner = await home.ticket(agent="planner", user="alice")
        if shared:
            await _share(home, alice, "agent:reader", "read")
        said = [
            (await _wrote(home, alice, f"Key {n} opens door {n}", importance=0.1)).ids[0]
            for n in range(3)
        ]
        junk = {"source": "tool", "importance": 1.0}
        for n in range(9):
            await _wrote(home, planner, f"Line {n} of the tool said {n}", **junk)
        for name in said:
            assert await _status(home, alice, name) == "active"
        await _wrote(home, alice, "Key 8 opens door 8")  # in the place of the tool's text
        with pytest.raises(OverQuota):
            await _wrote(home, planner, "Line 99 of the tool said 99", **junk)
        for name in said:
            assert await _status(home, alice, name) == "active"


@pytest.mark.covers("life.quota_outside")
async def test_a_scope_full_of_what_others_left_there_takes_its_owners_words(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, settings=FEW) as home:
        alice, mallory = await home.ticket(user="alice"), await home.ticket(agent="mallory")
        await _share(home, alice, "agent:mallory", "read", "write")
        first = (await _wrote(home, alice, "Key 1 opens door 1", importance=0.0)).ids[0]
        await _wrote(home, mallory, "A tool said tulips", source="tool")
        for n in range(2):
            await _wrote(home, mallory, f"Perhaps {n} is {n} times {n}", confidence=0.1)
        with pytest.raises(OverQuota):  # not in its own scope
            await _wrote(home, mallory, "A tool said roses", source="tool")
        for n in range(2, 5):
            await _wrote(home, alice, f"Key {n} opens door {n}")
            assert await _status(home, alice, first) == "active"


@pytest.mark.covers("life.quota_outside")
async def test_a_trusted_word_of_a_guest_takes_the_place_of_text_from_outside_alone(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, settings=FEW) as home:
        alice, guest = await home.ticket(user="alice"), await home.ticket(agent="guest")
        await _share(home, alice, "agent:guest", "read", "write")
        for n in range(3):
            await _wrote(home, alice, f"Key {n} opens door {n}")
        apart = (await _wrote(home, guest, "A tool said tulips", source="tool")).ids[0]
        assert (await _wrote(home, guest, "The lift is broken today")).result == "stored"
        assert await _status(home, alice, apart) == "archived"
        with pytest.raises(OverQuota):
            await _wrote(home, guest, "The stairs are wet today")


@pytest.mark.covers("G1.receipt")
async def test_what_is_brought_back_is_refused_for_nothing_that_its_readers_may_not_read(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, settings=FEW) as home:
        planner = await home.ticket(agent="planner")
        with_alice = await home.ticket(agent="planner", user="alice")
        own = {"scope": "agent:planner"}
        away = (await _wrote(home, planner, "Key 1 opens door 1", **own)).ids[0]
        await home.ask(planner, build(c.Archive, {"command_id": "a", "memory_id": away}))
        for n in range(4):  # of what it learned with her, that its other readers are not shown
            await _wrote(home, with_alice, f"Lamp {n} lights room {n}", **own)
        await home.ask(planner, build(c.Restore, {"command_id": "r", "memory_id": away}))
        assert await _status(home, planner, away) == "active"
        await home.ask(planner, build(c.Archive, {"command_id": "b", "memory_id": away}))
        for n in range(4):
            await _wrote(home, planner, f"Door {n} is painted in colour {n}", **own)
        with pytest.raises(OverQuota):
            await home.ask(planner, build(c.Restore, {"command_id": "s", "memory_id": away}))
