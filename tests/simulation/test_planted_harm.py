"""Harmful memories sink and useful ones rise, over sessions of an agent that follows the first."""

import random
from pathlib import Path

import pytest

from hindsight_ray.client import Memory
from tests.clients import Client, client
from tests.kitchens import CAREFUL, SPOILT, Kitchen, advised, cooked, dish

SESSIONS = 12
HARMFUL, IDLE, USEFUL = (f"season the stew: {what}" for what in (SPOILT, "hum a tune", CAREFUL))


async def session(cook: Memory, operator: Memory, *, hard: bool) -> tuple[list[str], float]:
    """One run, judged by its dish and attributed: what was offered in which order, the outcome."""
    run_id, found = await cooked(cook, query="season the stew twice", k=3)
    offered = [hit.memory.content for hit in found.hits]
    value = dish([advised(offered), "season well"], hard=hard)
    await operator.outcome(run_id, value)
    environment = Kitchen((await operator.trajectory(run_id)).events, hard=hard)
    await operator.attribute(run_id, method="shapley", environment=environment)
    return offered, value


async def utilities(of: Client, ids: dict[str, str]) -> dict[str, float]:
    async def read() -> dict[str, float]:
        async with of.staged.world.ledger.reading() as unit:
            known = await unit.stats.of("acme", list(ids.values()))
        return {content: known[name].utility for content, name in ids.items()}

    return await of.loop.run(read())


@pytest.mark.covers("credit.feedback")
@pytest.mark.parametrize("seed", range(3))
async def test_a_planted_harmful_memory_sinks_and_the_useful_one_comes_first(
    tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    async with client(tmp_path / "home") as opened:
        cook = await opened.memory(agent="cook", user="alice")
        operator = opened.hindsight.operator("acme")
        ids: dict[str, str] = {}
        for content in (USEFUL, IDLE, HARMFUL):  # the newest is found first
            stored = await cook.write(content, scope="user:alice", type="preference")
            ids[content] = stored.ids[0]
            opened.staged.clock.advance(minutes=10)
        told: list[tuple[list[str], float]] = []
        for _ in range(SESSIONS):
            told.append(await session(cook, operator, hard=draw.random() < 0.6))
            opened.staged.clock.advance(minutes=10)
        found = await utilities(opened, ids)
    assert told[0][0][0] == HARMFUL
    assert told[0][1] == -1.0
    assert all(offered[0] == USEFUL and value == 1.0 for offered, value in told[2:])
    assert HARMFUL in told[-1][0]  # it is still found, below what serves better
    assert found[HARMFUL] < -0.3 < found[IDLE] < found[USEFUL]
    assert found[USEFUL] > 0.3
