"""Whose word a statement is that several have said, and what became of what was accepted."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from hindsight_ray.core.conflict import rule_on_topic
from hindsight_ray.core.verdict import Kept, Terms, Verdict, judge
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Get, Write
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.memory import Memory, Source
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.service import get, write
from tests.worlds import Staged, world

NOW = datetime(2026, 3, 2, tzinfo=UTC)
TERMS = Terms(EmbeddingSpace("m", 4, duplicate_at=0.95, merge_at=0.85), NOW, 24 * 3600)
_LONG = "Deploys to production require written approval from the platform lead on weekdays"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _wrote(home: Staged, caller: Caller, content: str, **fields: object) -> Receipt:
    command = {"command_id": uuid4().hex, "content": content, **fields}
    return await write.write(home.world, caller, Write.model_validate(command))


async def _got(home: Staged, caller: Caller, receipt: Receipt) -> Memory:
    command = Get.model_validate({"memory_id": receipt.ids[0]})
    return await get.get(home.world, caller, command)


@pytest.mark.covers("write.whose")
@pytest.mark.parametrize("topic", [None, "billing_owner"])
@pytest.mark.parametrize("source", ["agent", "tool"])
async def test_what_a_lighter_one_planted_becomes_the_word_of_whoever_says_it_too(
    home: Staged, topic: str | None, source: str
) -> None:
    planner = await home.caller(agent="planner", user="alice", lifetime_s=10**7)
    alice = await home.caller(user="alice", lifetime_s=10**7)
    planted = await _wrote(
        home, planner, "The owner of billing is Dana", source=source, topic=topic, importance=0.0
    )
    again = await _wrote(home, alice, "The owner of billing is Dana", topic=topic, importance=0.7)
    assert (again.result, again.ids) == ("duplicate", planted.ids)
    kept = await _got(home, alice, again)
    assert (kept.source.kind, kept.source.weight, kept.source.trusted) == ("user", 1.0, True)
    assert (kept.source.agent, kept.revision, kept.importance) == (None, 2, 0.7)
    assert "word of the new source" in again.why
    home.clock.advance(days=3)
    other = await _wrote(home, planner, "The owner of billing is Mallory", topic=topic)
    assert other.result == "pending"
    assert (await _got(home, alice, again)).status == "active"


@pytest.mark.covers("write.whose")
async def test_what_a_heavier_one_said_stays_theirs(home: Staged) -> None:
    planner = await home.caller(agent="planner", user="alice")
    alice = await home.caller(user="alice")
    first = await _wrote(home, alice, "The owner of billing is Dana")
    assert (await _wrote(home, planner, "Billing has Dana as its owner")).ids == first.ids
    kept = await _got(home, alice, first)
    assert (kept.source.kind, kept.revision) == ("user", 1)


@pytest.mark.covers("write.whose")
async def test_a_planted_end_does_not_end_the_word_of_whoever_says_it_too(home: Staged) -> None:
    planner = await home.caller(agent="planner", user="alice")
    alice = await home.caller(user="alice")
    ends = home.clock.now() + timedelta(hours=1)
    await _wrote(home, planner, "Alice is allergic to nuts", source="tool", expires_at=ends)
    kept = await _got(home, alice, await _wrote(home, alice, "Alice is allergic to nuts"))
    assert (kept.expires_at, kept.source.kind, kept.source.weight) == (None, "user", 1.0)


@pytest.mark.covers("write.whose")
async def test_a_lighter_twin_gives_no_topic_and_no_longer_life_to_a_heavier_word(
    home: Staged,
) -> None:
    planner = await home.caller(agent="planner", user="alice")
    alice = await home.caller(user="alice")
    ends = home.clock.now() + timedelta(days=7)
    hers = await _wrote(home, alice, "Alice drinks black tea", expires_at=ends)
    twin = await _wrote(
        home, planner, "Alice drinks black tea", topic="date_format", expires_at=ends
    )
    assert (twin.result, twin.ids) == ("duplicate", hers.ids)
    kept = await _got(home, alice, hers)
    assert (kept.topic, kept.expires_at, kept.revision) == (None, ends, 1)
    await _wrote(home, alice, "Dates are written as in 2026-03-01", topic="date_format")
    assert (await _got(home, alice, hers)).status == "active"
    again = await _wrote(home, alice, "Alice drinks black tea", topic="tea")
    kept = await _got(home, alice, hers)
    assert (again.result, kept.topic, kept.expires_at) == ("merged", "tea", None)


@pytest.mark.covers("write.lasts")
async def test_a_lighter_word_that_is_to_last_longer_is_kept_beside_a_heavier_one(
    home: Staged,
) -> None:
    planner = await home.caller(agent="planner", user="alice", lifetime_s=10**7)
    alice = await home.caller(user="alice", lifetime_s=10**7)
    ends = home.clock.now() + timedelta(days=7)
    hers = await _wrote(home, alice, "Alice drinks black tea", expires_at=ends)
    its = await _wrote(home, planner, "Alice drinks black tea")
    assert its.result == "stored"
    assert (await _got(home, alice, hers)).expires_at == ends
    assert (await _wrote(home, planner, "Alice drinks black tea")).ids == its.ids
    home.clock.advance(days=8)
    assert (await _got(home, alice, its)).content == "Alice drinks black tea"


@pytest.mark.covers("write.lasts")
async def test_what_confirms_a_waiting_statement_stays_though_that_was_to_end(
    home: Staged,
) -> None:
    alice = await home.caller(user="alice", lifetime_s=10**7)
    ends = home.clock.now() + timedelta(hours=1)
    said = "The spare crane is in hall four"
    waits = await _wrote(home, alice, said, confidence=0.3, expires_at=ends)
    sure = await _wrote(home, alice, said)
    assert (waits.result, sure.result, sure.ids) == ("pending", "merged", waits.ids)
    home.clock.advance(hours=2)
    assert (await _got(home, alice, sure)).status == "active"


@pytest.mark.covers("write.lasts")
async def test_a_statement_for_fewer_readers_is_no_duplicate_of_one_that_ends_sooner(
    home: Staged,
) -> None:
    planner = await home.caller(agent="planner", lifetime_s=10**7)
    for_alice = await home.caller(agent="planner", user="alice", lifetime_s=10**7)
    ends = home.clock.now() + timedelta(hours=1)
    said = "Use the blue ladder for the roof"
    await _wrote(home, planner, said, scope="agent:planner", expires_at=ends)
    again = await _wrote(home, for_alice, said, scope="agent:planner", expires_at=ends)
    assert again.result == "duplicate"
    lasting = await _wrote(home, for_alice, said, scope="agent:planner")
    assert lasting.result == "stored"
    home.clock.advance(hours=2)
    assert (await _got(home, for_alice, lasting)).content == said


@pytest.mark.covers("write.claims")
async def test_a_disguised_name_waits_beside_what_it_looks_like(home: Staged) -> None:
    planner = await home.caller(agent="planner", lifetime_s=10**7)
    true = await _wrote(home, planner, "The owner of billing is Dana")
    home.clock.advance(days=2)
    for said in ("The owner of b\u0456lling is Eve", "The owner of billing, is Eve"):
        assert (await _wrote(home, planner, said)).result == "pending"
    assert (await _got(home, planner, true)).status == "active"


def _draft(content: str, source: Source) -> Draft:
    return Draft.model_validate(
        {
            "tenant": "acme", "principal": "agent:a", "command_id": "c", "scope": "user:alice",
            "audience": ("user:alice",), "content": content, "source": source,
        }
    )  # fmt: skip


def _memory(content: str, source: Source) -> Memory:
    return Memory(
        id="5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a71",
        revision=1,
        tenant="acme",
        scope="user:alice",
        audience=("user:alice",),
        content=content,
        type="fact",
        created_at=NOW - timedelta(hours=1),
        updated_at=NOW - timedelta(hours=1),
        source=source,
        embedding_model="m",
    )


def _judged(new: str, kept: str, by: Source, kept_by: Source) -> Verdict:
    draft = _draft(new, by)
    return judge(draft, new, [Kept(_memory(kept, kept_by), 0.99)], (), TERMS)


_SAID = Source(kind="agent", weight=0.6, agent="a", user="alice")
_ACCEPTED = _SAID.model_copy(update={"reviewed_by": "user:alice"})


@pytest.mark.covers("write.whose")
@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("The port of billing is 81", "The port of billing is 80"),
        ("Deploys on Friday are not allowed", "Deploys on Friday are allowed"),
    ],
)
def test_what_was_accepted_stays_where_nobody_heavier_speaks_against_it(
    new: str, kept: str
) -> None:
    found = _judged(new, kept, _SAID, _ACCEPTED)
    assert (found.pending, found.outdated, found.set_aside) == (True, (), ())
    heavier = _SAID.model_copy(update={"weight": 1.0})
    assert len(_judged(new, kept, heavier, _ACCEPTED).outdated) == 1


@pytest.mark.covers("write.whose")
def test_an_accepted_text_is_not_reworded_by_what_nobody_accepted() -> None:
    fuller = f"{_LONG}, and are announced"
    assert _judged(fuller, _LONG, _SAID, _ACCEPTED).merged is None
    merged = _judged(fuller, _LONG, _SAID.model_copy(update={"weight": 0.9}), _ACCEPTED).merged
    assert merged is not None
    assert merged.source.reviewed_by is None
    same = _judged(_LONG, _LONG, _SAID.model_copy(update={"weight": 0.9}), _ACCEPTED)
    assert same.taken_over is not None
    assert same.taken_over.source.reviewed_by == "user:alice"


@pytest.mark.covers("write.whose")
def test_a_merger_makes_nothing_lighter() -> None:
    heavy = _SAID.model_copy(update={"weight": 1.0})
    fuller = f"{_LONG}, and are announced"
    assert _judged(fuller, _LONG, _SAID, heavy).merged is None
    with_topic = _draft(_LONG, _SAID).model_copy(update={"topic": "deploys"})
    found = judge(with_topic, _LONG, [Kept(_memory(_LONG, heavy), 0.99)], (), replace(TERMS))
    assert (found.merged, found.taken_over) == (None, None)
    found = judge(with_topic, _LONG, [Kept(_memory(_LONG, _SAID), 0.99)], (), replace(TERMS))
    assert found.merged is not None
    assert (found.merged.topic, found.merged.source) == ("deploys", _SAID)


@pytest.mark.covers("write.whose")
@pytest.mark.parametrize(
    ("weight", "verdict"), [(0.5, "new pending"), (0.6, "both pending"), (0.9, "new wins")]
)
def test_within_the_window_the_heavier_one_is_not_silenced(weight: float, verdict: str) -> None:
    kept = _memory("The port of billing is 80", _SAID)
    assert rule_on_topic(weight, "alice", kept, NOW, 24 * 3600).verdict == verdict
