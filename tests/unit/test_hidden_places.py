"""Neither a page's beginning, nor a count, nor a receipt said again tells of what is hidden."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core.digest import memory_uuid
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import HindsightError, NotFound
from tests.asking import ask, wrote
from tests.worlds import TENANT, Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path, settings=Settings(lock_wait_s=5.0)) as staged:
        yield staged


async def _refusal(home: Staged, token: str, **fields: object) -> tuple[str, str]:
    with pytest.raises(NotFound) as found:
        await ask(home, token, c.ExportKnowledge, types=("fact",), **fields)
    assert isinstance(found.value, HindsightError)
    return type(found.value).__name__, found.value.message.replace(str(fields["after"]), "…")


@pytest.mark.covers("G1.get")
async def test_a_page_begins_after_what_one_is_shown_and_nothing_else(home: Staged) -> None:
    alice, bob = await home.ticket(user="alice"), await home.ticket(agent="bob")
    curator = await home.ticket(agent="operator")
    names: list[str] = []
    for place in ("moon", "sea"):
        content = f"The {place} is looked after by nobody"
        names.append(await wrote(home, curator, content, scope="global", confidence=0.3))
        await ask(home, curator, c.DecidePending, memory_id=names[-1], decision="accept")
    theirs = await wrote(home, alice, "Alice keeps bees", scope="user:alice")
    absent = str(memory_uuid(TENANT, "user:alice", "write", "another", 0))
    assert await _refusal(home, bob, after=theirs) == await _refusal(home, bob, after=absent)
    page = await ask(home, bob, c.ExportKnowledge, types=("fact",), after=names[0])
    assert [one.lineage.memory_id for one in page] == [names[1]]


@pytest.mark.covers("G1.statuses", "life.project")
async def test_closing_a_project_counts_and_retires_nothing_that_waits_for_others(
    home: Staged,
) -> None:
    alice, bob = await home.ticket(user="alice"), await home.ticket(agent="bob")
    await ask(home, alice, c.Share, scope="user:alice", to="agent:bob")
    own = {"scope": "user:alice", "project": "merger"}
    waits = await wrote(home, alice, "The bid ends on Friday", confidence=0.2, **own)
    kept = await wrote(home, alice, "The office is in Delft", **own)
    closed = await ask(home, bob, c.CloseProject, project="merger")
    assert (closed.archived, closed.left) == ((), 1)
    await ask(home, alice, c.Share, scope="user:alice", to="agent:bob", actions=("read", "forget"))
    closed = await ask(home, bob, c.CloseProject, project="merger")
    assert (closed.archived, closed.left) == ((kept,), 0)
    assert (await ask(home, alice, c.Get, memory_id=waits)).status == "pending"


@pytest.mark.covers("G1.receipt", "life.project")
async def test_a_closing_said_again_names_what_its_caller_might_still_put_away(
    home: Staged,
) -> None:
    alice, bob = await home.ticket(user="alice"), await home.ticket(agent="bob")
    more = {"scope": "user:alice", "to": "agent:bob"}
    await ask(home, alice, c.Share, actions=("read", "forget"), **more)
    fields = {"scope": "user:alice", "project": "merger"}
    kept = await wrote(home, alice, "The office is in Delft", **fields)
    command = {"project": "merger", "command_id": "close"}
    closed = await ask(home, bob, c.CloseProject, **command)
    assert closed.archived == (kept,)
    assert await ask(home, bob, c.CloseProject, **command) == closed
    await ask(home, alice, c.Revoke, **more)
    assert (await ask(home, bob, c.CloseProject, **command)).archived == ()


@pytest.mark.covers("G1.receipt")
async def test_a_promotion_said_again_names_nobodys_memory_to_who_may_read_it_no_more(
    tmp_path: Path,
) -> None:
    rules = "p, agent:bob, acme, user:alice, promote, allow\n"
    async with world(tmp_path, policy=shipped_text("default.csv") + rules) as home:
        alice, bob = await home.ticket(user="alice"), await home.ticket(agent="bob")
        more = {"scope": "user:alice", "to": "agent:bob"}
        await ask(home, alice, c.Share, actions=("read", "write"), **more)
        theirs = await wrote(home, alice, "The office is in Delft", scope="user:alice")
        own = await wrote(home, bob, "The office is in Delft", scope="agent:bob")
        command = {"memory_id": own, "scope": "user:alice", "command_id": "again"}
        assert (await ask(home, bob, c.Promote, **command)).ids == (theirs,)
        await ask(home, alice, c.Revoke, **more)
        told = await ask(home, bob, c.Promote, **command)
        assert (told.result, theirs in told.ids) == ("stored", False)
