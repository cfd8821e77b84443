"""Reviews over a real home: what is kept, where, for whom, and that nothing is kept twice."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.review import ReviewReport
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.run import Run
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import AccessDenied, ModelFailed, NotFound, OverQuota
from hindsight_ray.ports import Purpose, Vector
from hindsight_ray.service import attribute, forget, outcome, record, review, runs, search, write
from tests.trajectories import Story
from tests.worlds import Staged, world

pytestmark = pytest.mark.asyncio


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Staged]:
    async with world(tmp_path / "home") as staged:
        yield staged


class Team:
    """A run of several agents over a real home, told as a story."""

    def __init__(self, home: Staged, run: Run, members: dict[str, Caller]) -> None:
        self.home, self.run, self.members = home, run, members
        self.story = Story()
        self._sent = 0

    @classmethod
    async def start(
        cls, home: Staged, *agents: str, user: str = "alice", scope: str | None = None
    ) -> "Team":
        members = {
            name: await home.caller(agent=name, user=user, session=f"s-{name}") for name in agents
        }
        first = next(iter(members.values()))
        run = await runs.start(
            home.world,
            first,
            c.StartRun(
                command_id=f"start-{'-'.join(agents)}-{home.world.ids.token()}",
                goal="Restore checkout",
                task_type="operate",
                scope=scope,
            ),
        )
        for member in list(members.values())[1:]:
            await runs.join(home.world, member, c.JoinRun(run_id=run.run_id))
        return cls(home, run, members)

    async def send(self) -> None:
        """Record what was told since, each agent its own events."""
        fresh = self.story.events[self._sent :]
        self._sent = len(self.story.events)
        for name, member in self.members.items():
            own = tuple(self._placed(event) for event in fresh if event.agent == name)
            if own:
                await record.record(
                    self.home.world, member, c.RecordEvents(run_id=self.run.run_id, events=own)
                )

    async def end(self) -> None:
        await self.send()
        first = next(iter(self.members.values()))
        await runs.close(self.home.world, first, c.CloseRun(run_id=self.run.run_id))

    async def reviewed(self, caller: Caller | None = None) -> ReviewReport:
        asker = caller or next(iter(self.members.values()))
        return await review.review(self.home.world, asker, c.ReviewRun(run_id=self.run.run_id))

    def _placed(self, event: Event) -> Event:
        return event.model_copy(update={"run_id": self.run.run_id})


def stumble(story: Story, agent: str = "planner", tool: str = "rollback") -> None:
    story.call(f"{tool} bad", tool, "release=40", error="release 40 is pinned", agent=agent)
    story.call(f"{tool} good", tool, "release=41", agent=agent)


async def memories(home: Staged, tenant: str = "acme") -> list[Memory]:
    async with home.world.ledger.reading() as unit:
        rows = RowFilter(
            tenant=tenant,
            now=home.clock.now(),
            keys=None,
            statuses=frozenset({"active", "pending", "quarantined", "outdated", "archived"}),
        )
        return list(await unit.memories.recent(rows, limit=1_000))


def experiences(found: list[Memory]) -> list[Memory]:
    return [memory for memory in found if memory.type == "experience"]


@pytest.mark.covers("G1.review", "G6.experience")
async def test_an_individual_lesson_goes_to_its_agent_and_carries_the_users_scope(
    home: Staged,
) -> None:
    team = await Team.start(home, "planner", "executor")
    stumble(team.story, agent="executor")
    await team.end()
    report = await team.reviewed(team.members["executor"])
    assert report.kind == "full"
    assert report.triggers == ("asked for",)
    (lesson,) = experiences(await memories(home))
    assert lesson.scope == "agent:executor"
    assert lesson.audience == ("agent:executor", "user:alice")
    assert lesson.id in report.stored
    assert lesson.content == (
        'When rollback fails ("release 40 is pinned"), you should do: rollback(release=41) → ok'
    )
    assert lesson.scene is not None
    assert (lesson.scene.task_type, lesson.scene.tools) == ("operate", ("rollback",))
    assert lesson.scene.sharing == "individual"
    assert lesson.source.run == team.run.run_id
    assert set(lesson.source.events) == {event.event_id for event in team.story.events}
    assert lesson.embedding_model == home.world.embedder.space.model


@pytest.mark.covers("G1.review")
async def test_a_collaborative_lesson_goes_to_the_runs_scope_without_the_agents_own(
    home: Staged,
) -> None:
    team = await Team.start(home, "planner", "executor")
    team.story.call("bad", "deploy", "stage=prod", error="frozen", agent="executor")
    team.story.say("tell", "use stage canary", to="executor", causes=["bad"])
    team.story.call("good", "deploy", "stage=canary", agent="executor", causes=["tell"])
    await team.end()
    await team.reviewed()
    (lesson,) = experiences(await memories(home))
    assert lesson.scope == "user:alice"
    assert lesson.audience == ("user:alice",)


async def test_each_review_leaves_one_dated_episode_for_the_readers_of_the_run(
    home: Staged,
) -> None:
    team = await Team.start(home, "planner")
    stumble(team.story)
    await team.end()
    await team.reviewed()
    (episode,) = [memory for memory in await memories(home) if memory.type == "episode"]
    assert (episode.layer, episode.scope) == ("episodic", "user:alice")
    assert episode.audience == ("user:alice",)
    assert episode.content == ("2026-03-02: Restore checkout (planner: 2 steps, 1 failed calls)")


async def test_reviewing_again_adds_nothing_and_says_what_is_known(home: Staged) -> None:
    team = await Team.start(home, "planner")
    stumble(team.story)
    await team.end()
    first = await team.reviewed()
    before = await memories(home)
    again = await team.reviewed()
    assert await memories(home) == before
    assert again.stored == ()
    assert set(again.known) == set(first.stored)
    assert again.duplicates == len(first.stored)


async def test_the_same_lesson_from_another_run_is_verified_not_stored_twice(home: Staged) -> None:
    for number in range(2):
        team = await Team.start(home, "planner")
        team.story.decide("pad", f"attempt {number}")
        stumble(team.story)
        for n, event in enumerate(team.story.events):
            team.story.events[n] = event.model_copy(
                update={"event_id": home.world.ids.event_id(), "causes": ()}
            )
        await team.end()
        report = await team.reviewed()
    assert len(experiences(await memories(home))) == 1
    assert report.duplicates == 1


@pytest.mark.covers("review.triggers")
async def test_a_long_run_is_reviewed_at_its_end_by_itself_and_a_short_one_is_not(
    home: Staged,
) -> None:
    short = await Team.start(home, "planner")
    stumble(short.story)
    await short.end()
    await home.jobs.finish()
    assert await memories(home) == []
    long = await Team.start(home, "executor")
    stumble(long.story, agent="executor", tool="restart")
    for n in range(8):
        long.story.decide(f"d{n}", agent="executor")
    await long.end()
    await home.jobs.finish()
    kept = await memories(home)
    assert {memory.type for memory in kept} == {"episode", "experience"}
    report = await long.reviewed()
    assert set(report.stored) == {memory.id for memory in kept}
    assert report.triggers == ("asked for", "run end")
    assert (await long.reviewed()).stored == ()


@pytest.mark.covers("review.triggers")
async def test_two_failures_in_a_row_start_a_partial_review_while_the_run_goes_on(
    home: Staged,
) -> None:
    team = await Team.start(home, "planner")
    team.story.call("early bad", "look", "a=1", error="nothing there")
    team.story.call("early good", "look", "a=2")
    team.story.call("one", "book", "seat=1", error="taken")
    await team.send()
    await home.jobs.finish()
    assert await memories(home) == []
    team.story.call("two", "book", "seat=2", error="taken")
    await team.send()
    await home.jobs.finish()
    async with home.world.ledger.reading() as unit:
        (kept,) = await unit.reviews.of_run("acme", team.run.run_id)
    assert (kept.kind, kept.trigger) == ("partial", "two tool failures")
    assert len(experiences(await memories(home))) == 1


@pytest.mark.covers("review.triggers")
async def test_a_home_says_how_many_failures_in_a_row_start_a_review(tmp_path: Path) -> None:
    settings = Settings(lock_wait_s=5.0, failures_in_row=3)
    async with world(tmp_path / "patient", settings=settings) as home:
        team = await Team.start(home, "planner")
        for seat in range(3):
            async with home.world.ledger.reading() as unit:
                assert not await unit.reviews.of_run("acme", team.run.run_id)
            team.story.call(f"c{seat}", "book", f"seat={seat}", error="taken")
            await team.send()
            await home.jobs.finish()
        async with home.world.ledger.reading() as unit:
            (kept,) = await unit.reviews.of_run("acme", team.run.run_id)
        assert kept.kind == "partial"


@pytest.mark.covers("G1.offered")
async def test_what_was_offered_to_an_agent_decides_who_reads_what_it_learned(
    home: Staged,
) -> None:
    operator = await home.caller(agent="operator")
    secret: Receipt = await write.write(
        home.world,
        operator,
        c.Write(command_id="w", content="Release 40 is pinned", scope="global", labels=("hr",)),
    )
    team = await Team.start(home, "planner")
    offer = c.Search(query="release 40", run_id=team.run.run_id)
    found = await search.search(home.world, team.members["planner"], offer)
    assert [hit.memory.id for hit in found.hits] == list(secret.ids)
    stumble(team.story)
    await team.end()
    await team.reviewed()
    (lesson,) = experiences(await memories(home))
    assert lesson.labels == ("hr",)
    assert lesson.audience == ("agent:planner", "global", "user:alice")


async def test_text_that_came_out_of_memory_is_not_learned_again(home: Staged) -> None:
    advice = (
        'When rollback fails ("release 40 is pinned"), you should do: rollback(release=41) → ok'
    )
    alice = await home.caller(user="alice")
    await write.write(home.world, alice, c.Write(command_id="w", content=advice))
    team = await Team.start(home, "planner")
    await search.search(
        home.world,
        team.members["planner"],
        c.Search(query="rollback fails", run_id=team.run.run_id),
    )
    stumble(team.story)
    await team.end()
    report = await team.reviewed()
    assert experiences(await memories(home)) == []
    assert any("came out of memory" in reason for reason in report.rejected)


async def test_whoever_may_not_review_the_scope_finds_no_run(home: Staged) -> None:
    team = await Team.start(home, "planner")
    await team.end()
    stranger = await home.caller(agent="planner", user="bob")
    with pytest.raises(NotFound) as refused:
        await team.reviewed(stranger)
    unknown = c.ReviewRun(run_id="00000000-0000-4000-8000-000000000000")
    with pytest.raises(NotFound) as absent:
        await review.review(home.world, stranger, unknown)
    shown = str(refused.value).replace(team.run.run_id, "?")
    assert shown == str(absent.value).replace(unknown.run_id, "?")
    with pytest.raises(NotFound):
        await attribute.attribute(home.world, stranger, c.Attribute(run_id=team.run.run_id))


async def test_whoever_starts_a_review_learns_only_of_what_they_may_read(home: Staged) -> None:
    team = await Team.start(home, "planner", scope="agent:planner")
    stumble(team.story)
    await team.end()
    for_bob = await home.caller(agent="planner", user="bob")
    report = await team.reviewed(for_bob)  # holds `review` on the scope, not `read` on user:alice
    assert (report.stored, report.known, report.duplicates, report.claims) == ((), (), 0, 0)
    assert report.triggers == ("asked for",)
    assert len(experiences(await memories(home))) == 1


async def test_a_policy_without_the_reviewer_stops_reviews_and_keeps_nothing(
    tmp_path: Path,
) -> None:
    policy = "\n".join(
        line for line in shipped_text("default.csv").splitlines() if "role:reviewer" not in line
    )
    async with world(tmp_path / "home", policy=policy + "\n") as home:
        team = await Team.start(home, "planner")
        stumble(team.story)
        for n in range(9):
            team.story.decide(f"d{n}")
        await team.end()
        await home.jobs.finish()
        assert await memories(home) == []
        with pytest.raises(AccessDenied):
            await team.reviewed()
        async with home.world.ledger.reading() as unit:
            entries = await unit.audit.newest("acme", limit=50)
        assert any(
            entry.principal == "agent:reviewer" and entry.effect == "deny" for entry in entries
        )


@pytest.mark.covers("G1.review")
async def test_a_review_that_the_policy_stops_names_no_scope_that_the_asker_may_not_read(
    tmp_path: Path,
) -> None:
    policy = shipped_text("default.csv") + (
        "p, agent:reviewer, acme, user:carol, read, deny\n"
        "p, agent:bob, acme, agent:pool, review, allow\n"
    )
    async with world(tmp_path / "home", policy=policy) as home:
        team = await Team.start(home, "pool", user="carol", scope="agent:pool")
        with pytest.raises(AccessDenied) as refused:
            await team.reviewed(await home.caller(agent="bob"))
    assert "carol" not in f"{refused.value.message} {refused.value.details}"


async def test_an_empty_run_is_reviewed_without_leaving_anything(home: Staged) -> None:
    team = await Team.start(home, "planner")
    await team.end()
    report = await team.reviewed()
    assert (report.stored, report.claims) == ((), 0)
    assert await memories(home) == []


@pytest.mark.covers("G1.credit")
async def test_credit_lists_a_used_memory_only_while_its_reader_may_read_it(home: Staged) -> None:
    alice = await home.caller(user="alice")
    receipt = await write.write(
        home.world, alice, c.Write(command_id="w", content="Release 40 is pinned")
    )
    team = await Team.start(home, "planner")
    used = [MemoryRef(id=receipt.ids[0], revision=1)]
    team.story.decide("choose", used=used, evidence="observed")
    team.story.call("act", "rollback", "release=41", causes=["choose"], evidence="observed")
    await team.end()
    planner = team.members["planner"]
    await outcome.outcome(home.world, planner, c.AssertOutcome(run_id=team.run.run_id, value=1.0))
    asked = c.Attribute(run_id=team.run.run_id)
    given: Attribution = await attribute.attribute(home.world, planner, asked)
    assert [target.id for target in given.memories] == list(receipt.ids)
    assert [credit.value for credit in given.credits] == [1.0]
    await forget.forget(home.world, alice, c.Forget(command_id="f", memory_id=receipt.ids[0]))
    assert (await attribute.attribute(home.world, planner, asked)).memories == ()


class FailingOnce(HashedEmbedder):
    """An embedder whose second call fails."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        self._calls += 1
        if self._calls == 2:
            raise ModelFailed("`embedding` broke off")
        return await super().embed(texts, purpose)


