"""A user is erased while something slow is under way: what it had read of them is kept nowhere."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.rows import RecallEntry
from hindsight_ray.errors import Busy, NotFound
from hindsight_ray.ports import Purpose, Vector
from tests.asking import ask, wrote
from tests.canaries import canary, left
from tests.unit.test_reviewing import Team, memories, stumble
from tests.worlds import TENANT, Staged, world


class Interrupted(HashedEmbedder):
    """An embedder during whose calls something else happens, once it is said what."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        happening, self.meanwhile = self.meanwhile, None
        if happening is not None:
            await happening()
        return await super().embed(texts, purpose)


async def _erase(home: Staged) -> None:
    await ask(home, await home.operator(), c.Erase, user="alice")


async def _ended(home: Staged) -> Team:
    """A run that ended, of which a lesson is to be learned."""
    team = await Team.start(home, "planner")
    team.story.decide("first", canary("summary"), agent="planner")
    stumble(team.story)
    await team.end()
    await home.jobs.finish()
    return team


async def _shown_to_another(home: Staged, scope: str) -> Team:
    """A run of bob's that ended, in which something was shown that alice said in `scope`."""
    alice, pool = await home.ticket(user="alice"), await home.ticket(agent="planner")
    given = {"to": "user:alice", "actions": ("read", "write")}
    await ask(home, pool, c.Share, scope="agent:planner", **given)
    await ask(home, alice, c.Share, scope="user:alice", to="user:bob", actions=("read",))
    await wrote(home, alice, canary("content"), scope=scope)
    team = await Team.start(home, "planner", user="bob")
    (planner,) = team.members.values()
    token = await home.ticket(agent="planner", user="bob", session=planner.session)
    shown = await ask(home, token, c.Search, query="canary", run_id=team.run.run_id)
    assert shown.hits
    stumble(team.story)
    await team.end()
    return team


@pytest.mark.covers("erase.meanwhile")
async def test_a_review_of_their_run_keeps_nothing_once_they_are_erased(tmp_path: Path) -> None:
    embedder = Interrupted()
    async with world(tmp_path / "home", embedder=embedder) as home:
        team = await _ended(home)
        operator = await home.operator()
        embedder.meanwhile = lambda: _erase(home)
        with pytest.raises(NotFound, match="run"):
            await ask(home, operator, c.ReviewRun, run_id=team.run.run_id)
        assert await memories(home) == []
        assert left(home.path) == {}
        async with home.world.ledger.reading() as unit:
            assert await unit.reviews.of_run(TENANT, team.run.run_id) == []


@pytest.mark.covers("erase.meanwhile")
async def test_a_review_that_nobody_waits_for_ends_without_a_word_when_its_run_is_erased(
    tmp_path: Path,
) -> None:
    embedder = Interrupted()
    async with world(tmp_path / "home", embedder=embedder) as home:
        team = await Team.start(home, "planner")
        for number in range(home.world.settings.review_events_min):
            team.story.decide(f"d{number}", canary("summary"), agent="planner")
        erased = asyncio.Event()

        async def erase() -> None:
            await _erase(home)
            erased.set()

        embedder.meanwhile = erase
        await team.end()
        await home.jobs.finish()
        assert erased.is_set()
        assert left(home.path) == {}


@pytest.mark.covers("erase.meanwhile")
async def test_a_review_that_was_shown_what_is_erased_meanwhile_is_to_be_asked_for_again(
    tmp_path: Path,
) -> None:
    embedder = Interrupted()
    async with world(tmp_path / "home", embedder=embedder) as home:
        team = await _shown_to_another(home, "agent:planner")
        operator = await home.operator()
        embedder.meanwhile = lambda: _erase(home)
        with pytest.raises(Busy, match="ask again"):
            await ask(home, operator, c.ReviewRun, run_id=team.run.run_id)
        assert left(home.path) == {}
        again = await ask(home, operator, c.ReviewRun, run_id=team.run.run_id)
        assert again.stored


@pytest.mark.covers("erase.derived")
async def test_a_run_that_outlived_an_erasure_teaches_again_what_went_with_it(
    tmp_path: Path,
) -> None:
    async with world(tmp_path / "home") as home:
        team = await _shown_to_another(home, "user:alice")
        operator = await home.operator()
        first = await ask(home, operator, c.ReviewRun, run_id=team.run.run_id)
        await _erase(home)
        assert await memories(home) == []
        again = await ask(home, operator, c.ReviewRun, run_id=team.run.run_id)
        assert len(again.stored) == len(first.stored) > 0
        assert not {*again.stored} & {*first.stored}
        assert left(home.path) == {}
        learned = await memories(home)
        assert not (await ask(home, operator, c.ReviewRun, run_id=team.run.run_id)).stored
        assert await memories(home) == learned


@pytest.mark.covers("erase.meanwhile")
async def test_a_search_that_waits_to_be_noted_is_not_once_its_user_or_run_is_erased(
    tmp_path: Path,
) -> None:
    async with world(tmp_path / "home") as home:
        team = await Team.start(home, "planner")
        before = home.clock.now()
        late = RecallEntry(
            tenant=TENANT, at=before, principal="agent:planner", user=None, session=None,
            run_id=None, query="of nobody", top_scores=(), offered=(), revision=1,
        )  # fmt: skip
        of_run = replace(late, query="of their run", run_id=str(team.run.run_id))
        theirs = replace(late, query="of theirs", user="alice")
        own = replace(late, query="of their own", principal="user:alice")
        elsewhere = replace(theirs, query="of another tenant", tenant="globex")
        home.clock.advance(hours=1)
        await _erase(home)
        home.clock.advance(hours=1)
        new = replace(theirs, query="of a new alice", at=home.clock.now())
        async with home.world.ledger.writing() as unit:
            await unit.recalls.append([late, of_run, theirs, own, elsewhere, new])
        async with home.world.ledger.reading() as unit:
            kept = [
                one.query
                for tenant in (TENANT, "globex")
                for one in await unit.recalls.newest(tenant, limit=10)
            ]
        assert kept == ["of a new alice", "of nobody", "of another tenant"]
