"""The example that the documentation shows, as it stands there."""

from pathlib import Path
from typing import Any

import hindsight_ray as hr


async def test_the_example_of_the_documentation_runs(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    async with hr.open("./memory") as hindsight:
        ticket = await hindsight.issue_ticket(
            tenant="acme", agent="planner", user="alice", session="s1"
        )
        memory = hindsight.as_caller(ticket)
        async with memory.run(
            goal="Restore checkout", task_type="operate", tools=["search", "deploy"], seed=7
        ) as run:
            found = await memory.search("checkout latency spike", run=run, k=5)
            choice = run.decide("Roll back release 41", used=found.ids)
            call = run.tool(
                "deploy.rollback", arguments={"release": 41}, result="ok", causes=[choice]
            )
            run.message(to="executor", text="rolled back", causes=[call])
            run.outcome(1.0, evaluator="monitor")
        await memory.review(run.id)
        credits_ = await memory.attribute(run.id)
        receipt = await memory.write(
            "Dates as YYYY-MM-DD",
            scope="user:alice",
            type="preference",
            topic="date_format",
            confidence=0.9,
        )
        assert credits_.outcome == 1.0
        assert receipt.result == "stored"
        found = await memory.search("which date format", k=5)
        assert found.ids[0] == receipt.ids[0]


async def test_what_was_found_is_recorded_as_offered_and_used_at_its_revision(
    tmp_path: Path,
) -> None:
    async with hr.open(tmp_path) as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
        memory = hindsight.as_caller(ticket)
        receipt = await memory.write("Release 41 breaks the checkout")
        async with memory.run(goal="Restore checkout") as run:
            found = await memory.search("checkout broken", run=run)
            assert found.ids == receipt.ids
            run.decide("Roll back release 41", used=found.ids)
            run.state("rolled back")
            again = await run.search("checkout broken", k=1)
            run.decide("Leave it", used=again)
        first, second, third = (await memory.trajectory(run)).events
        ref = hr.MemoryRef(id=receipt.ids[0], revision=1)
        assert (first.offered, first.used) == ((ref,), (ref,))
        assert (second.offered, second.used) == ((), ())
        assert (third.offered, third.used) == ((ref,), (ref,))


async def test_several_searches_in_one_call_are_all_offered(tmp_path: Path) -> None:
    async with hr.open(tmp_path) as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
        memory = hindsight.as_caller(ticket)
        receipt = await memory.write("Release 41 breaks the checkout")
        async with memory.run(goal="Restore checkout") as run:
            first, second = await memory.search_many(["checkout", "release 41"], run=run)
            run.decide("Roll back", used=second)
        assert first.ids == second.ids == receipt.ids
        assert (await memory.trajectory(run)).events[0].used[0].id == receipt.ids[0]


async def test_without_sessions_an_agents_runs_of_two_users_are_kept_apart(tmp_path: Path) -> None:
    """What the planner was offered for alice narrows nothing that it writes for bob."""
    async with hr.open(tmp_path) as hindsight:
        memories = {}
        for user in ("alice", "bob"):
            ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user=user)
            memories[user] = hindsight.as_caller(ticket)
        await memories["alice"].write("Alice likes the train")
        async with memories["alice"].run(goal="Plan") as run, memories["bob"].run(goal="Plan"):
            assert (await memories["alice"].search("train", run=run)).hits
            await memories["bob"].write("Bob likes the bus")
            found = await memories["bob"].search("bus")
        assert [hit.memory.audience for hit in found.hits] == [("user:bob",)]
