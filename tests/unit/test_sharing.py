"""Share, revoke, why and audit over a real home: who may, and what is then in force."""

import uuid
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import LoadPolicy, ReadAudit, Revoke, Share, Why, Write
from hindsight_ray.domain.receipt import Grant
from hindsight_ray.errors import (
    AccessDenied,
    CommandReused,
    InvalidInput,
    InvalidTicket,
    NotFound,
    OverQuota,
)
from hindsight_ray.service import share as sharing
from hindsight_ray.service.admit import admit
from hindsight_ray.service.audit import audit
from hindsight_ray.service.operate import load_policy
from hindsight_ray.service.share import revoke, share
from hindsight_ray.service.why import why
from hindsight_ray.service.write import write
from tests.worlds import Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


def _share(scope: str, to: str, *actions: str, **fields: object) -> Share:
    return Share.model_validate(
        {
            "command_id": uuid.uuid4().hex,
            "scope": scope,
            "to": to,
            "actions": actions or ("read",),
            **fields,
        }
    )


def _revoke(scope: str, to: str, **fields: object) -> Revoke:
    return Revoke.model_validate(
        {"command_id": uuid.uuid4().hex, "scope": scope, "to": to, **fields}
    )


async def _may(home: Staged, caller: Caller, action: Action, scope: str) -> bool:
    async with home.world.ledger.reading() as unit:
        return (await admit(home.world, unit, caller)).access.may(action, scope)


@pytest.mark.covers("G2.revoke")
async def test_a_grant_is_in_force_when_share_returns_and_gone_when_revoke_returns(
    home: Staged,
) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    assert not await _may(home, helper, "read", "user:alice")
    given = await share(home.world, alice, _share("user:alice", "agent:helper"))
    assert given.rules == ("p, agent:helper, acme, user:alice, read, allow",)
    assert await _may(home, helper, "read", "user:alice")
    taken = await revoke(home.world, alice, _revoke("user:alice", "agent:helper"))
    assert taken.revision > given.revision
    assert taken.rules == given.rules
    assert not await _may(home, helper, "read", "user:alice")


@pytest.mark.covers("G2.revoke", "G2.processes")
async def test_a_revoke_in_one_process_binds_another_that_has_compiled_before(
    home: Staged, tmp_path: Path
) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    await share(home.world, alice, _share("user:alice", "agent:helper"))
    async with world(tmp_path, policy=None, clock=home.clock) as other:
        assert await _may(other, helper, "read", "user:alice")
        await revoke(home.world, alice, _revoke("user:alice", "agent:helper"))
        assert not await _may(other, helper, "read", "user:alice")


@pytest.mark.covers("G2.until")
async def test_a_grant_with_an_end_stops_at_that_moment(home: Staged) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    until = home.clock.now() + timedelta(minutes=10)
    await share(home.world, alice, _share("user:alice", "agent:helper", until=until))
    home.clock.advance(minutes=9, seconds=59)
    assert await _may(home, helper, "read", "user:alice")
    home.clock.advance(seconds=1)
    assert not await _may(home, helper, "read", "user:alice")


async def test_a_grant_reaches_a_role_and_its_tenant_only(home: Staged) -> None:
    alice = await home.caller(user="alice")
    await share(home.world, alice, _share("user:alice", "role:agent"))
    assert await _may(home, await home.caller(agent="any"), "read", "user:alice")
    stranger = await home.caller(agent="any", tenant="globex")
    assert not await _may(home, stranger, "read", "user:alice")


async def test_an_agent_shares_its_own_scope_and_not_that_of_its_user(home: Staged) -> None:
    planner = await home.caller(agent="planner", user="alice")
    await share(home.world, planner, _share("agent:planner", "agent:helper", "read", "write"))
    with pytest.raises(AccessDenied):
        await share(home.world, planner, _share("user:alice", "agent:helper"))


@pytest.mark.parametrize("scope", ["user:bob", "agent:planner", "global"])
async def test_nobody_shares_a_scope_that_is_not_theirs(home: Staged, scope: str) -> None:
    alice = await home.caller(user="alice")
    with pytest.raises(AccessDenied):
        await share(home.world, alice, _share(scope, "agent:helper"))


