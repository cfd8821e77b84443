"""Fifty writes behind one barrier: equal ones make one memory, different ones one each."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Search, Write
from hindsight_ray.domain.receipt import Receipt
from tests import ledgers, stores, worlds
from tests.worlds import Staged

_WRITES = 50
_SAME = "Alice wants dates as YYYY-MM-DD"


@pytest.fixture(params=["sqlite embedded", "postgresql weaviate"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[list[Staged]]:
    """Two worlds over one home, as two processes would have them."""
    space = HashedEmbedder().space
    apart = request.param != "sqlite embedded"
    server = None
    if apart:
        server = ledgers.server_database(request.getfixturevalue("postgres_server"))
        running = request.getfixturevalue("weaviate_server")
    async with AsyncExitStack() as stack:
        made: list[Staged] = []
        for _ in range(2):
            store = stores.weaviate_store(running, space) if apart else EmbeddedStore(space.model)
            one = worlds.world(tmp_path, store=store, database=server)
            made.append(await stack.enter_async_context(one))
        yield made


async def _written(pair: list[Staged], contents: list[str]) -> list[Receipt]:
    tokens = [await pair[0].ticket(agent=f"agent-{n}", user="alice") for n in range(_WRITES)]
    barrier = asyncio.Barrier(_WRITES)

    async def write(number: int) -> Receipt:
        command = Write(
            command_id=f"w{number}", content=contents[number], type="fact", scope="user:alice",
            confidence=0.9,
        )  # fmt: skip
        await barrier.wait()
        answer = await pair[number % 2].ask(tokens[number], command)
        assert isinstance(answer, Receipt)
        return answer

    return list(await asyncio.gather(*(write(number) for number in range(_WRITES))))


@pytest.mark.covers("write.equal")
async def test_fifty_equal_writes_at_once_make_one_memory(pair: list[Staged]) -> None:
    receipts = await _written(pair, [_SAME] * _WRITES)
    assert sorted({receipt.result for receipt in receipts}) == ["duplicate", "stored"]
    assert [receipt.result for receipt in receipts].count("stored") == 1
    assert len({receipt.ids for receipt in receipts}) == 1
    token = await pair[0].ticket(agent="agent-0", user="alice")
    found = await pair[1].ask(token, Search(query=_SAME, k=20))
    assert isinstance(found, Found)
    assert [hit.memory.content for hit in found.hits] == [_SAME]


@pytest.mark.covers("write.equal")
async def test_fifty_different_writes_at_once_all_succeed(pair: list[Staged]) -> None:
    contents = [f"Shelf {number} holds item {number * 7919}" for number in range(_WRITES)]
    receipts = await _written(pair, contents)
    assert {receipt.result for receipt in receipts} == {"stored"}
    assert len({receipt.ids for receipt in receipts}) == _WRITES
