"""A broker that is cut off from the ledger delays no revoke, and answers nothing meanwhile."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from hindsight_ray.adapters.ledger.sql.server import Server
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.base import build
from hindsight_ray.domain.receipt import Grant
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import Unavailable
from tests.ledgers import new_database
from tests.servers.network import Network, network
from tests.servers.postgres import Postgres
from tests.simulation.linearizable import Call, faults
from tests.worlds import Staged, world

IMPATIENT = Settings(lock_wait_s=0.5)
SILENCE_S = 0.5
BOUND_S = 30.0  # of a test that would else hang; what is promised is far less
GIVEN = {"scope": "user:alice", "to": "agent:helper", "actions": ("read",)}


@dataclass
class Parted:
    """An authority beside the database, a broker behind a network, and what was seen through it."""

    authority: Staged
    broker: Staged
    network: Network
    alice: str
    helper: str
    calls: list[Call] = field(default_factory=list)

    async def changes(self, kind: type[c.Command], said: str) -> None:
        command = build(kind, {"command_id": f"{said}{len(self.calls)}", **GIVEN})
        begin = time.monotonic_ns()
        grant = await self.authority.ask(self.alice, command)
        assert isinstance(grant, Grant)
        self._note(begin, grant.revision, changed=said)

    async def reads(self) -> bool:
        begin = time.monotonic_ns()
        found = await self.broker.ask(self.helper, c.Search(query="harbour lantern"))
        assert isinstance(found, Found)
        self._note(begin, found.revision, shown=bool(found.hits))
        return bool(found.hits)

    def _note(self, begin: int, revision: int, **fields: object) -> None:
        call = Call(begin=begin, end=time.monotonic_ns(), revision=revision)
        self.calls.append(replace(call, **fields))  # type: ignore[arg-type]


@asynccontextmanager
async def _parted(folder: Path, postgres: Postgres) -> AsyncGenerator[Parted]:
    dsn = new_database(postgres)
    known = conninfo_to_dict(dsn)
    async with network(str(known["host"]), int(str(known["port"]))) as between:
        behind = make_conninfo(dsn, host="127.0.0.1", port=between.port)
        near = Server(dsn, "the test's own server", SILENCE_S)
        far = Server(behind, "the test's own server, behind a network", SILENCE_S)
        async with (
            world(folder, settings=IMPATIENT, database=near) as authority,
            world(
                folder, settings=IMPATIENT, database=far, policy=None, clock=authority.clock
            ) as broker,
        ):
            alice, helper = (
                await authority.ticket(user="alice"),
                await authority.ticket(agent="helper"),
            )
            await authority.ask(
                alice, build(c.Write, {"command_id": "w", "content": "harbour lantern meadow"})
            )
            parted = Parted(authority, broker, between, alice, helper)
            await parted.changes(c.Share, "shared")
            try:
                yield parted
            finally:
                between.heal()


@pytest.fixture
async def parted(tmp_path: Path, postgres_server: Postgres) -> AsyncGenerator[Parted]:
    async with _parted(tmp_path, postgres_server) as made:
        yield made


@pytest.mark.covers("G2.partitioned", "G2.history")
async def test_a_broker_cut_off_from_the_ledger_stops_answering_and_delays_no_revoke(
    parted: Parted,
) -> None:
    assert await parted.reads()
    parted.network.cut()
    waiting = [asyncio.create_task(parted.reads()) for _ in range(3)]
    await parted.network.held_up.wait()
    await asyncio.wait_for(parted.changes(c.Revoke, "revoked"), BOUND_S)  # it is not waited for
    for task in waiting:
        with pytest.raises(Unavailable):
            await asyncio.wait_for(task, BOUND_S)
    with pytest.raises(Unavailable):  # nor is anything answered from what it knew
        await asyncio.wait_for(parted.reads(), BOUND_S)
    parted.network.heal()
    assert not await parted.reads()
    assert faults(parted.calls) == []
    assert [call.shown for call in parted.calls if call.shown is not None] == [True, False]


@pytest.mark.covers("G2.partitioned")
async def test_what_a_broker_asked_before_it_was_cut_off_is_of_the_moment_that_it_began(
    parted: Parted,
) -> None:
    assert await parted.reads()
    for round_ in range(4):
        await parted.broker.jobs.finish()  # nobody is cut off amid a change, holding its lock
        parted.network.cut()
        reading = asyncio.create_task(parted.reads())
        await parted.network.held_up.wait()
        kind, said = (c.Revoke, "revoked") if round_ % 2 == 0 else (c.Share, "shared")
        await parted.changes(kind, said)
        parted.network.heal()  # within the bound: the call goes on where it stood
        await reading
        await parted.reads()
    assert faults(parted.calls) == []
