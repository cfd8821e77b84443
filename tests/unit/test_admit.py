"""The one place that decides: in one transaction, and closed when anything is wrong."""

import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.core.access import PolicyIndex
from hindsight_ray.domain.access import Rule
from hindsight_ray.errors import AccessDenied, InvalidTicket
from hindsight_ray.service import admit as admitting
from hindsight_ray.service.admit import admit
from tests.worlds import Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


def _rule(subject: str) -> Rule:
    return Rule(subject=subject, tenant="*", object="global", action="read", effect="allow")


async def test_a_policy_that_cannot_be_read_denies_and_its_rules_are_not_told(
    home: Staged, caplog: pytest.LogCaptureFixture
) -> None:
    caller = await home.caller(agent="operator")
    async with home.world.ledger.writing() as unit:
        await unit.policy.replace([_rule("role:agent"), _rule("secret one")], [], home.clock.now())
    with caplog.at_level(logging.ERROR):
        async with home.world.ledger.reading() as unit:
            with pytest.raises(AccessDenied) as refusal:
                await admit(home.world, unit, caller)
    assert "secret" not in str(refusal.value)
    assert "secret" not in str(refusal.value.details)
    assert "secret" in caplog.text


async def test_an_error_while_deciding_is_a_denial(
    home: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise ZeroDivisionError

    caller = await home.caller(agent="operator")
    monkeypatch.setattr(admitting, "compile_access", fail)
    async with home.world.ledger.reading() as unit:
        with pytest.raises(AccessDenied):
            await admit(home.world, unit, caller)


@pytest.mark.covers("G5.empty")
async def test_a_home_without_policy_allows_nobody_anything(tmp_path: Path) -> None:
    async with world(tmp_path, policy=None) as home:
        caller = await home.caller(agent="operator")
        async with home.world.ledger.reading() as unit:
            admitted = await admit(home.world, unit, caller)
        assert not admitted.access.may("read", "agent:operator")
        assert not admitted.may_read(["global"])


@pytest.mark.covers("G5.tickets")
async def test_an_expired_ticket_is_refused_though_its_access_is_remembered(home: Staged) -> None:
    caller = await home.caller(agent="planner", lifetime_s=60)
    async with home.world.ledger.reading() as unit:
        await admit(home.world, unit, caller)
    home.clock.advance(seconds=60)
    async with home.world.ledger.reading() as unit:
        with pytest.raises(InvalidTicket):
            await admit(home.world, unit, caller)


async def test_a_revision_is_compiled_once_for_a_caller_and_anew_at_the_next(home: Staged) -> None:
    caller = await home.caller(agent="planner")
    async with home.world.ledger.reading() as unit:
        first = await admit(home.world, unit, caller)
        assert (await admit(home.world, unit, caller)).access is first.access
    async with home.world.ledger.writing() as unit:
        policy = await unit.policy.current()
        await unit.policy.replace(policy.rules, policy.memberships, home.clock.now())
    async with home.world.ledger.reading() as unit:
        second = await admit(home.world, unit, caller)
    assert second.revision == first.revision + 1
    assert isinstance(home.world.access.index(second.revision), PolicyIndex)
