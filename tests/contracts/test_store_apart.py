"""What is told to a memory store that does not share the ledger's transaction is found, by all
routes and by nobody else, and no more is left there than counts."""

from dataclasses import replace
from uuid import uuid4

import pytest

from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Forget, Search, Update
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.ports import Placed
from hindsight_ray.service import settle
from tests import worlds
from tests.apart import closed, counts, receipt, texts, written
from tests.worlds import TENANT, Staged


@pytest.mark.covers("store.sweep")
async def test_what_was_told_is_closed_in_parts_to_the_last(
    staged: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "CLOSED_MAX", 2)
    token = await staged.ticket(agent="planner", user="alice")
    for number in range(5):
        await receipt(staged, token, written(f"w{number}", f"Region {number} is in Dublin"))
    assert len(staged.world.settling.waiting) == 5
    assert await counts(staged) == (0, 5)


@pytest.mark.covers("store.at_once")
async def test_every_route_finds_a_memory_as_soon_as_its_write_has_returned(staged: Staged) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    for number in range(20):
        text = f"Checkout of region {number} answers in {number * 7} ms"
        kept = await receipt(staged, token, written(f"w{number}", text))
        found = await staged.ask(token, Search(query=text))
        assert isinstance(found, Found)
        assert found.hits[0].memory.id == kept.ids[0]
        assert {"vector", "keyword"} <= set(found.hits[0].routes)
        assert not found.degraded
    assert await counts(staged) == (0, 20)


@pytest.mark.covers("G1.search", "G1.tenants")
async def test_two_users_and_two_tenants_find_their_own(staged: Staged) -> None:
    alice = await staged.ticket(agent="planner", user="alice")
    bob = await staged.ticket(agent="planner", user="bob")
    other = await staged.ticket(agent="planner", user="alice", tenant="umbrella")
    await receipt(staged, alice, written("a", "Alice's card ends in 1111"))
    await receipt(staged, bob, written("b", "Bob's card ends in 2222"))
    await receipt(staged, other, written("c", "Umbrella's card ends in 3333"))
    assert await texts(staged, alice, "card ends in") == ["Alice's card ends in 1111"]
    assert await texts(staged, bob, "card ends in") == ["Bob's card ends in 2222"]
    assert await texts(staged, other, "card ends in") == ["Umbrella's card ends in 3333"]


async def test_changes_and_forgetting_leave_one_object_or_none(staged: Staged) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    kept = await receipt(staged, token, written("a", "The database is in Dublin"))
    for number in range(3):
        change = Update(
            command_id=f"u{number}", memory_id=kept.ids[0], content=f"The database is in {number}"
        )
        await receipt(staged, token, change)
        assert await texts(staged, token, "Where is the database?") == [change.content]
    assert await counts(staged) == (0, 1)
    await receipt(staged, token, Forget(command_id="f", memory_id=kept.ids[0]))
    assert await texts(staged, token, "Where is the database?") == []
    assert await counts(staged) == (0, 0)


async def test_a_place_that_was_lost_is_compared_in_the_ledger(
    staged: Staged, store: WeaviateStore
) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    await receipt(staged, token, written("a", "The database is in Dublin"))
    await closed(staged)
    async with staged.world.ledger.reading() as unit:
        place = await unit.intents.place(TENANT)
    assert place is not None
    await store.leave(place)
    found = await staged.ask(token, Search(query="The database is in Dublin"))
    assert isinstance(found, Found)
    assert "vector" in found.hits[0].routes
    await receipt(staged, token, written("b", "The gateway is in Paris"))
    assert len(await texts(staged, token, "in Dublin or Paris")) == 2


@pytest.mark.covers("store.sweep")
async def test_objects_that_nobody_counts_are_swept(staged: Staged, store: WeaviateStore) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    kept = await receipt(staged, token, written("a", "The database is in Dublin"))
    async with staged.world.ledger.reading() as unit:
        (opened,) = await unit.intents.waiting(limit=5, until=worlds.START) or (None,)
    assert opened is not None
    assert opened.put is not None
    await receipt(
        staged, token, Update(command_id="u", memory_id=kept.ids[0], content="It is in Oslo")
    )
    await closed(staged)
    await store.put([opened.put])  # whoever wrote it first goes on only now
    assert await counts(staged) == (0, 2)
    assert await texts(staged, token, "The database is in Dublin") == ["It is in Oslo"]
    place, more = opened.placed.place, settle.BATCH + 10  # than one page
    foreign = [MemoryRef(id=MemoryUuid(str(uuid4())), revision=1) for _ in range(more)]
    await store.put([replace(opened.put, placed=Placed(place, ref)) for ref in foreign])
    first = await store.held(place, limit=100)
    rest = await store.held(place, after=first[-1])
    assert len(first) == 100
    assert len(rest) == more + 2 - 100
    assert {*first, *rest} == {*await store.held(place)}
    assert await settle.sweep(staged.world, TENANT) == more + 1
    assert await counts(staged) == (0, 1)
    assert await settle.sweep(staged.world, TENANT) == 0
