"""What every ledger keeps: units of work, and each log in them. Runs on each that there is."""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.domain.access import Membership, Rule
from hindsight_ray.domain.event import MemoryRef, SequenceGap
from hindsight_ray.domain.memory import MemoryStatistics, Scene
from hindsight_ray.domain.review import Review
from hindsight_ray.domain.rows import AuditEntry, Offered, RecallEntry
from hindsight_ray.domain.run import Annotation, Outcome, WorkingState
from hindsight_ray.errors import (
    Busy,
    EventConflict,
    HomeInvalid,
    InvalidVector,
    NotFound,
    RevisionConflict,
    SpaceMismatch,
    Unavailable,
)
from hindsight_ray.ports import Ledger
from tests.ledgers import BOTH, Ledgers, ledgers_of
from tests.records import event_of, memory_of, name_of, put, rows, run_of, vector_of, words
from tests.worlds import START, TENANT


@pytest.fixture(params=BOTH)
def ledgers(request: pytest.FixtureRequest) -> Ledgers:
    return ledgers_of(request, request.param)


@pytest.fixture
async def ledger(ledgers: Ledgers) -> AsyncGenerator[Ledger]:
    async with ledgers.opened() as opened:
        yield opened


class Stop(Exception):
    """What a test leaves a unit by."""


# Units of work


async def test_what_a_unit_wrote_is_there_once_it_is_left(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("r"))
    async with ledger.reading() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) == run_of("r")


async def test_a_unit_left_by_an_exception_changes_nothing(ledger: Ledger) -> None:
    with contextlib.suppress(Stop):
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))
            await put(unit, memory_of("a"))
            raise Stop
    async with ledger.reading() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) is None
        assert await unit.memories.change_number(TENANT) == 0
        assert await unit.spaces.pinned() is None


async def test_a_step_left_by_an_exception_is_undone_alone(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await unit.runs.create(run_of("before"))
        with contextlib.suppress(Stop):
            async with unit.step():
                await unit.runs.create(run_of("within"))
                raise Stop
        await unit.runs.create(run_of("after"))
    async with ledger.reading() as unit:
        found = await unit.runs.newest(TENANT, limit=10)
        assert {run.goal for run in found} == {"before", "after"}


async def test_a_reader_keeps_its_snapshot_while_others_commit(ledger: Ledger) -> None:
    async with ledger.reading() as reader:
        assert await reader.memories.count(rows()) == 0
        async with ledger.writing() as writer:
            await put(writer, memory_of("a"))
        assert await reader.memories.count(rows()) == 0
        assert await reader.memories.change_number(TENANT) == 0
    async with ledger.reading() as reader:
        assert await reader.memories.count(rows()) == 1


async def test_writers_take_turns_in_the_order_they_came(ledger: Ledger) -> None:
    order: list[int] = []

    async def write(number: int) -> None:
        async with ledger.writing() as unit:
            await unit.audit.append(_audit(f"v{number}"))
            order.append(number)

    async with ledger.writing() as unit:
        await unit.audit.append(_audit("first"))
        waiting = [asyncio.ensure_future(write(number)) for number in range(20)]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert order == list(range(20))
    async with ledger.reading() as unit:
        assert len(await unit.audit.newest(TENANT, limit=100)) == 21


async def test_a_writer_cancelled_midway_changes_nothing_and_holds_nobody_up(
    ledger: Ledger,
) -> None:
    entered = asyncio.Event()

    async def write() -> None:
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))
            entered.set()
            await asyncio.Event().wait()

    writer = asyncio.ensure_future(write())
    await entered.wait()
    writer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writer
    async with ledger.writing() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) is None


async def test_a_writer_cancelled_in_the_middle_of_a_call_holds_nobody_up(ledger: Ledger) -> None:
    for _ in range(20):

        async def write() -> None:
            async with ledger.writing() as unit:
                await unit.runs.create(run_of("r"))
                raise Stop

        writer = asyncio.ensure_future(write())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        writer.cancel()
        with pytest.raises((asyncio.CancelledError, Stop)):
            await writer
    async with ledger.writing() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) is None


async def test_a_writer_cancelled_while_it_waits_leaves_the_queue(ledger: Ledger) -> None:
    async def write() -> None:
        async with ledger.writing() as unit:
            await unit.runs.create(run_of("r"))

    async with ledger.writing():
        writer = asyncio.ensure_future(write())
        await asyncio.sleep(0)
        writer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writer
    async with ledger.writing() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) is None


