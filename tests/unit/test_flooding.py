"""However much of what a reader is not shown there is, what they may have is found beside it."""

from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.base import build
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.settings import Settings
from tests.worlds import Staged, world

LIMIT = 3  # rows of each route
FLOOD = 12
NARROW = Settings(vector_limit=LIMIT, keyword_limit=LIMIT, recent_limit=LIMIT, lock_wait_s=5.0)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path, settings=NARROW) as staged:
        yield staged


async def _write(home: Staged, token: str, content: str, **fields: object) -> str:
    command = {"command_id": uuid4().hex, "content": content, "type": "episode", **fields}
    receipt = await home.ask(token, build(c.Write, command))
    assert isinstance(receipt, Receipt)
    return receipt.ids[0]


async def _found(home: Staged, token: str, query: str, **fields: object) -> Found:
    found = await home.ask(token, build(c.Search, {"query": query, **fields}))
    assert isinstance(found, Found)
    return found


@pytest.mark.covers("poison.flood")
async def test_text_from_outside_pushes_nothing_out_of_the_routes_of_who_is_not_shown_it(
    home: Staged,
) -> None:
    alice, helper = await home.ticket(user="alice"), await home.ticket(agent="helper")
    planner = await home.ticket(agent="planner", user="alice")
    home.clock.advance(hours=-3)
    said = await _write(home, alice, "The harbour report is due in May for all of the crew")
    home.clock.advance(hours=3)
    for number in range(FLOOD):  # nearer to the question, in more of its words, and newer
        await _write(home, planner, f"harbour report today {number}", source="tool")
    share = {"command_id": "s", "scope": "user:alice", "to": "agent:helper", "actions": ("read",)}
    await home.ask(alice, build(c.Share, share))
    query = "harbour report today"
    assert [hit.memory.id for hit in (await _found(home, helper, query)).hits] == [said]
    own = await _found(home, planner, query, k=100)
    assert said not in [hit.memory.id for hit in own.hits]  # it is the flood that ranks above


@pytest.mark.covers("poison.flood")
async def test_what_waits_in_a_scope_of_others_pushes_nothing_out_of_a_reviewers_answer(
    home: Staged,
) -> None:
    alice, planner = await home.ticket(user="alice"), await home.ticket(agent="planner")
    mine = await _write(home, planner, "The harbour report waits for a look", confidence=0.4)
    for number in range(FLOOD):
        await _write(home, alice, f"harbour report {number}", confidence=0.4)
    share = {"command_id": "s", "scope": "user:alice", "to": "agent:planner", "actions": ("read",)}
    await home.ask(alice, build(c.Share, share))
    query, statuses = "harbour report today", ("active", "pending")
    found = await _found(home, planner, query, statuses=statuses)
    assert [hit.memory.id for hit in found.hits] == [mine]
    assert len((await _found(home, alice, query, statuses=statuses)).hits) >= LIMIT


@pytest.mark.covers("poison.flood")
async def test_who_asks_for_active_and_waiting_ones_has_both_in_one_order(home: Staged) -> None:
    """Rows of two filters are ranked as those of one would be."""
    alice, planner = await home.ticket(user="alice"), await home.ticket(agent="planner")
    waits = await _write(home, planner, "The copper lantern waits for a look", confidence=0.4)
    active = await _write(home, planner, "The copper lantern hangs in the hall")
    share = {"command_id": "s", "scope": "user:alice", "to": "agent:planner", "actions": ("read",)}
    statuses = ("active", "pending")
    before = await _found(home, planner, "copper lantern today", statuses=statuses)
    await _write(home, alice, "Something else", confidence=0.4)
    await home.ask(alice, build(c.Share, share))  # a scope without `review`: now there are two
    after = await _found(home, planner, "copper lantern today", statuses=statuses)
    assert {hit.memory.id for hit in before.hits} == {waits, active}
    assert [(hit.memory.id, hit.routes, hit.similarity) for hit in before.hits] == [
        (hit.memory.id, hit.routes, hit.similarity) for hit in after.hits
    ]


@pytest.mark.covers("poison.flood", "poison.author")
async def test_one_author_who_fills_the_routes_leaves_the_other_places_to_others(
    home: Staged,
) -> None:
    alice, mallory = await home.ticket(user="alice"), await home.ticket(user="mallory")
    helper = await home.ticket(agent="helper")
    for token, user in ((alice, "alice"), (mallory, "mallory")):
        fields = {"command_id": "s", "scope": f"user:{user}", "to": "agent:helper"}
        await home.ask(token, build(c.Share, fields | {"actions": ("read",)}))
    said = await _write(home, alice, "The harbour report is due in May for all of the crew")
    for number in range(FLOOD):
        await _write(home, mallory, f"harbour report {number}")
    found = await _found(home, helper, "harbour report")
    assert len(found.hits) == 2
    assert said in [hit.memory.id for hit in found.hits]


@pytest.mark.covers("poison.flood")
async def test_what_has_been_accepted_is_found_like_everything_else(home: Staged) -> None:
    alice, helper = await home.ticket(user="alice"), await home.ticket(agent="helper")
    planner = await home.ticket(agent="planner", user="alice")
    share = {"command_id": "s", "scope": "user:alice", "to": "agent:helper", "actions": ("read",)}
    outside = await _write(home, planner, "The gateway listens on port 8443", source="tool")
    await home.ask(alice, build(c.Share, share))
    assert not (await _found(home, helper, "gateway port")).hits
    held = await home.ask(alice, build(c.Get, {"memory_id": outside}))
    assert isinstance(held, Memory)
    await home.ask(alice, build(c.Archive, {"command_id": "a", "memory_id": outside}))
    await home.ask(alice, build(c.Restore, {"command_id": "r", "memory_id": outside}))
    assert not (await _found(home, helper, "gateway port")).hits
    curated = {"command_id": "u", "memory_id": outside, "content": "The gateway listens on 8443"}
    await home.ask(alice, build(c.Update, curated))  # alice's own word now
    (hit,) = (await _found(home, helper, "gateway port")).hits
    assert hit.memory.id == outside