@pytest.mark.parametrize("action", ["promote", "audit", "administer", "evaluate"])
async def test_nobody_shares_more_than_they_hold(home: Staged, action: str) -> None:
    alice = await home.caller(user="alice")
    with pytest.raises(AccessDenied, match="more than"):
        await share(home.world, alice, _share("user:alice", "agent:helper", "read", action))
    helper = await home.caller(agent="helper")
    assert not await _may(home, helper, "read", "user:alice")


async def test_a_delegate_shares_what_it_was_given_no_more_and_no_longer(home: Staged) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    until = home.clock.now() + timedelta(hours=1)
    await share(
        home.world, alice, _share("user:alice", "agent:helper", "share", "read", until=until)
    )
    with pytest.raises(AccessDenied):
        await share(home.world, helper, _share("user:alice", "agent:third", "write", until=until))
    with pytest.raises(AccessDenied):
        await share(home.world, helper, _share("user:alice", "agent:third"))
    later = until + timedelta(seconds=1)
    with pytest.raises(AccessDenied):
        await share(home.world, helper, _share("user:alice", "agent:third", until=later))
    await share(home.world, helper, _share("user:alice", "agent:third", until=until))
    assert await _may(home, await home.caller(agent="third"), "read", "user:alice")


async def test_what_an_agent_holds_by_acting_it_does_not_pass_on(home: Staged) -> None:
    alice = await home.caller(user="alice")
    await share(home.world, alice, _share("user:alice", "agent:planner", "share"))
    planner = await home.caller(agent="planner", user="alice")
    assert await _may(home, planner, "read", "user:alice")
    with pytest.raises(AccessDenied, match="more than"):
        await share(home.world, planner, _share("user:alice", "agent:third", "read"))


async def test_revoking_a_delegate_ends_what_it_gave_on(home: Staged) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    await share(home.world, alice, _share("user:alice", "agent:helper", "share", "read"))
    await share(home.world, helper, _share("user:alice", "agent:third"))
    third = await home.caller(agent="third")
    assert await _may(home, third, "read", "user:alice")
    taken = await revoke(home.world, alice, _revoke("user:alice", "agent:helper"))
    assert len(taken.rules) == 3
    assert not await _may(home, third, "read", "user:alice")


async def test_revoke_ends_ones_own_grants_and_only_the_named_actions(home: Staged) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    await share(home.world, alice, _share("user:alice", "agent:helper", "read", "write"))
    await revoke(home.world, alice, _revoke("user:alice", "agent:helper", actions=("write",)))
    assert await _may(home, helper, "read", "user:alice")
    assert not await _may(home, helper, "write", "user:alice")


async def test_a_delegate_does_not_end_what_the_owner_gave(home: Staged) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    await share(home.world, alice, _share("user:alice", "agent:helper", "share", "read"))
    await share(home.world, alice, _share("user:alice", "agent:third"))
    taken = await revoke(home.world, helper, _revoke("user:alice", "agent:third"))
    assert taken.rules == ()
    assert await _may(home, await home.caller(agent="third"), "read", "user:alice")


async def test_who_administers_ends_anybodys_grants(home: Staged) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    await share(home.world, alice, _share("user:alice", "agent:helper"))
    operator = await home.caller(agent="operator")
    await revoke(home.world, operator, _revoke("user:alice", "agent:helper"))
    assert not await _may(home, helper, "read", "user:alice")


@pytest.mark.covers("G1.receipt")
async def test_who_administers_no_more_is_not_told_again_whose_grants_it_ended(
    home: Staged,
) -> None:
    alice, carol = await home.caller(user="alice"), await home.caller(user="carol")
    operator = await home.caller(agent="operator")
    more = "p, user:carol, acme, user:alice, share, allow\n"
    rules = shipped_text("default.csv") + more
    administers = f"{rules}p, user:carol, acme, global, administer, allow\n"
    await load_policy(home.world, operator, LoadPolicy(text=administers))
    await share(home.world, alice, _share("user:alice", "agent:helper"))
    asked = _revoke("user:alice", "agent:helper")
    ended = await revoke(home.world, carol, asked)
    assert len(ended.rules) == 1
    assert await revoke(home.world, carol, asked) == ended
    await load_policy(home.world, operator, LoadPolicy(text=rules))
    with pytest.raises(AccessDenied):
        await revoke(home.world, carol, asked)


