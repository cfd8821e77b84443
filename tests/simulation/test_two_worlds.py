"""Two homes that differ only in what B wrote: whatever A is answered is the same to the byte.

Ids, order, scores, totals, receipts and error texts. B is another user, also through the very agent
that A works with, and writes the same words into every scope that it may write. It shares nothing:
a grant is a change of the policy, whose revision everybody is told. It looks for nothing either:
how often a memory that both may read was found counts in its rank.
"""

import json
import shutil
from random import Random
from typing import Any, cast

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import Value, build
from hindsight_ray.errors import HindsightError
from hindsight_ray.ports import MemoryStore
from tests import stores
from tests.servers.weaviate import Weaviate
from tests.simulation.history import POLICY, STATUSES, in_memory
from tests.simulation.parked import without_threads
from tests.worlds import Staged, world

SEEDS = range(1, 5)
STEPS = 50
WORDS = ("harbour", "lantern", "meadow", "copper", "violet", "gravel", "timber", "saffron")
Who = tuple[str | None, str | None]
A: tuple[Who, ...] = (("planner", "alice"), (None, "alice"), ("writer", None), ("helper", "alice"))
B: tuple[Who, ...] = (("planner", "bob"), (None, "bob"), ("helper", "bob"), ("scribe", "bob"))
SCOPES: dict[Who, tuple[str, ...]] = {
    ("planner", "alice"): ("user:alice", "agent:planner", "global"),
    (None, "alice"): ("user:alice",),
    ("writer", None): ("user:alice", "global", "agent:writer"),
    ("helper", "alice"): ("user:alice", "agent:helper"),
    ("planner", "bob"): ("user:bob", "agent:planner", "global"),
    (None, "bob"): ("user:bob",),
    ("helper", "bob"): ("user:bob", "agent:helper"),
    ("scribe", "bob"): ("user:bob", "agent:scribe"),
}


async def _heard(seed: int, of_b: int, store: MemoryStore | None = None) -> dict[Who, list[str]]:
    """All that A is answered in a history of this seed, beside this one of B's."""
    folder = in_memory()
    try:
        with without_threads():
            async with world(folder, policy=POLICY, store=store) as home:
                return await _played(home, seed, of_b)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _played(home: Staged, seed: int, of_b: int) -> dict[Who, list[str]]:
    ours, theirs = Random(seed), Random(f"{seed} {of_b}")
    # All of A's ids come from its own history, and B may ask for them as well.
    tokens: dict[Who, str] = {}
    for agent, user in (*A, *B):
        tokens[agent, user] = await home.ticket(agent=agent, user=user)
    said: dict[Who, list[str]] = {who: [] for who in A}
    known: list[str] = []
    runs: list[str] = []
    for step in range(STEPS):
        home.clock.advance(minutes=7)
        for number in range(theirs.randrange(4) if of_b else 0):
            who = theirs.choice(B)
            command = _command(theirs, who, f"b{step}.{number}", known, [], looks=False)
            await _answer(home, tokens[who], command)
        who = ours.choice(A)
        command = _command(ours, who, f"a{step}", known, runs)
        answer = await _answer(home, tokens[who], command)
        said[who].append(f"{type(command).__name__} {answer}")
        if isinstance(command, c.Write) and "ids" in answer:
            known += _ids(answer)
        if isinstance(command, c.StartRun) and "run_id" in answer:
            runs += _ids(answer)
        await home.jobs.finish()
    return said


def _ids(answer: str) -> list[str]:
    document: dict[str, Any] = json.loads(answer)
    return list(document["ids"]) if "ids" in document else [document["run_id"]]


def _command(
    random: Random, who: Who, name: str, known: list[str], runs: list[str], *, looks: bool = True
) -> c.Command:
    text = " ".join(random.choices(WORDS, k=5))
    kind = random.choices(
        ("write", "search", "get", "update", "forget", "start", "close", "runs"),
        weights=(40, 28 * looks, 12 * looks, 6, 3, 4, 3, 4),
    )[0]
    some = random.choice(known) if known else "6c5a1f0e-7d1b-5b7e-9f53-111111111111"
    scope = random.choice(SCOPES[who])
    if kind == "search":
        statuses = random.choice((None, STATUSES))
        return build(c.Search, {"query": text, "k": random.choice((3, 20)), "statuses": statuses})
    if kind == "get":
        return build(random.choice((c.Get, c.History, c.Explain)), {"memory_id": some})
    if kind == "update":
        return build(c.Update, {"command_id": name, "memory_id": some, "content": text})
    if kind == "forget":
        return build(c.Forget, {"command_id": name, "memory_id": some})
    if kind == "start":
        return build(c.StartRun, {"command_id": name, "goal": text, "scope": scope})
    if kind == "close" and runs:
        return build(c.CloseRun, {"run_id": random.choice(runs)})
    if kind in ("runs", "close"):
        return build(c.ListRuns, {})
    return build(
        c.Write,
        {
            "command_id": name,
            "content": text,
            "scope": scope,
            "source": random.choice(("agent", "tool")),
            "topic": random.choice((None, None, "colour")),
            "labels": random.choice(((), (), ("secret",))),
        },
    )


async def _answer(home: Staged, token: str, command: c.Command) -> str:
    try:
        answer = await home.ask(token, command)
    except HindsightError as error:
        return f"{type(error).__name__} {error.message}"
    if isinstance(answer, Value):
        return answer.model_dump_json()
    return "|".join(one.model_dump_json() for one in cast(tuple[Value, ...], answer))


@pytest.mark.covers("G1.statistics", "G1.two_worlds")
@pytest.mark.parametrize("seed", SEEDS)
async def test_what_a_is_answered_is_the_same_whatever_b_wrote(seed: int) -> None:
    alone = await _heard(seed, 0)
    assert sum(map(len, alone.values())) == STEPS
    for other in (1, 2):
        beside = await _heard(seed, other)
        for who in A:
            for mine, theirs in zip(alone[who], beside[who], strict=True):
                assert mine == theirs, f"seed {seed}, {who}"


@pytest.mark.covers("G1.receipt")
async def test_a_write_only_caller_gets_the_same_receipts_whatever_others_wrote() -> None:
    writer: Who = ("writer", None)
    for seed in (101, 102, 103):
        receipts = [(await _heard(seed, other))[writer] for other in (0, 1)]
        assert receipts[0] == receipts[1]
        assert not any('"duplicate"' in one or '"merged"' in one for one in receipts[0])


@pytest.mark.covers("G1.two_worlds")
@pytest.mark.parametrize("seed", range(11, 13))
async def test_it_is_so_where_another_server_has_the_vectors(
    seed: int, weaviate_server: Weaviate
) -> None:
    """While fewer rows pass the filter than Weaviate begins to use its graph for."""
    space = HashedEmbedder().space
    alone, beside = [
        await _heard(seed, other, stores.weaviate_store(weaviate_server, space)) for other in (0, 1)
    ]
    for who in A:
        assert alone[who] == beside[who], f"seed {seed}, {who}"
