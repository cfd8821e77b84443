"""Who ends a run, who merely leaves it, and what a run that is hidden tells of itself."""

from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.domain import commands as c
from hindsight_ray.errors import NotFound, RunClosed
from tests.asking import ask, wrote
from tests.worlds import Staged, world

POLICY = (
    shipped_text("default.csv")
    + "p, agent:two, *, label:secret, read, deny\np, role:agent, *, global, write, allow\n"
)


async def _run(home: Staged, token: str, **fields: Any) -> str:
    run = await ask(home, token, c.StartRun, **{"goal": "A", "scope": "global"} | fields)
    return str(run.run_id)


async def _kept(home: Staged, token: str, text: str) -> Any:
    """The record that a statement of this caller's in `global` becomes."""
    name = await wrote(home, token, text, scope="global")
    return await ask(home, await home.operator(), c.Get, memory_id=name)


@pytest.mark.covers("access.leaving")
async def test_whoever_joins_a_run_ends_their_own_part_alone(tmp_path: Path) -> None:
    async with world(tmp_path, policy=POLICY) as home:
        one = await home.ticket(agent="one", session="s")
        two = await home.ticket(agent="two", session="s")
        secret = await wrote(home, one, "The vault code is 4417", scope="global", labels=["secret"])
        own = await wrote(home, one, "One earns ninety", scope="agent:one")
        run = await _run(home, one)
        for name in (secret, own):
            await ask(home, one, c.Get, memory_id=name)
        await ask(home, two, c.JoinRun, run_id=run)
        for _ in range(2):  # leaving again changes nothing
            assert not (await ask(home, two, c.CloseRun, run_id=run)).ended
        kept = await _kept(home, one, "Vaults open by numbers")
        assert (kept.labels, kept.audience) == (("secret",), ("agent:one", "global"))
        assert (await ask(home, one, c.CloseRun, run_id=run)).ended
        assert (await _kept(home, one, "Doors open by handles")).labels == ()


@pytest.mark.covers("access.leaving")
async def test_whoever_leaves_a_run_has_it_open_no_more_in_that_session(tmp_path: Path) -> None:
    async with world(tmp_path, policy=POLICY) as home:
        one = await home.ticket(agent="one", session="s")
        run = await _run(home, one)
        three = await home.ticket(agent="three", session="s")
        elsewhere = await home.ticket(agent="three", session="other")
        name = await wrote(home, one, "The vault is green", scope="global", labels=["secret"])
        for token in (three, elsewhere):
            await ask(home, token, c.JoinRun, run_id=run)
            await ask(home, token, c.Get, memory_id=name)
        await ask(home, three, c.CloseRun, run_id=run)
        assert (await _kept(home, three, "Doors are blue")).labels == ()
        assert (await _kept(home, elsewhere, "Roofs are red")).labels == ("secret",)
        await ask(home, three, c.JoinRun, run_id=run)  # and may come back
        assert (await _kept(home, three, "Floors are grey")).labels == ("secret",)


@pytest.mark.covers("access.leaving")
@pytest.mark.parametrize("who", ["starter", "owner", "operator", "guest"])
async def test_a_run_is_ended_by_who_began_it_owns_its_scope_or_administers(
    tmp_path: Path, who: str
) -> None:
    async with world(tmp_path) as home:
        starter = await home.ticket(agent="planner", user="alice", session="s")
        run = await _run(home, starter, scope="user:alice")
        alice = await home.ticket(user="alice")
        await ask(
            home, alice, c.Share, scope="user:alice", to="agent:guest", actions=("read", "write")
        )
        token = {
            "starter": await home.ticket(agent="planner", user="alice", session="another"),
            "owner": alice,
            "operator": await home.operator(),
            "guest": await home.ticket(agent="guest"),
        }[who]
        if who == "operator":
            await ask(
                home, alice, c.Share, scope="user:alice", to="agent:operator", actions=("write",)
            )
        await ask(home, token, c.JoinRun, run_id=run)
        assert (await ask(home, token, c.CloseRun, run_id=run)).ended is (who != "guest")
        if who == "guest":
            await ask(home, starter, c.SetWorking, run_id=run, state={"goal": "go on"})
        else:
            with pytest.raises(RunClosed):
                await ask(home, starter, c.SetWorking, run_id=run, state={"goal": "go on"})


async def _hidden(home: Staged) -> tuple[str, str, dict[str, Any], str]:
    """A run that `two` began and is denied by now: its ticket, the run, how it began it, and a
    memory that it wrote there."""
    one, two = await home.ticket(agent="one"), await home.ticket(agent="two", session="s")
    secret = await wrote(home, one, "The vault code is 4417", scope="global", labels=["secret"])
    begun = {"goal": "Restore checkout", "scope": "global", "command_id": "begun"}
    run = await _run(home, two, **begun)
    name = await wrote(home, two, "Checkout is made in Go", scope="global", run_id=run)
    told = await ask(home, two, c.Get, memory_id=name)
    assert told.source.run == run
    await ask(home, one, c.JoinRun, run_id=run)
    await ask(home, one, c.Get, memory_id=secret)
    with pytest.raises(NotFound):
        await ask(home, two, c.ReadRun, run_id=run)
    return two, run, begun, name


@pytest.mark.covers("G1.labelled_runs")
async def test_beginning_a_hidden_run_again_tells_nothing_of_the_others(tmp_path: Path) -> None:
    async with world(tmp_path, policy=POLICY) as home:
        two, run, begun, _ = await _hidden(home)
        again = await ask(home, two, c.StartRun, **begun)
        assert again.run_id == run
        assert again.goal.startswith("(")
        assert [one.agent for one in again.participants] == ["two"]


@pytest.mark.covers("G1.labelled_runs")
async def test_a_memory_does_not_name_a_hidden_run(tmp_path: Path) -> None:
    async with world(tmp_path, policy=POLICY) as home:
        two, run, _, name = await _hidden(home)
        found = await ask(home, two, c.Search, query="checkout made in Go")
        hits = [hit.memory for hit in found.hits if hit.memory.id == name]
        assert hits
        for memory in (*hits, await ask(home, two, c.Get, memory_id=name)):
            assert (memory.source.run, memory.source.events) == (None, ())
        reader = await home.ticket(agent="one")
        assert (await ask(home, reader, c.Get, memory_id=name)).source.run == run


@pytest.mark.covers("G1.labelled_runs")
async def test_a_review_does_not_tell_whether_a_hidden_run_has_ended(tmp_path: Path) -> None:
    async with world(tmp_path, policy=POLICY) as home:
        two, run, _, _ = await _hidden(home)
        before = await ask(home, two, c.ReviewRun, run_id=run)
        await ask(home, two, c.CloseRun, run_id=run)
        await home.jobs.finish()
        after = await ask(home, two, c.ReviewRun, run_id=run)
        assert (before.kind, after.kind) == (None, None)
        reader = await home.ticket(agent="one")
        assert (await ask(home, reader, c.ReviewRun, run_id=run)).kind == "full"