async def test_without_share_or_administer_nothing_is_revoked(home: Staged) -> None:
    bob = await home.caller(user="bob")
    with pytest.raises(AccessDenied):
        await revoke(home.world, bob, _revoke("user:alice", "agent:helper"))


async def test_revoking_what_was_never_given_changes_nothing(home: Staged) -> None:
    alice = await home.caller(user="alice")
    async with home.world.ledger.reading() as unit:
        before = await unit.policy.current()
    taken = await revoke(home.world, alice, _revoke("user:alice", "agent:helper"))
    assert (taken.rules, taken.revision) == ((), before.revision)


@pytest.mark.covers("G3.commands")
async def test_a_repeated_share_has_one_effect_and_its_first_receipt(home: Staged) -> None:
    alice = await home.caller(user="alice")
    command = _share("user:alice", "agent:helper")
    first = await share(home.world, alice, command)
    assert await share(home.world, alice, command) == first
    async with home.world.ledger.reading() as unit:
        policy = await unit.policy.current()
    assert policy.revision == first.revision
    assert sum(rule.grantor is not None for rule in policy.rules) == 1


async def test_a_repeated_share_after_a_revoke_does_not_give_again(home: Staged) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    command = _share("user:alice", "agent:helper")
    await share(home.world, alice, command)
    await revoke(home.world, alice, _revoke("user:alice", "agent:helper"))
    await share(home.world, alice, command)
    assert not await _may(home, helper, "read", "user:alice")


@pytest.mark.covers("G3.reused")
async def test_a_command_id_used_for_another_share_is_refused(home: Staged) -> None:
    alice = await home.caller(user="alice")
    command = _share("user:alice", "agent:helper")
    await share(home.world, alice, command)
    with pytest.raises(CommandReused):
        await share(home.world, alice, command.model_copy(update={"to": "agent:other"}))


@pytest.mark.parametrize(
    "to", ["", "helper", "agent:", "agent:*", "role:{self}", "global", "label:x", "agent:a,b"]
)
async def test_to_must_be_a_principal_or_a_role(home: Staged, to: str) -> None:
    alice = await home.caller(user="alice")
    with pytest.raises(InvalidInput):
        await share(home.world, alice, _share("user:alice", to))
    with pytest.raises(InvalidInput):
        await revoke(home.world, alice, _revoke("user:alice", to))


async def test_an_end_in_the_past_and_no_action_are_refused(home: Staged) -> None:
    alice = await home.caller(user="alice")
    with pytest.raises(InvalidInput):
        await share(home.world, alice, _share("user:alice", "agent:helper", until=home.clock.now()))
    none = _share("user:alice", "agent:helper").model_copy(update={"actions": ()})
    with pytest.raises(InvalidInput):
        await share(home.world, alice, none)


async def test_sharing_again_moves_the_end(home: Staged) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    await share(home.world, alice, _share("user:alice", "agent:helper"))
    until = home.clock.now() + timedelta(minutes=1)
    await share(home.world, alice, _share("user:alice", "agent:helper", until=until))
    home.clock.advance(minutes=1)
    assert not await _may(home, helper, "read", "user:alice")


@pytest.mark.covers("G2.revoke")
async def test_a_grant_given_again_where_another_ran_out_can_be_taken_back(home: Staged) -> None:
    alice, bob = await home.caller(user="alice"), await home.caller(user="bob")
    until = home.clock.now() + timedelta(hours=1)
    await share(home.world, alice, _share("user:alice", "user:bob"))
    await share(home.world, alice, _share("user:alice", "user:dora"))
    await share(home.world, alice, _share("user:alice", "user:carol", until=until))
    home.clock.advance(hours=1)
    await share(home.world, alice, _share("user:alice", "user:bob"))
    assert await _may(home, bob, "read", "user:alice")
    ended = await revoke(home.world, alice, _revoke("user:alice", "user:bob"))
    assert len(ended.rules) == 1
    assert not await _may(home, bob, "read", "user:alice")


