"""What every ledger keeps of runs: events, outcomes, reviews, and the layers that go with them."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from hindsight_ray.domain.event import MemoryRef, SequenceGap
from hindsight_ray.domain.review import Review
from hindsight_ray.domain.rows import Offered
from hindsight_ray.domain.run import Annotation, Outcome, WorkingState
from hindsight_ray.errors import (
    EventConflict,
    NotFound,
)
from hindsight_ray.ports import Ledger
from tests.records import event_of, name_of, run_of
from tests.worlds import START, TENANT

# Runs and events


async def test_runs_are_listed_newest_first_and_page_by_page(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for number in range(5):
            start = START + timedelta(minutes=number // 2)
            await unit.runs.create(
                run_of(f"r{number}", started_at=start, task_type=f"t{number % 2}")
            )
        await unit.runs.create(run_of("foreign", tenant="other"))
    async with ledger.reading() as unit:
        whole = await unit.runs.newest(TENANT, limit=10)
        assert [run.started_at for run in whole] == sorted(
            (run.started_at for run in whole), reverse=True
        )
        first = await unit.runs.newest(TENANT, limit=2)
        rest = await unit.runs.newest(TENANT, limit=10, before=first[-1].run_id)
        assert [*first, *rest] == list(whole)
        odd = await unit.runs.newest(TENANT, limit=10, task_type="t1")
        assert {run.goal for run in odd} == {"r1", "r3"}


async def test_runs_of_other_readers_are_passed_over_whatever_their_goals_say(
    ledger: Ledger,
) -> None:
    said = 'it says "audience":["user:alice"] and \\"audience\\":[]'
    async with ledger.writing() as unit:
        for number in range(30):
            who = "user:alice" if number % 10 == 0 else f"user:u{number % 3}"
            start = START + timedelta(minutes=number)
            fields = {"scope": who, "audience": (who,), "goal": f"{said} {number}"}
            await unit.runs.create(run_of(f"r{number}", started_at=start, **fields))

    def of_alice(audience: Sequence[str]) -> bool:
        return list(audience) == ["user:alice"]

    async with ledger.reading() as unit:
        found = await unit.runs.newest(TENANT, limit=2, readable=of_alice)
        rest = await unit.runs.newest(TENANT, limit=9, before=found[-1].run_id, readable=of_alice)
        assert [run.goal.split()[-1] for run in (*found, *rest)] == ["20", "10", "0"]
        assert await unit.runs.newest(TENANT, limit=9, readable=lambda _: False) == []


async def test_a_replaced_run_keeps_its_place_and_shows_its_new_state(ledger: Ledger) -> None:
    closed = run_of("r", closed_at=START + timedelta(hours=1))
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("r"))
        await unit.runs.replace(closed)
        with pytest.raises(NotFound):
            await unit.runs.replace(run_of("unknown"))
    async with ledger.reading() as unit:
        assert await unit.runs.newest(TENANT, limit=10) == [closed]


async def test_equal_events_are_counted_as_repeated(ledger: Ledger) -> None:
    batch = [event_of("r", seq) for seq in range(4)]
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("r"))
        first = await unit.runs.append(TENANT, name_of("r"), batch[:3])
        again = await unit.runs.append(TENANT, name_of("r"), batch)
        twice = await unit.runs.append(TENANT, name_of("r"), [batch[0], batch[0]])
        assert (first.stored, first.repeated) == (3, 0)
        assert (again.stored, again.repeated) == (1, 3)
        assert (twice.stored, twice.repeated) == (0, 2)
        assert await unit.runs.event_count(TENANT, name_of("r")) == 4
        assert await unit.runs.events(TENANT, name_of("r")) == batch


@pytest.mark.parametrize(
    "contradiction",
    [
        pytest.param({"summary": "something else"}, id="one event id, other content"),
        pytest.param({"event_id": name_of("another")}, id="one place, another event"),
    ],
)
async def test_a_contradicting_event_is_refused_with_its_whole_batch(
    ledger: Ledger, contradiction: dict[str, str]
) -> None:
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("r"))
        await unit.runs.append(TENANT, name_of("r"), [event_of("r", 0)])
    async with ledger.writing() as unit:  # caught within the unit: still nothing of it is kept
        with pytest.raises(EventConflict):
            await unit.runs.append(
                TENANT, name_of("r"), [event_of("r", 1), event_of("r", 0, **contradiction)]
            )
    async with ledger.reading() as unit:
        assert await unit.runs.events(TENANT, name_of("r")) == [event_of("r", 0)]


async def test_two_tenants_may_hold_equal_events(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for tenant in (TENANT, "other"):
            await unit.runs.create(run_of("r", tenant=tenant))
            done = await unit.runs.append(tenant, name_of("r"), [event_of("r", 0)])
            assert done.stored == 1


async def test_events_of_an_unknown_run_are_refused(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        with pytest.raises(NotFound):
            await unit.runs.append(TENANT, name_of("r"), [event_of("r", 0)])


async def test_events_come_by_time_then_agent_and_number(ledger: Ledger) -> None:
    late = START + timedelta(seconds=1)
    batch = [
        event_of("r", 0, agent="b"),
        event_of("r", 1, agent="a", timestamp=late),
        event_of("r", 0, agent="a"),
        event_of("r", 1, agent="b"),
    ]
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("r"))
        await unit.runs.append(TENANT, name_of("r"), batch)
        found = await unit.runs.events(TENANT, name_of("r"))
    assert [(event.agent, event.seq) for event in found] == [
        ("a", 0), ("b", 0), ("b", 1), ("a", 1),
    ]  # fmt: skip


async def test_missing_numbers_are_reported_by_agent_and_incarnation(ledger: Ledger) -> None:
    batch = [event_of("r", seq) for seq in (2, 3, 5)] + [
        event_of("r", 0, agent="other"),
        event_of("r", 1, agent="other"),
    ]
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("r"))
        await unit.runs.append(TENANT, name_of("r"), batch)
        assert await unit.runs.gaps(TENANT, name_of("r")) == [
            SequenceGap(agent="planner", incarnation="1", first=0, last=1),
            SequenceGap(agent="planner", incarnation="1", first=4, last=4),
        ]


async def test_a_session_has_the_runs_open_that_it_entered_until_they_close(
    ledger: Ledger,
) -> None:
    async with ledger.writing() as unit:
        for word in ("a", "b"):
            await unit.runs.create(run_of(word))
            await unit.runs.enter(TENANT, name_of(word), "planner", "s1")
            await unit.runs.enter(TENANT, name_of(word), "planner", "s1")
        await unit.runs.enter(TENANT, name_of("a"), "planner", None)
        await unit.runs.replace(run_of("a", closed_at=START))
        assert await unit.runs.open_runs(TENANT, "planner", "s1") == [name_of("b")]
        assert await unit.runs.open_runs(TENANT, "planner", None) == []


@pytest.mark.covers("access.leaving")
async def test_a_session_that_leaves_a_run_has_it_open_no_more(ledger: Ledger) -> None:
    entered = (("planner", "s1"), ("planner", None), ("helper", "s1"))
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("a"))
        for agent, session in entered:
            await unit.runs.enter(TENANT, name_of("a"), agent, session)
        assert await unit.runs.leave(TENANT, name_of("a"), *entered[0])
        assert not await unit.runs.leave(TENANT, name_of("a"), *entered[0])
        opened = [await unit.runs.open_runs(TENANT, *one) for one in entered]
        assert opened == [[], [name_of("a")], [name_of("a")]]


async def test_what_was_offered_is_kept_by_run_and_agent(ledger: Ledger) -> None:
    offered = Offered(
        audience=frozenset({"user:alice", "global"}),
        labels=frozenset({"secret"}),
        untrusted=True,
        refs=frozenset({MemoryRef(id=name_of("m"), revision=2)}),
    )
    async with ledger.writing() as unit:
        assert await unit.runs.offered(TENANT, name_of("r"), "planner") == Offered()
        await unit.runs.set_offered(TENANT, name_of("r"), "planner", Offered(untrusted=True))
        await unit.runs.set_offered(TENANT, name_of("r"), "planner", offered)
        assert await unit.runs.offered(TENANT, name_of("r"), "planner") == offered
        assert await unit.runs.offered(TENANT, name_of("r"), "other") == Offered()


async def test_annotations_and_outcomes_are_kept_beside_the_run(ledger: Ledger) -> None:
    note = Annotation(run_id=name_of("r"), kind="culprit", agent="planner", text="step 3")

    def outcome(by: str, value: float, minute: int) -> Outcome:
        return Outcome(
            outcome_id=f"{by}{value}", run_id=name_of("r"), value=value, success=value > 0,
            evaluator="caller", by=by, participant=False, evaluates=True,
            at=START + timedelta(minutes=minute),
        )  # fmt: skip

    async with ledger.writing() as unit:
        await unit.runs.annotate(TENANT, note)
        await unit.runs.annotate(TENANT, note)
        await unit.outcomes.put(TENANT, outcome("user:a", 0.5, 0))
        await unit.outcomes.put(TENANT, outcome("user:b", 1.0, 1))
        await unit.outcomes.put(TENANT, outcome("user:a", -1.0, 2))
        assert await unit.runs.annotations(TENANT, name_of("r")) == [note]
        assert await unit.outcomes.of_run(TENANT, name_of("r")) == [
            outcome("user:b", 1.0, 1),
            outcome("user:a", -1.0, 2),
        ]


# Reviews and layers


async def test_a_review_is_found_by_the_digest_of_what_it_reviewed(ledger: Ledger) -> None:
    review = Review(run_id=name_of("r"), kind="full", trigger="asked for", goal="g", path="p")
    async with ledger.writing() as unit:
        await unit.reviews.put(TENANT, "d1", review, START)
        assert await unit.reviews.get(TENANT, name_of("r"), "d1") == review
        assert await unit.reviews.get(TENANT, name_of("r"), "d2") is None
        assert await unit.reviews.of_run(TENANT, name_of("r")) == [review]
        assert await unit.reviews.of_run("other", name_of("r")) == []


async def test_working_states_go_with_their_run(ledger: Ledger) -> None:
    state = WorkingState(goal="g", state={"step": "3"})
    async with ledger.writing() as unit:
        await unit.layers.set_working(TENANT, name_of("r"), "planner", WorkingState())
        await unit.layers.set_working(TENANT, name_of("r"), "planner", state)
        assert await unit.layers.working(TENANT, name_of("r"), "planner") == state
        await unit.layers.drop_working(TENANT, name_of("r"))
        assert await unit.layers.working(TENANT, name_of("r"), "planner") is None


async def test_a_window_keeps_its_last_lines_in_order(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for number in range(5):
            await unit.layers.add_to_window(TENANT, "agent:a", "s", f"line {number}", keep=3)
        await unit.layers.add_to_window(TENANT, "agent:b", "s", "another's", keep=3)
        assert await unit.layers.window(TENANT, "agent:a", "s") == ["line 2", "line 3", "line 4"]
