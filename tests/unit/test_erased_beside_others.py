"""What a user left on what is others': it goes with them, and what others decided stays."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.erasure import Erased
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import Memory
from hindsight_ray.errors import NotFound
from hindsight_ray.service import commit
from hindsight_ray.service.commit import Author
from tests.asking import ask, wrote
from tests.canaries import canary, left
from tests.worlds import TENANT, Staged, world

_DEPOT = "The depot opens at nine"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path / "home") as staged:
        yield staged


async def _ended_run(home: Staged, planner: str) -> str:
    run = await ask(home, planner, c.StartRun, goal="Tidy", scope="agent:planner")
    await ask(home, planner, c.AssertOutcome, run_id=run.run_id, value=1.0)
    return run.run_id


def _credit(run_id: str, said: str) -> dict[str, Any]:
    abstained = {"method": "m", "reason": said}
    return {
        "run_id": run_id, "outcome": 1.0, "method": "looked at", "policy": said,
        "abstained": abstained,
    }  # fmt: skip


@pytest.mark.covers("erase.bytes", "erase.others")
@pytest.mark.parametrize("by", [{"user": "alice"}, {"agent": "judge", "user": "alice"}])
async def test_credit_that_they_submitted_for_a_run_of_others_goes_and_no_other_does(
    home: Staged, by: dict[str, str]
) -> None:
    planner = await home.ticket(agent="planner")
    tokens = {"alice": await home.ticket(**by), "bob": await home.ticket(**{**by, "user": "bob"})}
    for to in ("user:alice", "user:bob", "agent:judge"):
        given = {"to": to, "actions": ("read", "review")}
        await ask(home, planner, c.Share, scope="agent:planner", **given)
    run_id = await _ended_run(home, planner)
    for user, said in (("alice", canary("content")), ("bob", "by looking")):
        found = _credit(run_id, said)
        await ask(home, tokens[user], c.SubmitCredits, run_id=run_id, attribution=found)
    kept = await ask(home, planner, c.ReadCredits, run_id=run_id)
    assert len(kept) == 2, "an agent's users overwrite each other's"
    assert left(home.path)
    proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
    assert (left(home.path), proof.remains.found) == ({}, ())
    assert proof.rows["credits"] == 1
    kept = await ask(home, planner, c.ReadCredits, run_id=run_id)
    assert [one.attribution.policy for one in kept] == ["by looking"]


async def _pool(home: Staged) -> dict[str, str]:
    """Tickets of a pool that two users may say things in."""
    pool = await home.ticket(agent="pool")
    for to in ("user:alice", "user:bob"):
        given = {"to": to, "actions": ("read", "write")}
        await ask(home, pool, c.Share, scope="agent:pool", **given)
    named = {user: await home.ticket(user=user) for user in ("alice", "bob")}
    return {"pool": pool, **named}


@pytest.mark.covers("erase.bytes")
async def test_a_topic_that_they_added_to_anothers_memory_goes(home: Staged) -> None:
    tokens = await _pool(home)
    memory_id = await wrote(home, tokens["bob"], _DEPOT, scope="agent:pool")
    again = {"content": _DEPOT, "scope": "agent:pool", "topic": canary("topic")}
    added = await ask(home, tokens["alice"], c.Write, **again)
    assert (added.result, added.ids) == ("merged", (memory_id,))
    assert left(home.path)
    proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
    assert (left(home.path), proof.remains.found) == ({}, ())
    with pytest.raises(NotFound):
        await ask(home, tokens["bob"], c.Get, memory_id=memory_id)


@pytest.mark.covers("erase.bytes", "erase.derived")
async def test_a_topic_of_theirs_that_somebody_promoted_onto_anothers_memory_goes(
    home: Staged,
) -> None:
    tokens, operator = await _pool(home), await home.operator()
    memory_id = await wrote(home, tokens["bob"], _DEPOT, scope="agent:pool", confidence=0.3)
    await ask(home, operator, c.DecidePending, memory_id=memory_id, decision="accept")
    own = await wrote(home, tokens["alice"], _DEPOT, topic=canary("topic"), scope="user:alice")
    added = await ask(home, operator, c.Promote, memory_id=own, scope="agent:pool")
    assert (added.result, added.ids) == ("merged", (memory_id,))
    assert (await _got(home, tokens["bob"], memory_id)).topic == canary("topic")
    proof: Erased = await ask(home, operator, c.Erase, user="alice")
    assert (left(home.path), proof.remains.found) == ({}, ())
    now = await _got(home, tokens["bob"], memory_id)
    assert (now.content, now.topic, now.source.user) == (_DEPOT, None, "bob")


async def _got(home: Staged, token: str, memory_id: str) -> Memory:
    return await ask(home, token, c.Get, memory_id=memory_id)


async def _promoted_onto(home: Staged, pool: str, **fields: Any) -> str:
    """A memory of the pool that says what alice says too, and has been accepted by that."""
    memory_id = await wrote(home, pool, _DEPOT, scope="agent:pool", **fields)
    alice = await home.ticket(user="alice")
    same = await wrote(home, alice, _DEPOT, scope="user:alice")
    operator = await home.operator()
    merged = await ask(home, operator, c.Promote, memory_id=same, scope="agent:pool")
    assert merged.ids == (memory_id,)
    return memory_id


@pytest.mark.covers("erase.others")
async def test_what_goes_back_keeps_the_end_that_others_gave_it(
    home: Staged,
) -> None:
    pool = await home.ticket(agent="pool")
    memory_id = await _promoted_onto(home, pool, importance=0.4)
    end = home.clock.now() + timedelta(hours=1)
    await ask(home, pool, c.Update, memory_id=memory_id, expires_at=end)
    proof: Erased = await ask(home, await home.operator(), c.Erase, user="alice")
    assert proof.rederived == (memory_id,)
    now = await _got(home, pool, memory_id)
    assert (now.status, now.expires_at) == ("active", end)
    assert (now.source.reviewed_by, now.derived_from) == (None, ())
    home.clock.advance(hours=2)
    with pytest.raises(NotFound):
        await _got(home, pool, memory_id)


@pytest.mark.covers("erase.others")
async def test_what_goes_back_is_not_brought_back_from_the_archive(home: Staged) -> None:
    pool = await home.ticket(agent="pool")
    memory_id = await _promoted_onto(home, pool)
    await ask(home, pool, c.Archive, memory_id=memory_id)
    await ask(home, await home.operator(), c.Erase, user="alice")
    assert (await _got(home, pool, memory_id)).status == "archived"
    assert not (await ask(home, pool, c.Search, query=_DEPOT)).hits
    await ask(home, pool, c.Restore, memory_id=memory_id)
    assert (await _got(home, pool, memory_id)).content == _DEPOT


@pytest.mark.covers("erase.derived")
async def test_what_was_accepted_in_words_that_rest_on_theirs_waits_again(home: Staged) -> None:
    pool, operator = await home.ticket(agent="pool"), await home.operator()
    memory_id = await wrote(home, pool, _DEPOT, scope="agent:pool", confidence=0.3)
    own = await wrote(home, await home.ticket(user="alice"), "The depot closes late")
    by = Author("agent:reviewer", "ReviewRun", "", 1, home.clock.now())
    async with home.world.ledger.writing() as unit:
        first = (await unit.memories.current(TENANT, [memory_id]))[memory_id]
        fuller = {"revision": 2, "content": f"{_DEPOT}, and closes late"}
        rests = {"derived_from": (MemoryRef.model_validate({"id": own, "revision": 1}),)}
        await commit.put(unit, first.model_copy(update=fuller | rests), None, by, "merged")
    await ask(home, operator, c.DecidePending, memory_id=memory_id, decision="accept")
    assert (await _got(home, pool, memory_id)).status == "active"
    await ask(home, operator, c.Erase, user="alice")
    (waits,) = await ask(home, operator, c.ListPending)
    assert (waits.memory.id, waits.memory.content) == (memory_id, _DEPOT)


@pytest.mark.covers("erase.others")
async def test_a_memory_that_they_promoted_for_somebody_else_stays(home: Staged) -> None:
    tokens, operator = await _pool(home), await home.operator()
    memory_id = await wrote(home, tokens["pool"], _DEPOT, scope="agent:pool")
    await ask(home, tokens["bob"], c.Share, scope="user:bob", to="user:alice")
    given = {"to": "user:alice", "actions": ("read", "promote")}
    await ask(home, operator, c.Share, scope="agent:pool", **given)
    said = await wrote(home, tokens["bob"], _DEPOT, topic="opening", scope="user:bob")
    added = await ask(home, tokens["alice"], c.Promote, memory_id=said, scope="agent:pool")
    assert added.ids == (memory_id,)
    await ask(home, operator, c.Erase, user="alice")
    assert (await _got(home, tokens["pool"], memory_id)).topic == "opening"
