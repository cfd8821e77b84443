"""Asking the ledger for many at once: what each would have been told alone, and all or nothing."""

import contextlib
import random

import pytest

from hindsight_ray.domain.event import Event
from hindsight_ray.errors import NotFound
from hindsight_ray.ports import Batch, Ledger
from tests.ledgers import Ledgers
from tests.records import event_of, name_of, run_of
from tests.worlds import START

_AGENTS = ("planner", "executor")
_RUNS = (("acme", "r"), ("acme", "s"), ("other", "r"))


class _Undone(Exception):
    pass


def _event(run: str, agent: str, seq: int, incarnation: str = "one") -> Event:
    named = name_of(f"{run} {agent} {incarnation} {seq}")
    return event_of(run, seq, agent=agent, incarnation=incarnation, event_id=named)


def _batch(tenant: str, run: str, agent: str, *seqs: int, incarnation: str = "one") -> Batch:
    events = [_event(run, agent, seq, incarnation) for seq in seqs]
    return Batch(tenant, name_of(run), agent, events)


async def _with_runs(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for tenant, run in _RUNS:
            await unit.runs.create(run_of(run, tenant=tenant))


async def test_many_standings_are_what_each_would_be(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await unit.policy.add_tenant("acme", START)
        await unit.policy.add_tenant("other", START)
        await unit.policy.revoke_ticket("acme", "gone", START)
        asked = [
            ("acme", "gone"), ("acme", "good"), ("other", "gone"), ("nowhere", "good"),
            ("acme", "gone"), ('"],["', "\\\u2028'"),
        ]  # fmt: skip
        alone = [await unit.policy.standing(*one) for one in asked]
        assert list(await unit.policy.standings(asked)) == alone
        assert not alone[0].settled
    async with ledger.reading() as unit:
        alone = [await unit.policy.standing(*one) for one in asked]
        assert list(await unit.policy.standings(asked)) == alone
        assert [one.ticket_revoked for one in alone] == [True, False, False, False, True, False]
        assert list(await unit.policy.standings([])) == []


async def test_many_runs_are_what_each_would_be(ledger: Ledger) -> None:
    await _with_runs(ledger)
    asked = [("acme", name_of("r")), ("other", name_of("s")), ("other", name_of("r"))] * 2
    async with ledger.reading() as unit:
        found = await unit.runs.get_all(asked)
        assert list(found) == [await unit.runs.get(*one) for one in asked]
        assert [run is None for run in found] == [False, True, False] * 2
        assert list(await unit.runs.get_all([])) == []


async def test_batches_of_many_are_added_each_to_its_run(ledger: Ledger) -> None:
    await _with_runs(ledger)
    batches = [_batch(tenant, run, agent, 0, 1) for tenant, run in _RUNS for agent in _AGENTS]
    async with ledger.writing() as unit:
        assert [list(one) for one in await unit.runs.append_all(batches) or ()] == [[]] * 6
        assert await unit.runs.append_all([]) == []
    async with ledger.reading() as unit:
        for tenant, run in _RUNS:
            kept = await unit.runs.events(tenant, name_of(run))
            mine = [b.events for b in batches if (b.tenant, b.run_id) == (tenant, name_of(run))]
            assert sorted(kept, key=repr) == sorted((e for one in mine for e in one), key=repr)


@pytest.mark.parametrize(
    "there", [_event("r", "planner", 1), _event("r", "planner", 1, "another")], ids=["id", "equal"]
)
async def test_if_one_event_is_there_none_is_added_and_the_unit_goes_on(
    ledger: Ledger, there: Event
) -> None:
    await _with_runs(ledger)
    other = Batch("acme", name_of("r"), "planner", [_event("r", "planner", 0), there])
    async with ledger.writing() as unit:
        await unit.runs.append("acme", name_of("r"), [there])
        assert await unit.runs.append_all([_batch("acme", "s", "planner", 0), other]) is None
        assert await unit.runs.append_all([_batch("other", "r", "planner", 5)]) is not None
    async with ledger.reading() as unit:
        assert await unit.runs.events("acme", name_of("r")) == [there]
        assert await unit.runs.event_count("acme", name_of("s")) == 0
        assert await unit.runs.event_count("other", name_of("r")) == 1


async def test_two_alike_among_the_new_are_not_added(ledger: Ledger) -> None:
    await _with_runs(ledger)
    one = _batch("acme", "r", "planner", 0)
    alike = Batch("acme", name_of("s"), "planner", [
        event_of("s", 0, agent="planner", event_id=one.events[0].event_id)
    ])  # fmt: skip
    async with ledger.writing() as unit:
        assert await unit.runs.append_all([one, alike]) is None
        assert await unit.runs.event_count("acme", name_of("r")) == 0


async def test_no_batch_is_added_where_one_is_of_no_run(ledger: Ledger) -> None:
    await _with_runs(ledger)
    async with ledger.writing() as unit:
        with pytest.raises(NotFound):
            await unit.runs.append_all(
                [_batch("acme", "r", "planner", 0), _batch("acme", "nowhere", "planner", 0)]
            )
        assert await unit.runs.event_count("acme", name_of("r")) == 0


@pytest.mark.covers("record.gaps")
@pytest.mark.parametrize("seed", range(3))
async def test_what_many_are_missing_is_what_each_would_be_told(
    ledgers: Ledgers, seed: int
) -> None:
    """Two processes add, in whatever order, with holes, new incarnations and undone units."""
    chance = random.Random(seed)
    nexts: dict[tuple[str, str, str, str], int] = {}
    async with ledgers.opened() as first, ledgers.opened() as second, ledgers.opened() as third:
        await _with_runs(first)
        for _ in range(25):
            batches: list[Batch] = []
            places = [(*run, agent) for run in _RUNS for agent in _AGENTS]
            for tenant, run, agent in chance.sample(places, chance.randint(1, 6)):
                incarnation = chance.choice(("one", "one", "one", "two", "0"))
                place = (tenant, run, agent, incarnation)
                start = nexts.get(place, 0)
                seqs = [n for n in range(start, start + 4) if chance.random() < 0.9] or [start]
                nexts[place] = start + 4
                batches.append(_batch(tenant, run, agent, *seqs, incarnation=incarnation))
            ledger = chance.choice((first, second))
            undone = chance.random() < 0.2
            with contextlib.suppress(_Undone):
                async with ledger.writing() as unit:
                    told = await unit.runs.append_all(batches)
                    assert told is not None
                    if undone:
                        raise _Undone
            if undone:
                continue
            async with third.reading() as unit:
                assert [list(one) for one in told] == [
                    list(await unit.runs.gaps(one.tenant, one.run_id, agent=one.agent))
                    for one in batches
                ]
