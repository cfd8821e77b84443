"""Every effect of recording together fails once, before it and after: nothing is lost or doubled.

For n = 1, 2, … until all passes untouched: the nth write or commit fails while several agents
record at once, and whoever was told of it sends the same batch again. Each then has all of its
events once and in order, and nobody was told that what is not there is durable.
"""

import asyncio
from pathlib import Path

import pytest

from hindsight_ray.adapters.wrapping.grouped import GroupedLedger
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.run import RecordAck, Run
from hindsight_ray.errors import StorageFailed
from hindsight_ray.service.together import Together
from tests import ledgers
from tests.faulty import Faults, FaultyLedger
from tests.run_verbs import event, trajectory
from tests.worlds import Staged, world

_AGENTS = 5
_BATCHES = 3
_TRIES = 4
_EFFECTS_MAX = 60
_EFFECTS_MIN = 2 * _BATCHES  # fewer, and the faults would hit nothing


@pytest.mark.timeout(300)
@pytest.mark.covers("G3.faults", "record.flush")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_a_fault_at_any_effect_loses_and_doubles_nothing_that_is_recorded_together(
    tmp_path: Path, request: pytest.FixtureRequest, database: str, *, after: bool
) -> None:
    server = None
    if database == "postgres":
        server = ledgers.server_database(request.getfixturevalue("postgres_server"))
    faults = Faults()
    async with world(
        tmp_path,
        wrap=lambda ledger: GroupedLedger(FaultyLedger(ledger, faults)),
        database=server,
        recording=Together(),
    ) as staged:
        for number in range(1, _EFFECTS_MAX):
            effects = await _recorded_at_once(staged, faults, number, after=after)
            if effects < number:
                assert effects >= _EFFECTS_MIN
                return
    pytest.fail(f"more than {_EFFECTS_MAX} effects")


async def _recorded_at_once(staged: Staged, faults: Faults, number: int, *, after: bool) -> int:
    """Several agents of a tenant of its own record with the nth effect failing; how many came."""
    tenant = f"tenant{number}"
    names = [f"a{n}" for n in range(_AGENTS)]
    tokens = [await staged.ticket(agent=one, user="u", tenant=tenant) for one in names]
    runs: list[Run] = []
    for token in tokens:
        run = await staged.ask(token, c.StartRun(command_id="run", goal="count"))
        assert isinstance(run, Run)
        runs.append(run)
    faults.arm(number, after=after)
    try:
        await asyncio.gather(
            *(
                _recorded(staged, token, run, agent)
                for token, run, agent in zip(tokens, runs, names, strict=True)
            )
        )
    finally:
        effects = faults.made
        faults.arm(0, after=False)
    for token, run in zip(tokens, runs, strict=True):
        read = await trajectory(staged, token, run)
        assert [one.seq for one in read.events] == list(range(2 * _BATCHES))
        assert read.gaps == ()
    return effects


async def _recorded(staged: Staged, token: str, run: Run, agent: str) -> None:
    for n in range(_BATCHES):
        batch = tuple(event(staged, run, 2 * n + k, agent=agent) for k in range(2))
        ack = await _sent(staged, token, c.RecordEvents(run_id=run.run_id, events=batch))
        assert ack.stored + ack.repeated == 2
        async with staged.world.ledger.reading() as unit:  # acknowledged is durable
            kept = await unit.runs.events(run.tenant, run.run_id)
        assert {one.event_id for one in batch} <= {one.event_id for one in kept}


async def _sent(staged: Staged, token: str, batch: c.RecordEvents) -> RecordAck:
    for _ in range(_TRIES):
        try:
            ack = await staged.ask(token, batch)
        except StorageFailed as error:
            failure = error
        else:
            assert isinstance(ack, RecordAck)
            return ack
    raise failure
