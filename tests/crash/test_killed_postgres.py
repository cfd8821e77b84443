"""PostgreSQL is killed amid acknowledged work, whole or one backend of it; nothing is lost."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.postgres import Server
from hindsight_ray.errors import Unavailable
from tests.conftest import served
from tests.crash.test_killed_writers import NAMES, check, said_before, start_writer
from tests.ledgers import new_database
from tests.servers import postgres
from tests.servers.process import ServerFailed
from tests.stores import kills


@pytest.fixture(scope="module")
def durable() -> Iterator[postgres.Postgres]:
    """A server of this module's own, since it is killed; it flushes as a real one does."""
    with postgres.own_folder() as folder:
        yield from served(postgres.start, folder)


def _end_backend(address: str) -> None:
    """`kill -9` of the writers' backends: the server then ends all of them and recovers."""
    with psycopg.connect(address, autocommit=True) as admin:
        rows = admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid()"
        ).fetchall()
    os.kill(rows[0][0], signal.SIGKILL)


def _up_again(server: postgres.Postgres) -> None:
    """Start it again once its orphaned backends have noticed that they are alone."""
    for _ in range(50):
        try:
            server.process.start()
        except ServerFailed:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server does not come up again")


@pytest.mark.covers("G3.kill", "postgres.kill")
@pytest.mark.parametrize(
    ("what", "seed"),
    [
        *(("server", seed) for seed in range(kills())),
        *(("backend", seed) for seed in range(max(1, kills() // 3))),
    ],
)
async def test_what_was_acknowledged_survives_the_kill_of_the_server(
    durable: postgres.Postgres, tmp_path: Path, what: str, seed: int
) -> None:
    drawn = random.Random(seed)
    address = new_database(durable)
    writers = {name: start_writer(tmp_path, name, address) for name in NAMES}
    first, *others = writers
    end = durable.process.kill if what == "server" else lambda: _end_backend(address)
    said = {first: said_before(writers[first], drawn.randrange(20, 90), end)}
    said |= {name: said_before(writers[name], 0, lambda: None) for name in others}
    if what == "server":
        _up_again(durable)
    server = Server(address, "the test's own server")
    await check(await _opened(server), said)


async def _opened(server: Server) -> SqlLedger:
    """The ledger once the server has recovered; until then it says that it is away."""
    for _ in range(100):
        try:
            return await SqlLedger.open(server)
        except Unavailable:
            await asyncio.sleep(0.1)
    raise AssertionError("the server has not recovered")