async def test_a_review_that_broke_off_is_taken_up_and_doubles_nothing(tmp_path: Path) -> None:
    async with world(tmp_path / "home", embedder=FailingOnce()) as home:
        team = await Team.start(home, "planner")
        stumble(team.story)
        stumble(team.story, tool="restart")
        await team.end()
        with pytest.raises(ModelFailed):
            await team.reviewed()
        assert len(await memories(home)) == 1
        report = await team.reviewed()
        kept = await memories(home)
        assert len(kept) == 3
        assert set(report.stored) == {memory.id for memory in kept}


async def test_an_event_is_acknowledged_though_no_review_could_be_started(home: Staged) -> None:
    def full(_job: object) -> None:
        raise OverQuota("`background` has all the jobs it may have")

    busy = replace(home, world=replace(home.world, background=full))
    team = await Team.start(busy, "planner")
    team.story.call("one", "book", "seat=1", error="taken")
    team.story.call("two", "book", "seat=2", error="taken")
    await team.end()
    trajectory = await runs.read(
        home.world, team.members["planner"], c.ReadRun(run_id=team.run.run_id)
    )
    assert len(trajectory.events) == 2
    assert trajectory.run.closed_at is not None


async def test_two_who_ask_at_once_for_the_same_review_make_one(home: Staged) -> None:
    team = await Team.start(home, "planner")
    stumble(team.story)
    await team.end()
    await asyncio.gather(team.reviewed(), team.reviewed(), team.reviewed())
    assert len(await memories(home)) == 2