async def test_a_scope_takes_no_more_grants_than_its_limit(
    home: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "GRANTS_PER_SCOPE_MAX", 2)
    alice = await home.caller(user="alice")
    soon = home.clock.now() + timedelta(minutes=1)
    await share(home.world, alice, _share("user:alice", "agent:b", "read", "write", until=soon))
    with pytest.raises(OverQuota):
        await share(home.world, alice, _share("user:alice", "agent:a", "read", "write"))
    home.clock.advance(minutes=1)  # what is over takes nobody's place
    await share(home.world, alice, _share("user:alice", "agent:a", "read", "write"))
    with pytest.raises(OverQuota):
        await share(home.world, alice, _share("user:alice", "agent:b"))


async def test_a_narrowed_ticket_shares_nothing_outside_it(home: Staged) -> None:
    alice = await home.caller(user="alice", actions=frozenset({"read", "share"}))
    with pytest.raises(AccessDenied):
        await share(home.world, alice, _share("user:alice", "agent:helper", "write"))
    await share(home.world, alice, _share("user:alice", "agent:helper", "read"))


@pytest.mark.covers("G6.decision")
async def test_why_names_the_rule_the_path_and_the_revision(home: Staged) -> None:
    operator = await home.caller(agent="operator")
    asked = Why(agent="planner", user="alice", action="read", object="user:alice")
    answer = await why(home.world, operator, asked)
    (one,) = answer.decisions
    assert (answer.allowed, one.reason) == (True, "allowed")
    assert one.rule == "p, role:agent, *, user:{acting}, read, allow"
    assert one.role_path == ("agent:planner", "role:agent")
    async with home.world.ledger.reading() as unit:
        assert answer.revision == (await unit.policy.current()).revision
    refused = await why(home.world, operator, asked.model_copy(update={"object": "user:bob"}))
    assert (refused.allowed, refused.decisions[0].reason) == (False, "no rule")


@pytest.mark.parametrize("scope", ["user:alice", "global", "label:x", "agent:planner"])
async def test_why_needs_audit(home: Staged, scope: str) -> None:
    for caller in (
        await home.caller(user="alice"),
        await home.caller(agent="planner", user="alice"),
        await home.caller(agent="curator"),
    ):
        with pytest.raises(AccessDenied):
            await why(home.world, caller, Why(user="alice", action="read", object=scope))


async def test_an_auditor_borrows_nothing_from_the_user_it_acts_for(home: Staged) -> None:
    operator = await home.caller(agent="operator")
    await share(home.world, operator, _share("user:bob", "user:alice", "audit"))
    asked = Why(user="bob", action="read", object="user:bob")
    assert (await why(home.world, await home.caller(user="alice"), asked)).allowed
    with pytest.raises(AccessDenied):
        await why(home.world, await home.caller(agent="planner", user="alice"), asked)


async def test_why_about_a_memory_that_is_not_there_says_no_more_than_get(home: Staged) -> None:
    name = str(uuid.uuid4())
    for agent in ("operator", "planner"):
        caller = await home.caller(agent=agent)
        with pytest.raises(NotFound) as refusal:
            await why(home.world, caller, Why(action="read", object=name))
        assert refusal.value.message == f"`memory` {name!r} is not there for this caller"


async def test_why_about_a_memory_answers_for_its_whole_audience_and_labels(
    tmp_path: Path,
) -> None:
    rules = (
        "p, agent:planner, acme, label:secret, read, deny\n"
        "p, user:half, acme, user:alice, audit, allow\n"
    )
    async with world(tmp_path, policy=shipped_text("default.csv") + rules) as home:
        planner = await home.caller(agent="planner", user="alice")
        written = await write(
            home.world,
            planner,
            Write.model_validate(
                {
                    "command_id": "w1",
                    "content": "The checkout service pages the night shift after two failures",
                    "scope": "agent:planner",
                    "labels": ("secret", "draft"),
                }
            ),
        )
        name = written.ids[0]
        operator = await home.caller(agent="operator")
        asked = Why(agent="planner", user="alice", action="read", object=name)
        answer = await why(home.world, operator, asked)
        assert [(one.action, one.object, one.allowed) for one in answer.decisions] == [
            ("read", "agent:planner", True),
            ("read", "user:alice", True),
            ("read", "label:draft", True),
            ("read", "label:secret", False),
        ]
        assert not answer.allowed
        executor = Why(agent="executor", user="alice", action="forget", object=name)
        refused = (await why(home.world, operator, executor)).decisions
        assert [(one.action, one.object, one.allowed) for one in refused] == [
            ("forget", "agent:planner", False),
            ("read", "agent:planner", False),
            ("read", "user:alice", True),
            ("read", "label:draft", True),
            ("read", "label:secret", True),
        ]
        half = await home.caller(user="half")
        for caller in (half, await home.caller(agent="operator", tenant="globex")):
            with pytest.raises(NotFound):
                await why(home.world, caller, asked)


