"""Scopes over their quota: upkeep that runs twice at once, and writers who were not shown all."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.access import Revision
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service import commit
from hindsight_ray.service.commit import Author
from hindsight_ray.service.least import everything, shrink
from tests.asking import ask, wrote
from tests.worlds import TENANT, Staged, world

SECRETIVE = shipped_text("default.csv") + "p, agent:two, *, label:secret, read, deny\n"
OPEN = shipped_text("default.csv") + "p, role:agent, *, global, write, allow\n"


def _few(quota: int, **fields: object) -> Settings:
    named = {"lock_wait_s": 5.0, "memories_per_scope_max": quota, **fields}
    return Settings.model_validate(named)


async def _keys(home: Staged, token: str, count: int, **fields: object) -> list[str]:
    """The ids of so many memories that have nothing to do with each other."""
    start = next(_numbers)
    return [
        await wrote(home, token, f"Key {start}.{n} opens door {start}.{n * 17}", **fields)
        for n in range(count)
    ]


_numbers = iter(range(100, 1_000_000))


async def _statuses(home: Staged, names: Sequence[str]) -> Counter[str]:
    async with home.world.ledger.reading() as unit:
        current = await unit.memories.current(TENANT, names)
    return Counter(memory.status for memory in current.values())


async def _passes(home: Staged, count: int = 1) -> None:
    operator = await home.ticket(agent="operator")
    await asyncio.gather(*[ask(home, operator, c.Maintain, slice=500) for _ in range(count)])


async def _shared(home: Staged, owner: str, to: str, *actions: str) -> str:
    """The ticket of an agent to whom the owner's scope is shared."""
    await ask(home, owner, c.Share, scope="agent:one", to=f"agent:{to}", actions=actions)
    return await home.ticket(agent=to)


@pytest.mark.covers("life.quota", "life.archive_quota")
@pytest.mark.parametrize("away", [False, True])
async def test_upkeep_that_runs_thrice_at_once_takes_no_more_than_once(
    tmp_path: Path, *, away: bool
) -> None:
    async with world(tmp_path / "home") as home:
        one = await home.ticket(agent="one")
        names = await _keys(home, one, 8)
        for name in names if away else ():
            await ask(home, one, c.Archive, memory_id=name)
    settings = _few(4, archive_times_max=1)
    async with world(tmp_path / "home", settings=settings, clock=home.clock) as home:
        await _passes(home, 3)
        left = {"archived": 4} if away else {"archived": 4, "active": 4}
        assert await _statuses(home, names) == left


@pytest.mark.covers("life.quota", "life.archive_quota")
async def test_what_was_counted_before_another_pass_is_counted_again(tmp_path: Path) -> None:
    async with world(tmp_path, settings=_few(9)) as home:
        names = await _keys(home, await home.ticket(agent="one"), 8)
        rows = everything(TENANT)
        by = Author("agent:steward", "Maintain", "", Revision(1), home.clock.now())

        async def gone(unit: Unit, memory: Memory, by: Author) -> None:
            await commit.forget(unit, memory, by, "over")

        async def go_on() -> list[MemoryUuid]:
            return await shrink(home.world, rows, by, limit=4, count=4, act=gone)

        assert len(await go_on()) == 4
        assert await go_on() == []
        assert await _statuses(home, names) == {"active": 4}


@pytest.mark.covers("life.archive_quota")
async def test_a_project_of_several_audiences_does_not_overfill_an_archive(tmp_path: Path) -> None:
    async with world(tmp_path, settings=_few(3, archive_times_max=1)) as home:
        for user in ("alice", "bob", "carol"):
            told = await home.ticket(agent="one", user=user)
            await _keys(home, told, 3, scope="agent:one", project="lamps")
        operator = await home.ticket(agent="operator")
        with pytest.raises(OverQuota, match="archive"):
            await ask(home, operator, c.CloseProject, project="lamps")


