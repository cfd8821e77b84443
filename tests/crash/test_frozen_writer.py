"""A writer is stopped between ledger and store while others go on; it thaws and harms nothing."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Command, Search, Update, Write
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.service import settle
from tests import ledgers, stores, worlds
from tests.servers.weaviate import Weaviate
from tests.worlds import TENANT, Staged

_CHILD = """
import asyncio, os, sys
from pathlib import Path
from hindsight_ray.adapters.ledger.sql.postgres import Server
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.weaviate.connection import Server as Store
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.commands import Update
from tests import stores, worlds

home, dsn, url, grpc, key, token, memory = sys.argv[1:]

class Stopped(stores.WrappedStore):
    async def put(self, objects):
        print("committed", flush=True)
        sys.stdin.readline()
        await self.inner.put(objects)

async def main():
    server = Store(url, int(grpc), "KEY", key)
    store = Stopped(WeaviateStore(server, HashedEmbedder().space))
    database = Server(dsn, "the test's own server")
    async with worlds.world(Path(home), store=store, database=database) as staged:
        change = Update(command_id="late", memory_id=memory, content="It moved to Oslo")
        print((await staged.ask(token, change)).result, flush=True)

asyncio.run(main())
"""


@pytest.mark.covers("store.thaw")
@pytest.mark.timeout(120)
async def test_a_stopped_writer_that_goes_on_after_others_have_written_loses_nothing(
    tmp_path: Path, request: pytest.FixtureRequest, weaviate_server: Weaviate
) -> None:
    database = ledgers.server_database(request.getfixturevalue("postgres_server"))
    store = stores.weaviate_store(weaviate_server, HashedEmbedder().space)
    async with worlds.world(tmp_path, store=store, database=database) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        kept = await _asked(staged, token, _written("a", "The database is in Dublin"))
        with _begun(tmp_path, database.dsn, weaviate_server, token, kept.ids[0]) as frozen:
            assert frozen.stdout is not None
            assert frozen.stdout.readline() == "committed\n"
            os.kill(frozen.pid, signal.SIGSTOP)
            try:
                assert await _texts(staged, token) == {"It moved to Oslo"}  # it counts already
                changed = Update(
                    command_id="u", memory_id=kept.ids[0], content="It moved on to Rome"
                )
                await _asked(staged, token, changed)
                await _asked(staged, token, _written("b", "The gateway is in Paris"))
                await staged.jobs.finish()
                await settle.finish(staged.world)
            finally:
                os.kill(frozen.pid, signal.SIGCONT)
            out, _ = frozen.communicate("go on\n")
        assert (frozen.returncode, out) == (0, "stored\n")
        expected = {"It moved on to Rome", "The gateway is in Paris"}
        assert await _texts(staged, token) == expected
        await settle.replay_all(staged.world, idle=timedelta(0))  # what it has left open
        assert await _texts(staged, token) == expected
        await settle.sweep(staged.world, TENANT)
        async with staged.world.ledger.reading() as unit:
            place = await unit.intents.place(TENANT)
            assert await unit.intents.count() == 0
        assert place is not None
        assert len(await store.held(place)) == len(expected)


def _begun(
    home: Path, dsn: str, weaviate: Weaviate, token: str, memory: str
) -> "subprocess.Popen[str]":
    arguments = [
        str(home), dsn, weaviate.url, str(weaviate.grpc_port), weaviate.api_key, token, memory
    ]  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def _written(command_id: str, content: str) -> Write:
    return Write(command_id=command_id, content=content, type="fact", confidence=0.9)


async def _asked(staged: Staged, token: str, command: Command) -> Receipt:
    answer = await staged.ask(token, command)
    assert isinstance(answer, Receipt)
    return answer


async def _texts(staged: Staged, token: str) -> set[str]:
    found = await staged.ask(token, Search(query="Where did it move, where is the gateway?"))
    assert isinstance(found, Found)
    return {hit.memory.content for hit in found.hits}
