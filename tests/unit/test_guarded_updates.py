"""What an update may not do on the strength of `write` alone to what others said."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.run import Run
from hindsight_ray.errors import AccessDenied
from tests.asking import ask, wrote
from tests.worlds import START, Staged, world

SOON, LATER = START + timedelta(hours=1), START + timedelta(days=9)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _update(home: Staged, token: str, name: str, **fields: object) -> object:
    return await ask(home, token, c.Update, memory_id=name, **fields)


async def _guest(home: Staged, alice: str, *actions: str) -> str:
    await ask(
        home, alice, c.Share, scope="user:alice", to="agent:guest", actions=("read", *actions)
    )
    return await home.ticket(agent="guest")


@pytest.mark.covers("update.guards")
async def test_ending_a_memory_sooner_needs_forget(home: Staged) -> None:
    alice = await home.ticket(user="alice")
    guest = await _guest(home, alice, "write")
    lasting = await wrote(home, alice, "The depot opens at seven")
    ending = await wrote(home, alice, "The lift is broken", expires_at=LATER)
    own = await wrote(home, guest, "The stairs are wet", scope="user:alice")
    for name in (lasting, ending, own):
        with pytest.raises(AccessDenied, match="forget"):
            await _update(home, guest, name, expires_at=SOON)
    guest = await _guest(home, alice, "write", "forget")
    await _update(home, guest, lasting, expires_at=SOON)


@pytest.mark.covers("update.guards")
async def test_a_heavier_or_an_accepted_word_lasts_longer_only_by_who_could_reword_it(
    home: Staged,
) -> None:
    alice = await home.ticket(user="alice")
    guest = await _guest(home, alice, "write")
    hers = await wrote(home, alice, "The spare key is under the mat", expires_at=SOON)
    planner = await home.ticket(agent="planner", user="alice")
    doubtful = await wrote(home, planner, "Trams are late", confidence=0.3, expires_at=SOON)
    await ask(home, alice, c.DecidePending, memory_id=doubtful, decision="accept")
    own = await wrote(home, guest, "The stairs are wet", scope="user:alice", expires_at=SOON)
    for name in (hers, doubtful):
        with pytest.raises(AccessDenied, match="review"):
            await _update(home, guest, name, expires_at=LATER)
        await _update(home, guest, name, expires_at=SOON)  # as it is
    await _update(home, guest, own, expires_at=LATER)
    await _update(home, planner, hers, expires_at=LATER)  # who speaks for her
    guest = await _guest(home, alice, "write", "review")
    await _update(home, guest, doubtful, expires_at=LATER)


@pytest.mark.covers("update.guards")
@pytest.mark.parametrize(
    "change",
    [{"content": "The depot opens at nine"}, {"confidence": 0.1}, {"importance": 0.0},
     {"tags": ("odd",)}],
)  # fmt: skip
async def test_changing_a_heavier_or_an_accepted_word_needs_review(
    home: Staged, change: dict[str, object]
) -> None:
    alice = await home.ticket(user="alice")
    guest = await _guest(home, alice, "write")
    hers = await wrote(home, alice, "The depot opens at seven")
    doubtful = await wrote(
        home, await home.ticket(agent="planner", user="alice"), "Trams are late", confidence=0.3
    )
    await ask(home, alice, c.DecidePending, memory_id=doubtful, decision="accept")
    for name in (hers, doubtful):
        with pytest.raises(AccessDenied, match="review"):
            await _update(home, guest, name, **change)
    with_alice = await home.ticket(agent="planner", user="alice")
    await _update(home, with_alice, hers, **change)  # who speaks for her
    guest = await _guest(home, alice, "write", "review")
    await _update(home, guest, doubtful, **change)


@pytest.mark.covers("update.guards")
async def test_one_s_own_and_lighter_words_are_changed_with_write(home: Staged) -> None:
    alice = await home.ticket(user="alice")
    guest = await _guest(home, alice, "write")
    own = await wrote(home, guest, "The stairs are wet", scope="user:alice")
    await _update(home, guest, own, content="The stairs are dry")
    other = await wrote(
        home, await home.ticket(agent="planner", user="alice"), "The lift is broken"
    )
    await _update(home, guest, other, content="The lift is mended")


@pytest.mark.covers("update.guards")
@pytest.mark.parametrize("lowered", ["confidence", "importance"])
async def test_nobody_lowers_an_equal_word_of_somebody_else_with_write_alone(
    home: Staged, lowered: str
) -> None:
    alice = await home.ticket(user="alice")
    guest = await _guest(home, alice, "write")
    planner = await home.ticket(agent="planner", user="alice")
    theirs = await wrote(home, planner, "The lift is broken")
    own = await wrote(home, guest, "The stairs are wet", scope="user:alice")
    for more in ({}, {"content": "The lift is mended"}):
        with pytest.raises(AccessDenied, match="review"):
            await _update(home, guest, theirs, **{lowered: 0.1}, **more)
    await _update(home, guest, theirs, **{lowered: 0.9})  # to raise it takes nothing away
    await _update(home, guest, own, **{lowered: 0.1})
    await _update(home, planner, theirs, **{lowered: 0.8})  # who said it
    await _update(home, alice, theirs, **{lowered: 0.7})  # with more weight
    guest = await _guest(home, alice, "write", "review")
    await _update(home, guest, theirs, **{lowered: 0.6})


@pytest.mark.covers("update.guards")
async def test_an_unchanged_text_changes_no_author(home: Staged) -> None:
    alice = await home.ticket(user="alice")
    guest = await _guest(home, alice, "write")
    planner = await home.ticket(agent="planner", user="alice")
    theirs = await wrote(home, planner, "The lift is broken")
    await _update(home, guest, theirs, content="The lift is broken", importance=0.9)
    kept = await ask(home, alice, c.Get, memory_id=theirs)
    assert (kept.source.agent, kept.importance) == ("planner", 0.9)


@pytest.mark.covers("update.guards")
@pytest.mark.parametrize("reworded", ["by update", "by a fuller twin"])
async def test_who_rewords_an_equal_word_may_not_sink_it_alone(home: Staged, reworded: str) -> None:
    long = "Deploys to production require written approval from the platform lead on weekdays"
    fuller = f"{long}, and are announced"
    first, second = await home.ticket(agent="first"), await home.ticket(agent="second")
    await ask(
        home, first, c.Share, scope="agent:first", to="agent:second", actions=("read", "write")
    )
    theirs = await wrote(home, first, long, importance=0.9)
    if reworded == "by update":
        await _update(home, second, theirs, content=fuller)
    else:
        assert await wrote(home, second, fuller, scope="agent:first") == theirs
    kept = await ask(home, first, c.Get, memory_id=theirs)
    assert (kept.content, kept.source.agent) == (fuller, "second")
    for lowered in ({"importance": 0.0}, {"confidence": 0.0}):
        with pytest.raises(AccessDenied, match="review"):
            await _update(home, second, theirs, **lowered)


@pytest.mark.covers("update.guards")
@pytest.mark.parametrize("shared", [False, True])
async def test_text_from_outside_gets_into_nobody_s_word_by_an_update(
    home: Staged, *, shared: bool
) -> None:
    alice = await home.ticket(user="alice")
    planner = await home.ticket(agent="planner", user="alice", session="s")
    hers = await wrote(home, alice, "The vault is opened by two people")
    theirs = await wrote(home, planner, "Line one of the tool", source="tool")
    run = await ask(home, planner, c.StartRun, goal="look")
    assert isinstance(run, Run)
    await ask(home, planner, c.Search, query="line of the tool", run_id=run.run_id)
    if shared:
        await _guest(home, alice)
    for change in ({"content": "The vault is opened by nobody"}, {"tags": ("nobody",)}):
        with pytest.raises(AccessDenied, match="statement of its own"):
            await _update(home, planner, hers, **change)
    found = await ask(home, alice, c.Get, memory_id=hers)
    assert isinstance(found, Memory)
    assert (found.status, found.content) == ("active", "The vault is opened by two people")
    await _update(home, planner, theirs, content="Line two of the tool")
    await ask(home, planner, c.CloseRun, run_id=run.run_id)
    await _update(home, planner, hers, content="The vault is opened by three people")
