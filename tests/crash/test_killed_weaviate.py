"""Weaviate is killed amid acknowledged changes: what was acknowledged is there, once."""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Search, Write
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.errors import HindsightError, Unavailable, Unfinished
from hindsight_ray.ports import MemoryStore, StoredObject
from hindsight_ray.service import settle
from tests import stores, worlds
from tests.conftest import served
from tests.servers import weaviate
from tests.worlds import TENANT, Staged

_WRITERS = 4
_BEFORE_KILL = 12
_DIGITS, _LETTERS = "0123456789", "ghijklmnop"


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[weaviate.Weaviate]:
    """A server of this test's own: it is killed."""
    yield from served(weaviate.start, tmp_path / "weaviate")


@pytest.mark.timeout(120 + 40 * stores.kills())
@pytest.mark.covers("store.kill", "G3.kill")
async def test_what_was_acknowledged_survives_kills_of_the_server(
    tmp_path: Path, own_server: weaviate.Weaviate
) -> None:
    store = stores.weaviate_store(own_server, HashedEmbedder().space)
    async with worlds.world(tmp_path / "home", store=store) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        acknowledged: dict[str, str] = {}
        for round_number in range(stores.kills()):
            await _written_and_killed(staged, token, own_server, round_number, acknowledged)
        await staged.jobs.finish()
        await settle.finish(staged.world)
        await settle.replay_all(staged.world, idle=timedelta(0))
        for text, name in acknowledged.items():
            found = await staged.ask(token, Search(query=text))
            assert isinstance(found, Found)
            best = found.hits[0]
            assert (best.memory.id, best.memory.content) == (name, text)
            assert set(best.routes) == {"vector", "keyword"}
            assert not found.degraded
        await _compare(staged, set(acknowledged.values()))


@pytest.mark.covers("store.restart")
async def test_a_server_that_was_killed_and_back_while_nobody_asked_is_noticed(
    tmp_path: Path, own_server: weaviate.Weaviate
) -> None:
    """What it acknowledged in its last moments it is told again before anybody relies on it."""
    store = _Telling(stores.weaviate_store(own_server, HashedEmbedder().space))
    async with worlds.world(tmp_path / "home", store=store) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        command = Write(command_id="a", content="The gate is blue", type="fact", confidence=0.9)
        name = await _name(staged, token, command)
        assert store.told == [name]
        own_server.process.kill()
        await asyncio.to_thread(own_server.process.start)
        staged.clock.advance(seconds=2 * settle.GRACE_S)
        settle.tidy(staged.world)
        await staged.jobs.finish()
        assert store.told == [name, name]
        staged.clock.advance(seconds=2 * settle.GRACE_S)
        settle.tidy(staged.world)
        await staged.jobs.finish()
        assert store.told == [name, name]  # it has been there since
        await _compare(staged, {name})


class _Telling(stores.WrappedStore):
    """Remembers which memories it was told of."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner)
        self.told: list[str] = []

    async def put(self, objects: Sequence[StoredObject]) -> None:
        self.told += [stored.placed.ref.id for stored in objects]
        await super().put(objects)


async def _written_and_killed(
    staged: Staged,
    token: str,
    server: weaviate.Weaviate,
    round_number: int,
    acknowledged: dict[str, str],
) -> None:
    """Writers go on until the server is gone; what failed is sent again when it is back."""
    enough = asyncio.Event()
    down = asyncio.Event()
    failed: list[Write] = []

    async def writer(number: int) -> None:
        step = 0
        while not down.is_set():
            text = _unlike_others(f"{round_number}.{number}.{step}")
            command = Write(
                command_id=f"{round_number}.{number}.{step}", content=text, type="fact",
                confidence=0.9,
            )  # fmt: skip
            step += 1
            try:
                acknowledged[text] = await _name(staged, token, command)
            except (Unavailable, Unfinished):
                failed.append(command)
                return
            if len(acknowledged) >= (round_number + 1) * _BEFORE_KILL:
                enough.set()

    running = [asyncio.create_task(writer(number)) for number in range(_WRITERS)]
    await enough.wait()
    server.process.kill()
    down.set()
    await asyncio.gather(*running)
    await asyncio.to_thread(server.process.start)
    staged.clock.advance(seconds=2 * settle.GRACE_S)  # so that this round's changes are closed
    for command in failed:
        acknowledged[command.content] = await _again(staged, token, command)


def _unlike_others(name: str) -> str:
    """A statement that no other is like: each is to be kept by itself."""
    letters = hashlib.sha256(name.encode()).hexdigest().translate(str.maketrans(_DIGITS, _LETTERS))
    return " ".join(letters[start : start + 8] for start in range(0, 64, 8))


async def _again(staged: Staged, token: str, command: Write) -> str:
    for _ in range(3):
        try:
            return await _name(staged, token, command)
        except HindsightError as error:
            last = error
    raise last


async def _name(staged: Staged, token: str, command: Write) -> str:
    answer = await staged.ask(token, command)
    assert isinstance(answer, Receipt)
    return answer.ids[0]


async def _compare(staged: Staged, names: set[str]) -> None:
    """Ledger and server hold the same memories, each once, and nothing is left open."""
    async with staged.world.ledger.reading() as unit:
        assert await unit.intents.count() == 0
        place = await unit.intents.place(TENANT)
        assert place is not None
        current = await unit.memories.current(TENANT, sorted(names))
    assert set(current) == names
    await settle.sweep(staged.world, TENANT)
    held = await staged.world.store.held(place)
    assert sorted(ref.id for ref in held) == sorted(names)