async def test_who_waits_too_long_for_another_writer_is_told_busy(tmp_path: Path) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3", lock_wait_s=0.02)
    async with ledger.writing() as unit:
        await unit.audit.append(_audit("v"))
        with pytest.raises(Busy):
            async with ledger.writing():
                pass
    await ledger.close()


async def test_a_lock_of_another_process_is_busy_too_and_passes(tmp_path: Path) -> None:
    file = tmp_path / "l.sqlite3"
    ledger = await SqlLedger.open(file, lock_wait_s=0.02)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy):
        async with ledger.writing() as unit:
            await unit.audit.append(_audit("v"))
    other.execute("ROLLBACK")
    other.close()
    async with ledger.writing() as unit:
        await unit.audit.append(_audit("v"))
    await ledger.close()


async def test_two_event_loops_share_a_ledger(ledger: Ledger) -> None:
    async def write(name: str) -> None:
        for number in range(10):
            async with ledger.writing() as unit:
                await unit.audit.append(_audit(f"{name}{number}"))

    other = threading.Thread(target=lambda: asyncio.run(write("b")))
    other.start()
    await write("a")
    await asyncio.to_thread(other.join)
    async with ledger.reading() as unit:
        assert len(await unit.audit.newest(TENANT, limit=100)) == 20


async def test_a_closed_ledger_says_so(tmp_path: Path) -> None:
    ledger = await SqlLedger.open(tmp_path / "l.sqlite3")
    await ledger.close()
    await ledger.close()
    with pytest.raises(Unavailable):
        async with ledger.reading():
            pass


