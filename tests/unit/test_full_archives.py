"""What a scope's archive may hold, and how much who may not read a scope may leave there."""

from pathlib import Path

import pytest

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.settings import Settings
from hindsight_ray.domain.upkeep import Maintained
from hindsight_ray.errors import NotFound, OverQuota
from tests.asking import ask, wrote
from tests.worlds import TENANT, Staged, world

FEW = Settings(lock_wait_s=5.0, memories_per_scope_max=2, archive_times_max=2)
BLIND = Settings(lock_wait_s=5.0, memories_per_scope_max=9, unread_per_author_max=3)
BLINDLY = "p, agent:blind, acme, global, write, allow\n"


async def _away(home: Staged, token: str, number: int) -> str:
    """A memory that was put away, less important the smaller its number."""
    name = await wrote(home, token, f"Key {number} opens door {number}", importance=number / 100)
    await ask(home, token, c.Archive, memory_id=name)
    return name


async def _pass(home: Staged) -> Maintained:
    done = await ask(home, await home.ticket(agent="operator"), c.Maintain, slice=500)
    assert isinstance(done, Maintained)
    assert done.done
    return done


@pytest.mark.covers("life.archive_quota")
async def test_upkeep_lets_the_least_kept_of_an_overfull_archive_go(tmp_path: Path) -> None:
    async with world(tmp_path, settings=FEW) as home:
        alice = await home.ticket(user="alice")
        away = [await _away(home, alice, number) for number in (50, 10, 40, 20)]
        assert (await _pass(home)).forgotten == ()  # twice the quota: as many as it may hold
        away += [await _away(home, alice, number) for number in (30, 60)]
        assert set((await _pass(home)).forgotten) == {away[1], away[3]}
        for name in (away[0], away[2], *away[4:]):
            found = await ask(home, alice, c.Get, memory_id=name)
            assert isinstance(found, Memory)
            assert found.status == "archived"
        with pytest.raises(NotFound):
            await ask(home, alice, c.Get, memory_id=away[1])
        async with home.world.ledger.reading() as unit:
            notes = await unit.memories.history(TENANT, away[1])
            entries = await unit.audit.newest(TENANT, limit=500)
        assert [note.status for note in notes] == ["active", "archived", "forgotten"]
        assert "archive" in notes[-1].why
        assert [one.verb for one in entries if one.object == away[1]].count("Maintain") == 1
        assert (await _pass(home)).forgotten == ()


@pytest.mark.covers("life.archive_quota")
async def test_an_archive_takes_no_more_than_a_quota_beyond_until_upkeep_has_looked(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, settings=FEW) as home:
        alice = await home.ticket(user="alice")
        for number in range(6):
            await _away(home, alice, number)
        kept = [await wrote(home, alice, f"Lamp {n} lights room {n}", importance=n) for n in (0, 1)]
        with pytest.raises(OverQuota, match="archive"):
            await ask(home, alice, c.Archive, memory_id=kept[0])
        with pytest.raises(OverQuota, match="archive"):  # it would put one away to make room
            await wrote(home, alice, "Lamp 3 lights room 3")
        bob = await home.ticket(user="bob")
        await _away(home, bob, 1)  # of a scope of its own
        await _pass(home)
        await wrote(home, alice, "Lamp 3 lights room 3")
        await ask(home, alice, c.Archive, memory_id=kept[1])


@pytest.mark.covers("life.archive_quota")
async def test_closing_a_project_does_not_overfill_an_archive(tmp_path: Path) -> None:
    async with world(tmp_path, settings=FEW) as home:
        alice = await home.ticket(user="alice")
        for number in range(5):
            await _away(home, alice, number)
        for n in range(2):
            await wrote(home, alice, f"Lamp {n} lights room {n}", project="lamps")
        with pytest.raises(OverQuota, match="archive"):
            await ask(home, alice, c.CloseProject, project="lamps")
        await _pass(home)
        closed = await ask(home, alice, c.CloseProject, project="lamps")
        assert len(closed.archived) == 2


async def _left(home: Staged, blind: str, numbers: range) -> list[str]:
    """What the author is told of each of these."""
    told: list[str] = []
    for number in numbers:
        try:
            receipt = await ask(
                home, blind, c.Write, content=f"Key {number} opens door {number}",
                scope="global", command_id=f"b{number}",
            )  # fmt: skip
        except OverQuota as error:
            told.append(error.message)
        else:
            told.append(receipt.model_dump_json())
    return told


@pytest.mark.covers("G9.unread")
async def test_who_may_not_read_a_scope_leaves_so_many_there_whatever_others_wrote(
    tmp_path: Path,
) -> None:
    told: list[list[str]] = []
    for others in (0, 12):
        async with world(tmp_path / str(others), settings=BLIND, policy=_policy()) as home:
            operator = await home.ticket(agent="operator")
            blind = await home.ticket(agent="blind", lifetime_s=3_600)
            for number in range(others):  # the same words, and others: a full scope
                if number % 3 == 0:
                    text = f"Key {number} opens door {number}"
                    told_of = {"scope": "global", "importance": 1.0}
                else:
                    text, told_of = f"Lamp {number} lights room {number}", {}
                await wrote(home, operator, text, **told_of)
            first = await _left(home, blind, range(12))
            told.append(first + await _left(home, blind, range(4)))
            own = {"content": "Lamp 99 lights room 99", "scope": "agent:blind"}
            await ask(home, blind, c.Write, **own)  # of a scope that it may read
    assert told[0] == told[1]
    assert ["OverQuota" if "has left" in one else "stored" for one in told[0][:12]] == [
        *["stored"] * 3, *["OverQuota"] * 9,
    ]  # fmt: skip
    assert told[0][12:15] == told[0][:3]  # the same commands again


@pytest.mark.covers("G9.unread")
async def test_what_an_author_left_unread_counts_until_it_is_forgotten(tmp_path: Path) -> None:
    async with world(tmp_path, settings=BLIND, policy=_policy()) as home:
        operator, blind = await home.ticket(agent="operator"), await home.ticket(agent="blind")
        for number in range(9):
            await wrote(home, operator, f"Lamp {number} lights room {number}")
        names = [
            await wrote(home, blind, f"Key {n} opens door {n}", scope="global") for n in range(3)
        ]
        await ask(home, operator, c.Archive, memory_id=names[0])
        await wrote(home, operator, "Key 1 opens door 1", scope="global")  # now its word
        with pytest.raises(OverQuota, match="without `read`"):
            await wrote(home, blind, "Key 9 opens door 9", scope="global")
        await ask(home, operator, c.Forget, memory_id=names[0])
        await wrote(home, blind, "Key 9 opens door 9", scope="global")


def _policy() -> str:
    """Whoever may write `global`, where agents read, without reading it."""
    return shipped_text("default.csv") + BLINDLY + "p, agent:blind, acme, global, read, deny\n"
