"""Ten thousand audiences in one tenant: who sees what is as right as with ten."""

from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random

import pytest

from hindsight_ray.core.access import AccessSet
from hindsight_ray.core.audience import audience_key, readable_keys
from hindsight_ray.domain import commands as c
from hindsight_ray.errors import NotFound
from hindsight_ray.service.admit import admit, row_filter
from tests.asking import ask
from tests.worlds import TENANT, Staged, world

AUDIENCES = 10_000


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


def _audiences() -> list[tuple[str, ...]]:
    random = Random(5)
    scopes = [f"user:u{n}" for n in range(400)] + [f"agent:a{n}" for n in range(400)] + ["global"]
    found = {tuple(sorted(random.sample(scopes, random.choice((1, 2, 3))))) for _ in range(12_000)}
    return sorted(found)[:AUDIENCES]


@pytest.mark.covers("audience.many")
async def test_among_ten_thousand_audiences_the_filter_holds_exactly_the_readable_ones(
    home: Staged,
) -> None:
    audiences = _audiences()
    alice = await home.caller(agent="a1", user="u1")
    async with home.world.ledger.writing() as unit:
        for audience in audiences:
            await unit.keys.ensure(TENANT, audience)
    held = {"agent:a1", "user:u1", "global"}
    expected = {audience_key(one) for one in audiences if set(one) <= held}
    async with home.world.ledger.reading() as unit:
        admitted = await admit(home.world, unit, alice)
        rows = await row_filter(home.world, unit, admitted)
    assert rows.keys == expected
    assert len(expected) >= 3


@pytest.mark.covers("audience.many")
async def test_a_catalogue_that_has_grown_is_read_anew(home: Staged) -> None:
    alice = await home.caller(user="alice")
    async with home.world.ledger.reading() as unit:
        access: AccessSet = (await admit(home.world, unit, alice)).access
    first = {audience_key(("global",)): ("global",)}
    more = first | {audience_key(("user:alice",)): ("user:alice",)}
    assert readable_keys(first, access) == frozenset(first)
    assert readable_keys(more, access) == frozenset(more)
    assert readable_keys(first, access) == frozenset(first)


@pytest.mark.covers("audience.revoked")
async def test_revoking_one_scope_hides_at_once_what_was_derived_from_it(home: Staged) -> None:
    alice = await home.ticket(user="alice")
    helper = await home.ticket(agent="helper", user="bob", session="s")
    given = {"scope": "user:alice", "to": "agent:helper", "actions": ("read",)}
    await ask(home, alice, c.Share, **given)
    await ask(home, alice, c.Write, content="The vault opens with a violet lantern",
               labels=("secret",))  # fmt: skip
    await ask(home, helper, c.StartRun, goal="Find out", scope="user:bob")
    assert (await ask(home, helper, c.Search, query="violet lantern vault")).hits
    learned = await ask(home, helper, c.Write, content="Bring a lantern to the vault")
    kept = await ask(home, helper, c.Get, memory_id=learned.ids[0])
    assert kept.audience == ("user:alice", "user:bob")
    assert kept.labels == ("secret",)
    await ask(home, alice, c.Revoke, scope="user:alice", to="agent:helper")
    for token in (helper, await home.ticket(user="bob")):
        with pytest.raises(NotFound):
            await ask(home, token, c.Get, memory_id=learned.ids[0])
        assert not (await ask(home, token, c.Search, query="lantern vault")).hits


@pytest.mark.covers("audience.two_users")
async def test_one_agent_that_serves_two_users_carries_nothing_between_them(home: Staged) -> None:
    words = ("amber", "basil", "cedar", "delta")
    with_alice = await home.ticket(agent="planner", user="alice", session="s")
    with_bob = await home.ticket(agent="planner", user="bob", session="s")
    scopes = {with_alice: ("user:alice", "agent:planner"), with_bob: ("user:bob", "agent:planner")}
    for number in range(12):
        for token, own in scopes.items():
            name = "alice" if token == with_alice else "bob"
            content = f"{name} told of {words[number % 4]} {number} {name}"
            await ask(home, token, c.Write, content=content, scope=own[number % 2])
    crossings = 0
    for token, other in ((with_alice, "bob"), (with_bob, "alice")):
        found = await ask(home, token, c.Search, query=f"{other} told of amber basil", k=100)
        assert found.hits
        crossings += sum(other in hit.memory.content for hit in found.hits)
    assert crossings == 0


@pytest.mark.covers("audience.laundering")
async def test_what_was_alices_cannot_reach_bob_by_way_of_global(home: Staged) -> None:
    with_alice = await home.ticket(agent="planner", user="alice", session="s")
    operator = await home.operator()
    for scope, to in (("global", "agent:planner"),):
        await ask(home, operator, c.Share, scope=scope, to=to, actions=("write", "promote"))
    told = await ask(home, with_alice, c.Write, content="Alice is at gate seven")
    wider = await ask(home, with_alice, c.Write, content="Gate seven it is", scope="global")
    kept = await ask(home, with_alice, c.Get, memory_id=wider.ids[0])
    assert kept.audience == ("global", "user:alice")
    with_bob = await home.ticket(agent="planner", user="bob")
    for memory_id in (told.ids[0], wider.ids[0]):
        with pytest.raises(NotFound):
            await ask(home, with_bob, c.Get, memory_id=memory_id)
        with pytest.raises(NotFound):
            await ask(home, with_bob, c.Promote, memory_id=memory_id, scope="global")
    assert not (await ask(home, with_bob, c.Search, query="gate seven")).hits