async def test_a_file_of_something_else_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello " * 1000)
    with pytest.raises(HomeInvalid):
        await SqlLedger.open(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE cakes (name TEXT)")
    other.close()
    with pytest.raises(HomeInvalid):
        await SqlLedger.open(tmp_path / "other")


async def test_a_ledger_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    await (await SqlLedger.open(tmp_path / "l.sqlite3")).close()
    other = sqlite3.connect(tmp_path / "l.sqlite3", isolation_level=None)
    other.execute("UPDATE facts SET value = '999' WHERE name = 'schema'")
    other.close()
    with pytest.raises(HomeInvalid):
        await SqlLedger.open(tmp_path / "l.sqlite3")


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


# Commands, policy, audit, recalls


async def test_receipts_are_kept_by_principal(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await unit.commands.put(TENANT, "agent:a", "c1", "digest", "{}")
        assert await unit.commands.get(TENANT, "agent:a", "c1") == ("digest", "{}")
        assert await unit.commands.get(TENANT, "agent:b", "c1") is None
        assert await unit.commands.get("other", "agent:a", "c1") is None


def _rule(number: int) -> Rule:
    return Rule(
        subject=f"agent:a{number}", tenant=TENANT, object="global", action="read", effect="allow",
        until=START if number % 2 else None,
    )  # fmt: skip


async def test_each_policy_change_is_the_next_revision_in_the_order_given(ledger: Ledger) -> None:
    role = Membership(member="agent:a1", role="role:curator", tenant=TENANT)
    async with ledger.writing() as unit:
        assert (await unit.policy.current()).revision == 0
        assert await unit.policy.replace([_rule(1), _rule(2), _rule(3)], [role], START) == 1
        assert await unit.policy.replace([_rule(1), _rule(3), _rule(4)], [], START) == 2
        policy = await unit.policy.current()
        assert policy.revision == 2
        assert policy.rules == (_rule(1), _rule(3), _rule(4))
        assert policy.memberships == ()


async def test_a_revoked_ticket_stands_revoked_from_the_revision_that_was_returned(
    ledger: Ledger,
) -> None:
    async with ledger.writing() as unit:
        await unit.policy.add_tenant(TENANT, START)
        await unit.policy.add_tenant(TENANT, START)
        before = await unit.policy.standing(TENANT, "t1")
        assert (before.revision, before.tenant_known, before.ticket_revoked) == (0, True, False)
        revision = await unit.policy.revoke_ticket(TENANT, "t1", START)
        assert await unit.policy.revoke_ticket(TENANT, "t1", START) == revision
    async with ledger.reading() as unit:
        after = await unit.policy.standing(TENANT, "t1")
        assert (after.revision, after.ticket_revoked) == (revision, True)
        assert not (await unit.policy.standing("other", "t2")).tenant_known
        assert await unit.policy.tenants() == [TENANT]


async def test_a_policy_is_unsettled_until_its_unit_has_committed(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        assert (await unit.policy.standing(TENANT, "t")).settled
        await unit.policy.replace([_rule(1)], [], START)
        assert not (await unit.policy.standing(TENANT, "t")).settled
    async with ledger.reading() as unit:
        assert (await unit.policy.standing(TENANT, "t")).settled


def _audit(verb: str, tenant: str = TENANT) -> AuditEntry:
    return AuditEntry(
        tenant=tenant, at=START, principal="agent:a", verb=verb, object="global", effect="deny",
        rule="", revision=3, digest="d",
    )  # fmt: skip


async def test_the_audit_and_the_recalls_are_read_newest_first(ledger: Ledger) -> None:
    recall = RecallEntry(
        tenant=TENANT, at=START, principal="agent:a", user="alice", session=None, run_id=None,
        query="q", top_scores=(0.5, 0.25), offered=(MemoryRef(id=name_of("m"), revision=1),),
        revision=2,
    )  # fmt: skip
    async with ledger.writing() as unit:
        for verb in ("one", "two", "three"):
            await unit.audit.append(_audit(verb))
        await unit.audit.append(_audit("foreign", tenant="other"))
        await unit.recalls.append(recall)
        assert await unit.audit.newest(TENANT, limit=2) == [_audit("three"), _audit("two")]
        assert await unit.recalls.newest(TENANT, limit=2) == [recall]
        assert await unit.recalls.newest("other", limit=2) == []


# Statistics, keys, spaces


async def test_statistics_of_what_was_never_touched_are_zeros(ledger: Ledger) -> None:
    a, b = name_of("a"), name_of("b")
    later = START + timedelta(days=1)
    async with ledger.writing() as unit:
        await unit.stats.touch(TENANT, [a], START)
        await unit.stats.touch(TENANT, [a], later)
        await unit.stats.verify(TENANT, [a], START)
        await unit.stats.set_utility(TENANT, a, -0.5)
        found = await unit.stats.of(TENANT, [a, b])
        assert found[a] == MemoryStatistics(
            accesses=2, last_accessed=later, last_verified=START, utility=-0.5
        )
        assert found[b] == MemoryStatistics()


async def test_a_catalogue_of_keys_grows_and_says_so(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        first = await unit.keys.ensure(TENANT, ("user:b", "user:a"))
        version = await unit.keys.version(TENANT)
        assert await unit.keys.ensure(TENANT, ("user:a", "user:b")) == first
        assert await unit.keys.version(TENANT) == version
        second = await unit.keys.ensure(TENANT, ("global",))
        assert await unit.keys.version(TENANT) > version
        catalogue = await unit.keys.all(TENANT)
        assert catalogue == {first: ("user:a", "user:b"), second: ("global",)}
        assert await unit.keys.all("other") == {}
    async with ledger.reading() as unit:
        assert await unit.keys.all(TENANT) == catalogue


async def test_a_key_that_was_rolled_back_is_in_no_catalogue(ledger: Ledger) -> None:
    with contextlib.suppress(Stop):
        async with ledger.writing() as unit:
            await unit.keys.ensure(TENANT, ("user:a",))
            await unit.keys.all(TENANT)
            raise Stop
    async with ledger.writing() as unit:
        key = await unit.keys.ensure(TENANT, ("user:b",))
    async with ledger.reading() as unit:
        assert await unit.keys.all(TENANT) == {key: ("user:b",)}


async def test_a_home_holds_one_embedding_space(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await put(unit, memory_of("a"))
        assert await unit.spaces.pinned() == ("four", 4)
        await unit.spaces.pin("four", 4)
        with pytest.raises(SpaceMismatch):
            await unit.spaces.pin("four", 5)
        with pytest.raises(SpaceMismatch):
            await put(unit, memory_of("b", embedding_model="another"))
        with pytest.raises(SpaceMismatch):
            await put(unit, memory_of("b"), np.ones(5, dtype=np.float32))
        assert await unit.memories.count(rows()) == 1


@pytest.mark.parametrize("vector", [vector_of(), vector_of(float("nan")), vector_of(float("inf"))])
async def test_a_vector_without_direction_is_refused(ledger: Ledger, vector: np.ndarray) -> None:
    async with ledger.writing() as unit:
        with pytest.raises(InvalidVector):
            await put(unit, memory_of("a"), vector)
        assert await unit.memories.current(TENANT, [name_of("a")]) == {}


# Memories


async def test_a_memory_moves_on_by_one_revision_at_a_time(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        with pytest.raises(RevisionConflict):
            await put(unit, memory_of("a", revision=2))
        assert await put(unit, memory_of("a")) == 1
        with pytest.raises(RevisionConflict):
            await put(unit, memory_of("a"))
        changed = memory_of("a", revision=2, content="changed")
        assert await put(unit, changed) == 2
        with pytest.raises(RevisionConflict):
            await put(unit, memory_of("a", revision=4))
        assert await unit.memories.current(TENANT, [name_of("a"), name_of("b")]) == {
            changed.id: changed
        }


async def test_a_change_without_a_vector_keeps_the_one_before(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        key = await unit.keys.ensure(TENANT, ("global",))
        more = {"key": key, "terms": {"a": 1}, "by": "b", "why": "w"}
        with pytest.raises(RevisionConflict):
            await unit.memories.put(memory_of("a"), None, **more)
        await put(unit, memory_of("a"))
        assert await unit.memories.put(memory_of("a", revision=2, tags=("x",)), None, **more) == 2


async def test_revisions_stay_readable_and_their_history_says_who_and_why(ledger: Ledger) -> None:
    first, second = memory_of("a"), memory_of("a", revision=2, content="changed")
    refs = [MemoryRef(id=first.id, revision=number) for number in (1, 2, 3)]
    async with ledger.writing() as unit:
        await put(unit, first)
        await put(unit, second)
        await unit.memories.forget(TENANT, first.id, by="user:alice", why="asked", at=START)
        found = await unit.memories.at(TENANT, refs)
        assert found == {refs[0]: first, refs[1]: second}
        assert await unit.memories.at("other", refs) == {}
        notes = await unit.memories.history(TENANT, first.id)
    assert [(note.revision, note.by, note.status, note.content) for note in notes] == [
        (1, "agent:writer", "active", "a"),
        (2, "agent:writer", "active", "changed"),
        (3, "user:alice", "forgotten", None),
    ]


async def test_a_forgotten_memory_is_on_no_route_and_never_comes_back(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await put(unit, memory_of("a", topic="date_format"))
        await unit.stats.touch(TENANT, [name_of("a")], START)
    async with ledger.writing() as unit:
        await unit.memories.forget(TENANT, name_of("a"), by="b", why="w", at=START)
        with pytest.raises(NotFound):
            await unit.memories.forget(TENANT, name_of("a"), by="b", why="w", at=START)
        with pytest.raises(RevisionConflict):
            await put(unit, memory_of("a", revision=3))
    async with ledger.reading() as unit:
        every = rows(statuses=frozenset({"active", "outdated", "pending", "archived"}))
        assert await unit.memories.current(TENANT, [name_of("a")]) == {}
        assert await unit.memories.recent(every, limit=5) == []
        assert await unit.memories.on_topic(every, "date_format") == []
        assert await unit.memories.count(every) == 0
        matches = await unit.memories.keyword_matches(every, ["a"])
        assert (matches.documents, matches.total_length, dict(matches.lengths)) == (0, 0, {})
        assert await unit.stats.of(TENANT, [name_of("a")]) == {name_of("a"): MemoryStatistics()}


async def test_change_numbers_count_a_tenants_changes_and_name_a_scopes_last(
    ledger: Ledger,
) -> None:
    async with ledger.writing() as unit:
        await put(unit, memory_of("a", scope="user:a"))
        await put(unit, memory_of("b", scope="user:b"))
        await put(unit, memory_of("a", scope="user:a", revision=2))
        await put(unit, memory_of("c", tenant="other"))
        assert await unit.memories.change_number(TENANT) == 3
        assert await unit.memories.scope_change(TENANT, "user:a") == 3
        assert await unit.memories.scope_change(TENANT, "user:b") == 2
        assert await unit.memories.scope_change(TENANT, "user:c") == 0
        assert await unit.memories.changed_since(TENANT, "user:a", 1) == [name_of("a")]
        await unit.memories.forget(TENANT, name_of("b"), by="b", why="w", at=START)
        assert await unit.memories.changed_since(TENANT, "user:b", 3) == [name_of("b")]


async def test_rows_are_found_by_topic_and_by_age(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for number in range(4):
            made = START + timedelta(minutes=number)
            await put(unit, memory_of(f"m{number}", created_at=made, topic=f"t{number % 2}"))
    async with ledger.reading() as unit:
        assert words(await unit.memories.recent(rows(), limit=3)) == ["m3", "m2", "m1"]
        assert words(await unit.memories.on_topic(rows(), "t1")) == ["m3", "m1"]
        window = rows(since=START + timedelta(minutes=1), until=START + timedelta(minutes=3))
        assert words(await unit.memories.recent(window, limit=9)) == ["m2", "m1"]


async def test_sources_lead_to_what_was_derived_from_them(ledger: Ledger) -> None:
    source = MemoryRef(id=name_of("a"), revision=1)
    async with ledger.writing() as unit:
        await put(unit, memory_of("a"))
        await put(unit, memory_of("b", derived_from=(source,)))
        assert await unit.memories.derived_from(TENANT, [source.id]) == [name_of("b")]
        await put(unit, memory_of("b", revision=2))
        assert await unit.memories.derived_from(TENANT, [source.id]) == []


async def test_keyword_statistics_are_those_of_the_rows_that_pass(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await put(unit, memory_of("apple apple tree", scope="user:a"))
        await put(unit, memory_of("apple", scope="user:b"))
        await put(unit, memory_of("tree house", scope="user:a", labels=("secret",)))
        mine = await unit.keys.ensure(TENANT, ("user:a",))
    narrow = rows(keys=frozenset({mine}), denied_labels=frozenset({"secret"}))
    async with ledger.reading() as unit:
        matches = await unit.memories.keyword_matches(narrow, ["appl", "tree", "none"])
        found = name_of("apple apple tree")
        assert (matches.documents, matches.total_length) == (1, 3)
        assert matches.frequencies == {"appl": {found: 2}, "tree": {found: 1}, "none": {}}
        assert matches.lengths == {found: 3}


async def test_a_filter_of_thousands_of_keys_is_not_cut(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for number in range(30):
            await put(unit, memory_of(f"word {number}", scope=f"user:u{number}"))
        mine = set(await unit.keys.all(TENANT))
    many = rows(keys=frozenset(mine | {f"{number:032x}" for number in range(5_000)}))
    async with ledger.reading() as unit:
        assert await unit.memories.count(many) == 30
        matches = await unit.memories.keyword_matches(many, ["word"])
        assert len(matches.frequencies["word"]) == matches.documents == 30


def _experience(task_type: str) -> Scene:
    return Scene(task_type=task_type)


async def test_a_filter_leaves_out_what_it_says(ledger: Ledger) -> None:
    second = timedelta(seconds=1)
    async with ledger.writing() as unit:
        await put(unit, memory_of("plain"))
        await put(unit, memory_of("expired", expires_at=START))
        await put(unit, memory_of("lasting", expires_at=START + second))
        await put(unit, memory_of("outdated", status="outdated"))
        await put(unit, memory_of("pending", status="pending"))
        await put(unit, memory_of("dated", layer="episodic", type="episode"))
        for task in ("deploy", "search"):
            await put(unit, memory_of(task, type="experience", scene=_experience(task)))
        await put(unit, memory_of("foreign", tenant="other"))

        async def found(**fields: object) -> set[str]:
            narrowed = rows(**fields)
            listed = words(await unit.memories.recent(narrowed, limit=50))
            assert await unit.memories.count(narrowed) == len(listed)
            return set(listed)

        everyday = {"plain", "lasting", "outdated", "dated", "deploy", "search"}
        assert await found() == everyday
        assert await found(now=START + second) == everyday - {"lasting"}
        assert await found(statuses=frozenset({"pending"})) == {"pending"}
        assert await found(layers=frozenset({"episodic"})) == {"dated"}
        assert await found(types=frozenset({"experience"})) == {"deploy", "search"}
        assert await found(task_type="deploy") == everyday - {"search"}
        assert await found(scopes=frozenset({"user:a"})) == set()
        assert await found(keys=frozenset()) == set()
        assert await found(types=frozenset()) == set()
