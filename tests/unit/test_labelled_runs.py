"""A run in which a labelled memory was shown may say it again: in events, in goals of later runs.

Whoever is denied the label is shown neither run on any way, nor what was learned from them; whoever
reads them and writes carries the label on.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.run import Run, Trajectory
from hindsight_ray.entry.leakcheck.planted import Facts
from hindsight_ray.entry.leakcheck.table import ATTEMPTS
from hindsight_ray.errors import HindsightError, NotFound
from tests.asking import ask, wrote
from tests.unit.test_labels_on_every_way import DENIED, HELPER, NAMES, SCOPE
from tests.unit.test_labels_on_every_way import POLICY as HELPERS
from tests.worlds import TENANT, Staged, world

SAID = "The zanzibar door has code 4417"
POLICY = HELPERS + f"p, agent:mute, acme, {SCOPE}, write, allow\n"  # reads nothing there
UNDENIED = POLICY.replace(f"p, {HELPER}, acme, label:{DENIED}, read, deny\n", "")
ANY: TypeAdapter[Any] = TypeAdapter(Any)


async def _event(home: Staged, token: str, agent: str, run: Run, summary: str) -> str:
    name = f"00000000-0000-7000-8000-{run.run_id.replace('-', '')[:12]}"
    event = {
        "event_id": name, "run_id": run.run_id, "agent": agent, "incarnation": "i",
        "seq": 0, "timestamp": home.clock.now(), "kind": "decision", "summary": summary,
    }  # fmt: skip
    await ask(home, token, c.RecordEvents, run_id=run.run_id, events=(event,))
    return name


async def _planted(home: Staged) -> tuple[Facts, ...]:
    """Two runs: one whose steps quote what was shown there, one whose goal does."""
    alice = await home.ticket(user=NAMES.user)
    keeper = await home.ticket(agent=NAMES.agent, user=NAMES.user, session="s")
    name = await wrote(home, alice, SAID, scope=SCOPE, labels=(DENIED,))
    first = await ask(home, keeper, c.StartRun, goal="Open the door", task_type="door")
    hits = (await ask(home, keeper, c.Search, query="zanzibar door", run_id=first.run_id)).hits
    assert [hit.memory.id for hit in hits] == [name]
    second = await ask(home, keeper, c.StartRun, goal=f"Try it: {SAID}", task_type="door")
    facts: list[Facts] = []
    for run in (first, second):
        if run is first:
            event = await _event(home, keeper, NAMES.agent, run, f"Do as told: {SAID}")
        else:  # by somebody who was shown nothing
            mute = await home.ticket(agent="mute")
            await ask(home, mute, c.JoinRun, run_id=run.run_id)
            event = await _event(home, mute, "mute", run, "Do it")
        await ask(home, keeper, c.AssertOutcome, run_id=run.run_id, value=1.0)
        await ask(home, alice, c.ReviewRun, run_id=run.run_id)
        facts.append(Facts(TENANT, NAMES, name, name, run.run_id, event, "0" * 32, "s", "door"))
    await ask(home, keeper, c.CloseRun, run_id=second.run_id)
    await home.jobs.finish()
    return tuple(facts)


async def _showing(home: Staged, token: str, facts: Sequence[Facts]) -> set[str]:
    """The verbs by which the secret is told."""
    told: set[str] = set()
    for verb in sorted(ATTEMPTS):
        for command in [one for each in facts for one in ATTEMPTS[verb](each, NAMES.other_agent)]:
            try:
                answer = ANY.dump_json(await home.ask(token, command)).decode()
            except HindsightError as error:
                answer = f"{error.message} {error.details}"
            if "zanzibar" in answer.lower():
                told.add(verb)
    await home.jobs.finish()
    return told


@pytest.mark.covers("G1.labelled_runs")
async def test_what_quotes_a_labelled_memory_is_hidden_on_every_way(tmp_path: Path) -> None:
    told: list[set[str]] = []
    for name, policy in (("denied", POLICY), ("undenied", UNDENIED)):
        async with world(tmp_path / name, policy=policy) as home:
            facts = await _planted(home)
            helper = await home.ticket(agent=NAMES.other_agent, session="h")
            told.append(await _showing(home, helper, facts))
    assert told[0] == set()
    assert {"ReadRun", "ListRuns", "ReadForReplay"} <= told[1]


@pytest.mark.covers("G1.labelled_runs")
async def test_such_a_run_is_as_absent_and_stays_its_participants_to_end(tmp_path: Path) -> None:
    async with world(tmp_path, policy=POLICY) as home:
        first, _ = await _planted(home)
        helper = await home.ticket(agent=NAMES.other_agent, session="h")
        for kind in (c.ReadRun, c.ReadForReplay, c.Attribute, c.ReadCredits, c.ReadSpending):
            with pytest.raises(NotFound):
                await ask(home, helper, kind, run_id=first.run_id)
        with pytest.raises(NotFound):
            await ask(home, helper, c.ListRuns, before=first.run_id)
        assert await ask(home, helper, c.ListRuns) == ()
        bare = await ask(home, helper, c.JoinRun, run_id=first.run_id)
        assert bare.goal.startswith("(")
        closure = await ask(home, helper, c.CloseRun, run_id=first.run_id)
        assert closure.events == 0  # of its own


@pytest.mark.covers("G1.labelled_runs")
async def test_who_reads_such_a_run_carries_the_label_on(tmp_path: Path) -> None:
    async with world(tmp_path, policy=POLICY) as home:
        facts = await _planted(home)
        for one in facts:
            reader = await home.ticket(user=NAMES.user, session=one.run_id)
            own = await ask(home, reader, c.StartRun, goal="look", scope=SCOPE)
            read = await ask(home, reader, c.ReadRun, run_id=one.run_id)
            assert isinstance(read, Trajectory)
            name = await wrote(home, reader, f"It opens with 44 17 ({own.run_id[:4]})", scope=SCOPE)
            assert (await ask(home, reader, c.Get, memory_id=name)).labels == (DENIED,)


@pytest.mark.covers("G1.labelled_runs")
async def test_what_is_learned_from_such_a_run_bears_the_label(tmp_path: Path) -> None:
    async with world(tmp_path, policy=POLICY) as home:
        facts = await _planted(home)
        async with home.world.ledger.reading() as unit:
            ids = await unit.memories.changed_since(TENANT, SCOPE, 0)
            found: Sequence[Memory] = list((await unit.memories.current(TENANT, ids)).values())
        learned = [one for one in found if one.source.run in {each.run_id for each in facts}]
        assert learned
        assert {one.labels for one in learned} == {(DENIED,)}