@pytest.mark.parametrize("target", ["", "agent:*", "everything", "user:a b", "label:"])
async def test_why_about_nothing_in_particular_is_refused(home: Staged, target: str) -> None:
    operator = await home.caller(agent="operator")
    with pytest.raises(InvalidInput):
        await why(home.world, operator, Why(action="read", object=target))


@pytest.mark.covers("G1.audit")
async def test_the_audit_holds_who_did_what_by_which_rule(home: Staged) -> None:
    alice, operator = await home.caller(user="alice"), await home.caller(agent="operator")
    await share(home.world, alice, _share("user:alice", "agent:helper"))
    newest = (await audit(home.world, operator, ReadAudit(limit=1)))[0]
    assert (newest.principal, newest.verb, newest.effect) == ("user:alice", "Share", "allow")
    assert newest.object == "user:alice read agent:helper"
    assert newest.rule == "p, role:user, *, user:{acting}, share, allow"


@pytest.mark.covers("G1.audit")
async def test_the_audit_is_closed_to_those_without_audit_and_to_other_tenants(
    home: Staged,
) -> None:
    alice = await home.caller(user="alice")
    await share(home.world, alice, _share("user:alice", "agent:helper"))
    for caller in (alice, await home.caller(agent="curator")):
        with pytest.raises(AccessDenied):
            await audit(home.world, caller, ReadAudit())
    elsewhere = await home.caller(agent="operator", tenant="globex")
    assert await audit(home.world, elsewhere, ReadAudit()) == ()


@pytest.mark.covers("G5.tenant")
async def test_an_unknown_tenant_is_denied_whatever_the_policy_says(home: Staged) -> None:
    alice = (await home.caller(user="alice")).model_copy(update={"tenant": "nowhere"})
    with pytest.raises(InvalidTicket):
        await share(home.world, alice, _share("user:alice", "agent:helper"))


async def test_a_receipt_is_no_way_around_a_policy(home: Staged) -> None:
    alice, helper = await home.caller(user="alice"), await home.caller(agent="helper")
    await share(home.world, alice, _share("user:alice", "agent:helper", "share", "read"))
    command = _share("user:alice", "agent:third")
    assert isinstance(await share(home.world, helper, command), Grant)
    await revoke(home.world, alice, _revoke("user:alice", "agent:helper"))
    with pytest.raises(AccessDenied):
        await share(home.world, helper, command)


@pytest.mark.covers("G2.passed_on")
async def test_a_grant_made_shorter_ends_what_was_passed_on_of_it_for_longer(home: Staged) -> None:
    alice, bob = await home.caller(user="alice"), await home.caller(agent="bob")
    carol, dave = await home.caller(agent="carol"), await home.caller(agent="dave")
    soon = home.clock.now() + timedelta(minutes=30)
    await share(home.world, alice, _share("user:alice", "agent:bob", "read", "share"))
    await share(home.world, bob, _share("user:alice", "agent:carol"))
    await share(home.world, bob, _share("user:alice", "agent:dave", until=soon))
    shorter = home.clock.now() + timedelta(hours=1)
    await share(
        home.world, alice, _share("user:alice", "agent:bob", "read", "share", until=shorter)
    )
    assert await _may(home, bob, "read", "user:alice")
    assert await _may(home, dave, "read", "user:alice")
    assert not await _may(home, carol, "read", "user:alice")


async def test_a_grant_given_again_or_for_longer_ends_nothing(home: Staged) -> None:
    alice, bob = await home.caller(user="alice"), await home.caller(agent="bob")
    carol = await home.caller(agent="carol")
    ends = home.clock.now() + timedelta(hours=1)
    for until in (ends, None, None):
        again = _share("user:alice", "agent:bob", "read", "share", until=until)
        await share(home.world, alice, again)
        await share(home.world, bob, _share("user:alice", "agent:carol", until=ends))
        assert await _may(home, carol, "read", "user:alice")