@pytest.mark.covers("life.share")
async def test_authors_who_may_not_read_push_out_nothing_of_the_owner_s(tmp_path: Path) -> None:
    settings = _few(4, unread_per_author_max=2, archive_times_max=1)
    async with world(tmp_path, settings=settings) as home:
        one = await home.ticket(agent="one")
        own = await _keys(home, one, 4, importance=0.1)
        left: list[str] = []
        for number in range(4):
            blind = await _shared(home, one, f"w{number}", "write")
            doubt = {"confidence": 0.1} if number % 2 else {}  # what waits takes room as well
            left += await _keys(home, blind, 2, scope="agent:one", importance=1.0, **doubt)
        await _passes(home, 2)
        assert await _statuses(home, own) == {"active": 4}
        assert await _statuses(home, left) == {"archived": 4}  # and four were let go
        async with home.world.ledger.reading() as unit:
            assert await unit.upkeep.scopes(TENANT) == {"agent:one": 4}


@pytest.mark.covers("life.share")
async def test_of_a_shared_scope_each_author_keeps_an_equal_share(tmp_path: Path) -> None:
    async with world(tmp_path, settings=_few(5), policy=OPEN) as home:
        alice = await home.ticket(agent="one", user="alice")
        bob = await home.ticket(agent="two", user="bob")
        first = await _keys(home, alice, 2, scope="global", importance=0.1)
        later = await _keys(home, bob, 5, scope="global", importance=1.0)
        await _passes(home)
        assert await _statuses(home, first) == {"active": 2}
        assert await _statuses(home, later) == {"active": 3, "archived": 2}


@pytest.mark.covers("life.share")
async def test_an_owner_s_own_words_push_out_what_guests_left_first(tmp_path: Path) -> None:
    async with world(tmp_path, settings=_few(4)) as home:
        one = await home.ticket(agent="one")
        own = await _keys(home, one, 2, importance=0.0)
        guest = await _shared(home, one, "two", "read", "write")
        theirs = await _keys(home, guest, 2, scope="agent:one", importance=1.0)
        own += await _keys(home, one, 2, importance=0.0)
        assert await _statuses(home, own) == {"active": 4}
        assert await _statuses(home, theirs) == {"archived": 2}


@pytest.mark.covers("G9.quota")
@pytest.mark.parametrize("own", [{"labels": ("secret",)}, {"confidence": 0.1}])
async def test_what_an_author_is_not_shown_of_its_own_counts_in_a_scope_that_it_reads(
    tmp_path: Path, own: dict[str, object]
) -> None:
    async with world(tmp_path, settings=_few(3), policy=SECRETIVE) as home:
        one = await home.ticket(agent="one")
        await _keys(home, one, 1)
        two = await _shared(home, one, "two", "read", "write")
        await _keys(home, two, 2, scope="agent:one", **own)
        for fields in ({}, own):
            with pytest.raises(OverQuota, match="holds 3"):
                await _keys(home, two, 1, scope="agent:one", **fields)


@pytest.mark.covers("G9.quota", "G1.receipt")
@pytest.mark.parametrize(
    ("hidden", "owned"),
    [
        ({"labels": ("secret",)}, False),
        ({"confidence": 0.1}, False),
        ({"labels": ("secret",)}, True),  # what waits is shown to who acts for the user
    ],
)
async def test_room_follows_from_nothing_that_the_author_may_not_be_shown(
    tmp_path: Path, hidden: dict[str, object], *, owned: bool
) -> None:
    """In a scope that is shared to it, and in its user's."""
    told: list[list[str]] = []
    user, scope = ("alice", "user:alice") if owned else (None, "agent:one")
    for number in (0, 3):
        home_of = tmp_path / str(number)
        async with world(home_of, settings=_few(3), policy=SECRETIVE) as home:
            one = await home.ticket(agent="one", user=user)
            if not owned:
                await _shared(home, one, "two", "read", "write")
            unseen = await _keys(home, one, number, scope=scope, **hidden)
            two = await home.ticket(agent="two", user=user)
            answers: list[str] = []
            for n in range(5):
                command = {"command_id": f"w{n}", "content": f"Lamp {n} lights room {n * 13}"}
                try:
                    receipt = await ask(home, two, c.Write, scope=scope, **command)
                    answers.append(f"{receipt.result} {receipt.why}")
                except OverQuota as error:
                    answers.append(error.message)
            told.append(answers)
            assert "archived" not in await _statuses(home, unseen)
    assert told[0] == told[1]
