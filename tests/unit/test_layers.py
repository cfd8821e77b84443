"""Each layer lets go by its own rule: working state, short-term window, episodes, statements."""

from pathlib import Path

import pytest

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import (
    CloseRun,
    GetWorking,
    Maintain,
    Note,
    Search,
    SetWorking,
    StartRun,
    Window,
    Write,
)
from hindsight_ray.domain.run import WorkingState
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import CommandReused
from hindsight_ray.service import layers, runs
from hindsight_ray.service.maintain import maintain
from hindsight_ray.service.search import search
from hindsight_ray.service.write import write
from tests.worlds import Staged, world

LONG = 200 * 24 * 3600


async def _planner(home: Staged) -> Caller:
    return await home.caller(agent="planner", user="alice", session="s1", lifetime_s=LONG)


async def _kept(home: Staged, caller: Caller, name: str, **fields: object) -> str:
    named = {"command_id": name, **fields}
    return (await write(home.world, caller, Write.model_validate(named))).ids[0]


@pytest.mark.covers("life.layers")
async def test_working_state_is_dropped_when_its_run_closes(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        planner = await _planner(home)
        begun = StartRun.model_validate({"command_id": "r", "goal": "restore the checkout"})
        run = await runs.start(home.world, planner, begun)
        state = WorkingState(goal="restore", subtask="find the release")
        await layers.set_working(home.world, planner, SetWorking(run_id=run.run_id, state=state))
        asked = GetWorking(run_id=run.run_id)
        assert await layers.get_working(home.world, planner, asked) == state
        await runs.close(home.world, planner, CloseRun(run_id=run.run_id))
        assert await layers.get_working(home.world, planner, asked) == WorkingState()
        async with home.world.ledger.reading() as unit:
            kept = await unit.layers.working("acme", run.run_id, "agent:planner user:alice")
        assert kept is None


@pytest.mark.covers("life.layers")
async def test_the_window_keeps_its_newest_lines_and_no_more(tmp_path: Path) -> None:
    async with world(tmp_path, settings=Settings(short_term_lines=3)) as home:
        planner = await _planner(home)
        for n in range(10):
            await layers.note(home.world, planner, Note(text=f"line {n}"))
        lines = (await layers.window(home.world, planner, Window())).lines
        assert len(lines) <= 3
        assert lines[-1] == "line 9"


@pytest.mark.covers("G3.commands", "life.layers")
async def test_a_note_that_is_sent_again_adds_no_line(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        planner = await _planner(home)
        for _ in range(2):
            said = Note.model_validate({"text": "once", "command_id": "n1"})
            after = await layers.note(home.world, planner, said)
            assert after.lines == ("once",)
        other = Note.model_validate({"text": "another", "command_id": "n1"})
        with pytest.raises(CommandReused):
            await layers.note(home.world, planner, other)
        twice = Note(text="twice")
        await layers.note(home.world, planner, twice)
        assert (await layers.note(home.world, planner, twice)).lines == ("once", "twice", "twice")


@pytest.mark.covers("life.layers")
async def test_episodes_are_never_merged_and_go_to_the_archive_when_nobody_asks(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as home:
        planner = await _planner(home)
        fields = {
            "content": "The checkout was restored by rolling back",
            "type": "episode",
            "layer": "episodic",
        }
        first = await _kept(home, planner, "e1", **fields)
        second = await _kept(home, planner, "e2", **fields)
        assert first != second  # two days are two episodes, whatever they say
        home.clock.advance(days=91)
        operator = await home.caller(agent="operator")
        done = await maintain(home.world, operator, Maintain())
        assert set(done.archived) == {first, second}
        assert not (await search(home.world, planner, Search(query="checkout restored"))).hits


@pytest.mark.covers("life.layers")
async def test_a_statement_stays_as_long_as_it_is_confirmed(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        planner = await _planner(home)
        confirmed = await _kept(home, planner, "w1", content="Deployments happen on Monday")
        alone = await _kept(home, planner, "w2", content="The staging server is blue")
        home.clock.advance(days=60)
        await _kept(home, planner, "w3", content="deployments happen on Monday.")
        home.clock.advance(days=60)
        operator = await home.caller(agent="operator")
        done = await maintain(home.world, operator, Maintain())
        assert done.archived == (alone,)
        found = await search(home.world, planner, Search(query="deployments Monday"))
        assert [hit.memory.id for hit in found.hits] == [confirmed]
