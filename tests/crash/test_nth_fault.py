"""Every effect of a few commands fails once, before it and after: all of a command or nothing.

For n = 1, 2, … until the commands pass untouched: the nth write, commit, question or message to the
store fails; whoever asked asks again with the same command id. Then each command has had its effect
once, ledger and store hold the same, and nothing is left open.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.embedded import EmbeddedStore
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Command, Forget, Search, Update, Write
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.errors import HindsightError, StorageFailed, Unavailable, Unfinished
from hindsight_ray.ports import MemoryStore
from hindsight_ray.service import settle
from tests import ledgers, stores, worlds
from tests.faulty import Faults, FaultyLedger, FaultyStore
from tests.worlds import Staged

_TRIES = 4
_EFFECTS_MAX = 200
_EFFECTS_MIN = 25  # fewer, and the faults would hit nothing
_MOVED = "It moved to Oslo"
_GATEWAY = "The gateway is in Paris, on the left bank"
_KEPT = {_MOVED, _GATEWAY}

MakeStore = Callable[[], MemoryStore]


@pytest.fixture(params=["embedded", "weaviate"])
def store(request: pytest.FixtureRequest) -> MemoryStore:
    if request.param == "embedded":
        return EmbeddedStore(HashedEmbedder().space.model)
    running = request.getfixturevalue("weaviate_server")
    return stores.weaviate_store(running, HashedEmbedder().space)


@pytest.mark.timeout(300)
@pytest.mark.covers("G3.faults", "G3.commands")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_a_fault_at_any_effect_leaves_each_command_done_once(
    tmp_path: Path,
    store: MemoryStore,
    request: pytest.FixtureRequest,
    database: str,
    *,
    after: bool,
) -> None:
    server = None
    if database == "postgres":
        server = ledgers.server_database(request.getfixturevalue("postgres_server"))
    faults = Faults()
    async with worlds.world(
        tmp_path,
        store=FaultyStore(store, faults),
        wrap=lambda ledger: FaultyLedger(ledger, faults),
        database=server,
    ) as staged:
        for number in range(1, _EFFECTS_MAX):
            effects = await _carried_out(staged, faults, number, after=after)
            if effects < number:
                assert effects >= _EFFECTS_MIN
                return
    pytest.fail(f"more than {_EFFECTS_MAX} effects")


async def _carried_out(staged: Staged, faults: Faults, number: int, *, after: bool) -> int:
    """The commands in a tenant of their own with the nth effect failing; how many there were."""
    tenant = f"tenant{number}"
    token = await staged.ticket(agent="planner", user="alice", tenant=tenant)
    faults.arm(number, after=after)
    try:
        first = await _asked(staged, token, _written("a", "The database is in Dublin"))
        await _asked(staged, token, _written("b", "The gateway is in Paris, on the left bank"))
        again = await _asked(
            staged, token, _written("c", "The gateway is in Paris, on the left bank")
        )
        gone = await _asked(staged, token, _written("d", "Nobody needs to know of the zebra"))
        await _asked(
            staged,
            token,
            Update(command_id="e", memory_id=first.ids[0], content="It moved to Oslo"),
        )
        await _asked(staged, token, Forget(command_id="f", memory_id=gone.ids[0]))
        await staged.jobs.finish()
        await settle.finish(staged.world)
    finally:
        effects = faults.made
        faults.arm(0, after=False)
    assert again.result == "duplicate"
    await staged.jobs.finish()
    await settle.finish(staged.world)
    await settle.replay_all(staged.world, idle=timedelta(0))
    await _check(staged, token, tenant)
    return effects


def _written(command_id: str, content: str) -> Write:
    return Write(command_id=command_id, content=content, type="fact", confidence=0.9)


async def _asked(staged: Staged, token: str, command: Command) -> Receipt:
    for _ in range(_TRIES):
        try:
            answer = await staged.ask(token, command)
        except (StorageFailed, Unavailable, Unfinished) as error:
            failure: HindsightError = error
        else:
            assert isinstance(answer, Receipt)
            return answer
    raise failure


async def _check(staged: Staged, token: str, tenant: str) -> None:
    found = await staged.ask(token, Search(query="Where are database, gateway and zebra?", k=20))
    assert isinstance(found, Found)
    assert sorted(hit.memory.content for hit in found.hits) == sorted(_KEPT)
    assert not found.degraded
    assert all("vector" in hit.routes for hit in found.hits)
    async with staged.world.ledger.reading() as unit:
        assert await unit.intents.count() == 0
        place = await unit.intents.place(tenant)
        entries = await unit.audit.newest(tenant, limit=100)
    done = [(one.verb, one.object) for one in entries if one.effect == "allow"]
    assert len(done) == len(set(done))
    if place is not None:
        await settle.sweep(staged.world, tenant)
        held = await staged.world.store.held(place)
        assert {(ref.id, ref.revision) for ref in held} == {
            (hit.memory.id, hit.memory.revision) for hit in found.hits
        }
        assert len(held) == len(_KEPT)
