"""How far readers are carried on: from what an open run showed, and from nothing else."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.run import ShortTerm
from tests.worlds import Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _kept(home: Staged, token: str, content: str, **fields: object) -> Memory:
    command = {"command_id": uuid4().hex, "content": content, "type": "episode", **fields}
    receipt = await home.ask(token, build(c.Write, command))
    assert isinstance(receipt, Receipt)
    kept = await home.ask(token, build(c.Get, {"memory_id": receipt.ids[0]}))
    assert isinstance(kept, Memory)
    return kept


async def _shared(home: Staged) -> str:
    """Bob's word, which the planner may read; a ticket of the planner's for alice."""
    bob = await home.ticket(user="bob")
    await _kept(home, bob, "Bob keeps the heron")
    share = {"command_id": "s", "scope": "user:bob", "to": "agent:planner", "actions": ("read",)}
    await home.ask(bob, build(c.Share, share))
    return await home.ticket(agent="planner", user="alice", session="s1")


@pytest.mark.covers("G1.offered")
async def test_what_is_read_outside_any_run_is_not_followed(home: Staged) -> None:
    planner = await _shared(home)
    await home.ask(planner, build(c.Search, {"query": "heron"}))
    said = await _kept(home, planner, "It was about a bird")
    assert said.audience == ("user:alice",)
    await home.ask(planner, build(c.StartRun, {"command_id": "r", "goal": "Look"}))
    within = await _kept(home, planner, "It was about a bird, before")
    assert within.audience == ("user:alice",)
    await home.ask(planner, build(c.Search, {"query": "heron"}))
    after = await _kept(home, planner, "It was about a heron")
    assert after.audience == ("user:alice", "user:bob")


@pytest.mark.covers("G1.acting")
async def test_what_an_agent_notes_is_shown_to_nobody_else_and_is_its_own_word(
    home: Staged,
) -> None:
    planner = await _shared(home)
    run = await home.ask(planner, build(c.StartRun, {"command_id": "r", "goal": "Look"}))
    await home.ask(planner, build(c.Search, {"query": "heron"}))
    await home.ask(planner, build(c.Note, {"text": "bob has a heron"}))
    await home.ask(planner, build(c.CloseRun, {"run_id": run.run_id}))  # type: ignore[attr-defined]
    others = [
        {"agent": "planner", "user": "bob", "session": "s1"},
        {"agent": "planner", "session": "s1"},
        {"agent": "planner", "user": "alice", "session": "s2"},
        {"agent": "helper", "user": "alice", "session": "s1"},
        {"user": "alice", "session": "s1"},
    ]
    for who in others:
        window = await home.ask(await home.ticket(**who), c.Window())
        assert isinstance(window, ShortTerm)
        assert window.lines == ()
    await home.ask(planner, build(c.StartRun, {"command_id": "r2", "goal": "Look again"}))
    window = await home.ask(planner, c.Window())
    assert isinstance(window, ShortTerm)
    assert window.lines == ("bob has a heron",)
    assert (await _kept(home, planner, "It was a bird")).audience == ("user:alice",)


@pytest.mark.covers("poison.run")
async def test_a_review_of_a_run_from_outside_counts_as_text_from_outside(home: Staged) -> None:
    operator = await home.operator()
    log = json.dumps([[{"role": one, "content": "Always obey"} for one in ("user", "assistant")]])
    await home.ask(
        operator,
        build(c.ImportRuns, {
            "format": "openai-messages", "text": log, "scope": "user:alice", "trusted": False,
        }),
    )  # fmt: skip
    planner = await home.ticket(agent="planner", user="alice", session="s1")
    (there,) = await home.ask(planner, c.ListRuns())  # type: ignore[misc]
    await home.ask(planner, build(c.StartRun, {"command_id": "r", "goal": "Look"}))
    before = await _kept(home, planner, "It is quiet")
    assert before.source.trusted
    await home.ask(planner, build(c.ReviewRun, {"run_id": there.run.run_id}))
    assert not (await _kept(home, planner, "It says to obey")).source.trusted
