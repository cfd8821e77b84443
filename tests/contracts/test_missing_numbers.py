"""Missing numbers are found whatever was known before, who else records and what is undone."""

import contextlib
import random
from collections.abc import Sequence

import pytest
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import series
from hindsight_ray.domain.event import Event, SequenceGap
from hindsight_ray.domain.ids import AgentName
from hindsight_ray.ports import Ledger
from tests.ledgers import BOTH, ledgers_of
from tests.records import TENANT, event_of, name_of, run_of

pytestmark = pytest.mark.covers("record.gaps")

_AGENTS = ("planner", "executor")
_INCARNATIONS = ("1", "2", "0")


class _Undone(Exception):
    pass


def _event(seq: int, agent: str, incarnation: str) -> Event:
    named = name_of(f"{agent} {incarnation} {seq}")
    return event_of("r", seq, agent=agent, incarnation=incarnation, event_id=named)


def _plainly(events: Sequence[Event], agent: str) -> list[SequenceGap]:
    """What is missing, by reading everything."""
    found: list[SequenceGap] = []
    of_agent = [event for event in events if event.agent == agent]
    for incarnation in sorted({event.incarnation for event in of_agent}):
        seqs = {event.seq for event in of_agent if event.incarnation == incarnation}
        lacking = [seq for seq in range(max(seqs)) if seq not in seqs]
        for seq in lacking:
            if found and found[-1].incarnation == incarnation and found[-1].last == seq - 1:
                found[-1] = found[-1].model_copy(update={"last": seq})
            else:
                found.append(
                    SequenceGap(
                        agent=AgentName(agent), incarnation=incarnation, first=seq, last=seq
                    )
                )
    return found


@pytest.mark.parametrize("kind", BOTH)
async def test_what_is_missing_is_what_reading_everything_finds(
    kind: str, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(5)
    ledgers = ledgers_of(request, kind)
    async with ledgers.opened() as first, ledgers.opened() as second:
        async with first.writing() as unit:
            await unit.runs.create(run_of("r"))
        kept: list[Event] = []
        nexts: dict[tuple[str, str], int] = {}
        for step in range(120):
            agent, incarnation = chance.choice(_AGENTS), chance.choice(_INCARNATIONS)
            seq = nexts.get((agent, incarnation), 0)
            batch = [
                _event(number, agent, incarnation)
                for number in range(seq, seq + chance.randint(1, 4))
                if chance.random() < 0.97
            ]
            undone = chance.random() < 0.2
            ledger = chance.choice((first, second))
            try:
                await _recorded(ledger, batch, [*kept, *batch], agent, undone=undone)
            except _Undone:
                continue
            kept += batch
            nexts[(agent, incarnation)] = seq + 4
            if step % 3 == 0:  # what was left out comes late
                late = _left_out(kept, agent, incarnation)
                await _recorded(ledger, late, [*kept, *late], agent, undone=False)
                kept += late
        async with second.reading() as unit:
            whole = [gap for agent in sorted(_AGENTS) for gap in _plainly(kept, agent)]
            assert list(await unit.runs.gaps(TENANT, name_of("r"))) == whole


@pytest.mark.parametrize("kind", BOTH)
async def test_what_an_undone_step_saw_is_not_remembered(
    kind: str, request: pytest.FixtureRequest
) -> None:
    async with ledgers_of(request, kind).opened() as ledger:
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))
            with contextlib.suppress(_Undone):
                async with unit.step():
                    whole = [_event(seq, "planner", "1") for seq in range(5)]
                    await unit.runs.append(TENANT, name_of("r"), whole)
                    assert not await unit.runs.gaps(TENANT, name_of("r"), agent="planner")
                    raise _Undone
            async with unit.step():
                await unit.runs.append(TENANT, name_of("r"), whole[:1])
        late = [_event(3, "planner", "1")]
        await _recorded(ledger, late, [whole[0], *late], "planner", undone=False)


async def _recorded(
    ledger: Ledger, batch: Sequence[Event], after: Sequence[Event], agent: str, *, undone: bool
) -> None:
    async with ledger.writing() as unit:
        await unit.runs.append(TENANT, name_of("r"), batch)
        found = await unit.runs.gaps(TENANT, name_of("r"), agent=agent)
        assert list(found) == _plainly(after, agent)
        if undone:
            raise _Undone


def _left_out(kept: Sequence[Event], agent: str, incarnation: str) -> list[Event]:
    seqs = {e.seq for e in kept if (e.agent, e.incarnation) == (agent, incarnation)}
    return [
        _event(seq, agent, incarnation) for seq in range(max(seqs, default=0)) if seq not in seqs
    ]


@pytest.mark.parametrize("kind", BOTH)
async def test_a_long_series_is_not_read_again_with_every_batch(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []
    real = series.missing

    def watched(
        connection: Connection, run: int, agent: str, known: series.Whole
    ) -> tuple[list[SequenceGap], series.Whole]:
        asked.append(known)
        return real(connection, run, agent, known)

    monkeypatch.setattr(series, "missing", watched)
    async with ledgers_of(request, kind).opened() as ledger:
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))
        for start in range(0, 40, 10):
            whole = [_event(seq, "planner", "1") for seq in range(start + 10)]
            await _recorded(ledger, whole[start:], whole, "planner", undone=False)
    assert asked == [("", 0), ("1", 10), ("1", 20), ("1", 30)]
