"""Two values for one thing, said without a topic, over a real home."""

import itertools
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import (
    Archive,
    DecidePending,
    Get,
    ListPending,
    Restore,
    Write,
)
from hindsight_ray.domain.memory import Status
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.service import archive, pending
from hindsight_ray.service import get as getting
from hindsight_ray.service.write import write
from tests.worlds import Staged, world

_LONG = 30 * 24 * 3600
_numbers = itertools.count()


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _wrote(home: Staged, caller: Caller, content: str, **fields: object) -> Receipt:
    named = {"command_id": f"c{next(_numbers)}", "content": content, **fields}
    return await write(home.world, caller, Write.model_validate(named))


async def _status(home: Staged, caller: Caller, receipt: Receipt) -> Status:
    command = Get.model_validate({"memory_id": receipt.ids[0]})
    return (await getting.get(home.world, caller, command)).status


@pytest.mark.covers("write.claims")
async def test_another_value_retires_the_old_one_in_whatever_form_it_comes(home: Staged) -> None:
    planner = await home.caller(agent="planner", lifetime_s=_LONG)
    old = await _wrote(home, planner, "The owner of billing is Chen")
    others = [
        await _wrote(home, planner, f"The owner of {name} is Chen") for name in ("cart", "search")
    ]
    home.clock.advance(days=2)
    new = await _wrote(home, planner, "For billing, Dana was chosen as owner")
    assert new.result == "superseded"
    assert await _status(home, planner, old) == "outdated"
    assert [await _status(home, planner, one) for one in others] == ["active", "active"]
    again = await _wrote(home, planner, "Billing has Dana as its owner")
    assert (again.result, again.ids) == ("duplicate", new.ids)


@pytest.mark.covers("write.claims")
async def test_two_values_in_a_day_for_one_user_wait_without_a_topic_too(home: Staged) -> None:
    planner = await home.caller(agent="planner", user="alice")
    old = await _wrote(home, planner, "The port of billing is 80")
    home.clock.advance(hours=3)
    new = await _wrote(home, planner, "The port of billing is 81")
    assert new.result == "pending"
    assert await _status(home, planner, old) == "pending"


@pytest.mark.covers("write.claims")
async def test_the_heavier_source_keeps_its_value(home: Staged) -> None:
    planner = await home.caller(agent="planner", user="alice", lifetime_s=_LONG)
    said = await _wrote(home, planner, "The port of billing is 80", source="user")
    home.clock.advance(days=2)
    guessed = await _wrote(home, planner, "The port of billing is 81")
    assert guessed.result == "pending"
    assert await _status(home, planner, said) == "active"


@pytest.mark.covers("write.claims")
async def test_what_may_hold_beside_it_waits_and_touches_nothing(home: Staged) -> None:
    planner = await home.caller(agent="planner", lifetime_s=_LONG)
    old = await _wrote(home, planner, "Billing is led by Chen")
    home.clock.advance(days=2)
    new = await _wrote(home, planner, "Billing is led by Dana")
    assert new.result == "pending"
    assert old.ids[0] in new.why
    assert await _status(home, planner, old) == "active"
    again = await _wrote(home, planner, "The leader of billing is Chen")
    assert (again.result, again.ids) == ("duplicate", old.ids)


@pytest.mark.covers("write.claims")
async def test_what_nobody_is_sure_of_sets_nothing_aside(home: Staged) -> None:
    planner = await home.caller(agent="planner", user="alice")
    old = await _wrote(home, planner, "The port of billing is 80")
    doubtful = await _wrote(home, planner, "The port of billing is 81", confidence=0.3)
    assert doubtful.result == "pending"
    assert await _status(home, planner, old) == "active"


async def _decided(
    home: Staged, caller: Caller, receipt: Receipt, decision: str, content: str | None = None
) -> Receipt:
    fields = {"command_id": f"c{next(_numbers)}", "memory_id": receipt.ids[0], "content": content}
    command = DecidePending.model_validate({**fields, "decision": decision})
    return await pending.decide(home.world, caller, command)


@pytest.mark.covers("people.claims")
async def test_whoever_decides_is_shown_the_other_value_and_accepting_outdates_it(
    home: Staged,
) -> None:
    planner = await home.caller(agent="planner", lifetime_s=_LONG)
    old = await _wrote(home, planner, "Billing is led by Chen")
    await _wrote(home, planner, "The cart is led by Chen")
    home.clock.advance(days=2)
    new = await _wrote(home, planner, "Billing is led by Dana")
    waits = await _wrote(home, planner, "Search is led by Hana", confidence=0.3)
    listed = await pending.listed(home.world, planner, ListPending())
    shown = {one.memory.id: [kept.id for kept in one.conflicts] for one in listed}
    assert shown == {new.ids[0]: list(old.ids), waits.ids[0]: []}
    assert (await _decided(home, planner, new, "accept")).result == "superseded"
    assert await _status(home, planner, old) == "outdated"


@pytest.mark.covers("people.claims")
async def test_of_two_values_without_a_topic_that_both_wait_one_is_left(home: Staged) -> None:
    alice = await home.caller(user="alice")
    old = await _wrote(home, alice, "The port of billing is 80")
    new = await _wrote(home, alice, "The port of billing is 81")
    assert (await _decided(home, alice, old, "accept")).result == "superseded"
    assert await _status(home, alice, old) == "active"
    assert await _status(home, alice, new) == "outdated"


@pytest.mark.covers("people.claims")
async def test_an_edit_that_says_that_both_hold_outdates_nothing(home: Staged) -> None:
    planner = await home.caller(agent="planner", lifetime_s=_LONG)
    old = await _wrote(home, planner, "Billing is led by Chen")
    home.clock.advance(days=2)
    new = await _wrote(home, planner, "Billing is led by Dana")
    done = await _decided(home, planner, new, "edit", "Billing is also led by Dana")
    assert done.result == "stored"
    assert await _status(home, planner, old) == "active"
    assert await _status(home, planner, new) == "active"


@pytest.mark.covers("life.restored")
@pytest.mark.parametrize("topic", [None, "billing_owner"])
async def test_what_is_restored_beside_another_value_waits(home: Staged, topic: str | None) -> None:
    operator = await home.caller(agent="operator", lifetime_s=_LONG)
    said = {"topic": topic, "scope": "global"}
    old = await _wrote(home, operator, "The owner of billing is Chen", **said)
    put_away = Archive.model_validate({"command_id": "a", "memory_id": old.ids[0]})
    await archive.archive(home.world, operator, put_away)
    home.clock.advance(days=2)
    new = await _wrote(home, operator, "The owner of billing is Dana", **said)
    assert new.result == "stored"
    brought = Restore.model_validate({"command_id": "r", "memory_id": old.ids[0]})
    await archive.restore(home.world, operator, brought)
    assert await _status(home, operator, old) == "pending"
    assert await _status(home, operator, new) == "active"


@pytest.mark.covers("write.unrelated")
async def test_what_happened_to_two_things_is_kept_of_both(home: Staged) -> None:
    planner = await home.caller(agent="planner", lifetime_s=_LONG)
    said = [
        await _wrote(home, planner, content)
        for content in (
            "Release 41 of billing failed",
            "Release 42 of billing failed",
            "The author of release 41 is Dana",
            "The author of release 42 is Chen",
            "Dana reviewed billing",
            "Chen reviewed billing",
        )
    ]
    assert [one.result for one in said] == ["stored"] * len(said)
    assert {await _status(home, planner, one) for one in said} == {"active"}
