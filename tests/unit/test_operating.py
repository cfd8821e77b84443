"""What the operator does, and what nobody else may: tickets, tenants, the policy."""

import uuid
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.caller import Caller, Ticket, TicketRequest
from hindsight_ray.domain.commands import (
    DropTenant,
    IssueTicket,
    LoadPolicy,
    ReadAudit,
    RevokeTicket,
    Share,
    WhoAmI,
    Write,
)
from hindsight_ray.errors import AccessDenied, InvalidInput, InvalidPolicy, InvalidTicket
from hindsight_ray.service.admit import admit
from hindsight_ray.service.audit import audit
from hindsight_ray.service.operate import issue_ticket, load_policy, revoke_ticket
from hindsight_ray.service.share import share
from hindsight_ray.service.tenants import drop_tenant
from hindsight_ray.service.write import write
from tests.unit.test_reviewing import Team, stumble
from tests.worlds import Staged, world

DEFAULT = shipped_text("default.csv")
BOSS = (
    "p, role:boss, acme, global, administer, allow\n"
    "p, role:boss, acme, global, audit, allow\n"
    "g, agent:boss, role:boss, acme\n"
)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path, policy=DEFAULT + BOSS) as staged:
        yield staged


async def _self_signed(home: Staged, *, age: int | None = 0, **fields: object) -> Caller:
    """A caller whose ticket the operator key signed, of a tenant that may be unknown."""
    request = TicketRequest.model_validate({"tenant": "acme", **fields})
    ticket = await home.world.tickets.issue(request, home.clock.now(), age=age)
    return ticket.caller


async def _issue(home: Staged, caller: Caller, **fields: object) -> Ticket:
    request = TicketRequest.model_validate({"tenant": "acme", "agent": "planner", **fields})
    return await issue_ticket(home.world, caller, IssueTicket(request=request))


async def _tenants(home: Staged) -> set[str]:
    async with home.world.ledger.reading() as unit:
        return set(await unit.policy.tenants())


async def _may(home: Staged, caller: Caller, action: Action, scope: str) -> bool:
    async with home.world.ledger.reading() as unit:
        return (await admit(home.world, unit, caller)).access.may(action, scope)


async def test_a_tenant_is_born_with_its_operators_first_ticket(home: Staged) -> None:
    operator = await _self_signed(home, tenant="newcorp", agent="operator")
    assert "newcorp" not in await _tenants(home)
    ticket = await _issue(home, operator, tenant="newcorp", user="nina")
    assert await _tenants(home) == {"newcorp"}
    assert await home.world.tickets.verify(ticket.token, home.clock.now()) == ticket.caller
    assert await _may(home, ticket.caller, "read", "user:nina")


@pytest.mark.covers("G5.tenant")
async def test_nobody_else_brings_a_tenant_into_being(home: Staged) -> None:
    for fields in ({"agent": "planner"}, {"user": "operator"}, {"agent": "boss"}):
        caller = await _self_signed(home, tenant="newcorp", **fields)
        with pytest.raises(InvalidTicket):
            await _issue(home, caller, tenant="newcorp")
    assert await _tenants(home) == set()


async def test_an_operator_that_is_refused_leaves_no_tenant_behind(home: Staged) -> None:
    narrow = await _self_signed(
        home, tenant="newcorp", agent="operator", actions=frozenset({"read"})
    )
    with pytest.raises(AccessDenied):
        await _issue(home, narrow, tenant="newcorp")
    old = await _self_signed(home, tenant="newcorp", agent="operator", lifetime_s=60)
    home.clock.advance(seconds=60)
    with pytest.raises(InvalidTicket):
        await _issue(home, old, tenant="newcorp")
    assert await _tenants(home) == set()


async def test_the_operator_makes_tickets_for_other_tenants(home: Staged) -> None:
    operator = await home.caller(agent="operator")
    ticket = await _issue(home, operator, tenant="globex", agent="helper")
    assert ticket.caller.tenant == "globex"
    assert "globex" in await _tenants(home)
    there = await home.caller(agent="operator", tenant="globex")
    newest = (await audit(home.world, there, ReadAudit(limit=1)))[0]
    assert newest.object == f"ticket:{ticket.caller.ticket_id} agent:helper"


async def test_an_operator_denied_in_a_tenant_makes_no_tickets_for_it(tmp_path: Path) -> None:
    text = DEFAULT + "p, agent:operator, globex, global, administer, deny\n"
    async with world(tmp_path, policy=text) as home:
        operator = await home.caller(agent="operator")
        with pytest.raises(AccessDenied):
            await _issue(home, operator, tenant="globex")
        assert await _tenants(home) == {"acme"}


@pytest.mark.covers("G1.tenants")
async def test_who_administers_one_tenant_makes_tickets_for_it_alone(home: Staged) -> None:
    boss = await home.caller(agent="boss")
    assert (await _issue(home, boss, user="alice")).caller.user == "alice"
    with pytest.raises(AccessDenied):
        await _issue(home, boss, tenant="globex")
    with pytest.raises(AccessDenied):
        await _issue(home, boss, agent="operator")


async def test_without_administer_no_ticket_is_made(home: Staged) -> None:
    for fields in (
        {"agent": "planner", "user": "alice"},
        {"user": "alice"},
        {"agent": "curator"},
        {"agent": "reviewer"},
        {"agent": "planner", "user": "boss"},
    ):
        with pytest.raises(AccessDenied):
            await _issue(home, await home.caller(**fields))


async def test_administering_is_not_borrowed_by_acting(home: Staged) -> None:
    operator = await home.caller(agent="operator")
    for action in ("administer", "share"):
        command = Share.model_validate(
            {
                "command_id": uuid.uuid4().hex,
                "scope": "global",
                "to": "user:root",
                "actions": (action,),
            }
        )
        await share(home.world, operator, command)
    await _issue(home, await home.caller(user="root"))
    with pytest.raises(AccessDenied):
        await _issue(home, await home.caller(agent="planner", user="root"))


async def test_a_narrowed_ticket_makes_none_that_is_wider(home: Staged) -> None:
    narrow = await home.caller(
        agent="operator",
        scopes=frozenset({"global", "user:alice"}),
        actions=frozenset({"administer", "read"}),
    )
    for fields in (
        {},
        {"scopes": frozenset({"global"})},
        {"scopes": frozenset({"global", "user:bob"}), "actions": frozenset({"read"})},
        {"scopes": frozenset({"global"}), "actions": frozenset({"read", "write"})},
    ):
        with pytest.raises(AccessDenied):
            await _issue(home, narrow, **fields)
    within = {"scopes": frozenset({"user:alice"}), "actions": frozenset({"read"})}
    assert (await _issue(home, narrow, **within)).caller.scopes == {"user:alice"}


async def test_a_lifetime_that_is_too_long_is_refused(home: Staged) -> None:
    operator = await home.caller(agent="operator")
    with pytest.raises(InvalidInput):
        await _issue(home, operator, lifetime_s=10**9)


@pytest.mark.covers("G2.ticket")
async def test_a_revoked_ticket_is_refused_by_the_next_call(home: Staged) -> None:
    operator = await home.caller(agent="operator")
    ticket = await _issue(home, operator)
    other = await _issue(home, operator)
    assert await _may(home, ticket.caller, "read", "global")
    ended = await revoke_ticket(
        home.world, operator, RevokeTicket(ticket_id=ticket.caller.ticket_id)
    )
    with pytest.raises(InvalidTicket):
        await _may(home, ticket.caller, "read", "global")
    assert await _may(home, other.caller, "read", "global")
    again = await revoke_ticket(
        home.world, operator, RevokeTicket(ticket_id=ticket.caller.ticket_id)
    )
    assert again.revision == ended.revision


async def test_a_revoked_operator_ticket_does_nothing_more(home: Staged) -> None:
    operator = await home.caller(agent="operator")
    await revoke_ticket(home.world, operator, RevokeTicket(ticket_id=operator.ticket_id))
    for attempt in (
        issue_ticket(
            home.world, operator, IssueTicket(request=TicketRequest(tenant="acme", user="u"))
        ),
        load_policy(home.world, operator, LoadPolicy(text=DEFAULT)),
    ):
        with pytest.raises(InvalidTicket):
            await attempt


async def test_revoking_a_ticket_needs_administer(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    with pytest.raises(AccessDenied):
        await revoke_ticket(home.world, planner, RevokeTicket(ticket_id="0" * 32))


async def test_a_loaded_policy_is_in_force_when_the_call_returns(home: Staged) -> None:
    operator, sam = await home.caller(agent="operator"), await home.caller(user="sam")
    assert not await _may(home, sam, "read", "user:alice")
    rows = "p, role:support, acme, user:*, read, allow\ng, user:sam, role:support, acme\n"
    loaded = await load_policy(home.world, operator, LoadPolicy(text=DEFAULT + rows))
    assert await _may(home, sam, "read", "user:alice")
    async with home.world.ledger.reading() as unit:
        policy = await unit.policy.current()
    assert (policy.revision, len(policy.rules)) == (loaded.revision, loaded.rules)


@pytest.mark.covers("G5.reload")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        DEFAULT + "p, role:x, *, global, read, alow\n",
        "\ufeff" + DEFAULT,
        "p, role:agent, *, global, read, allow\n",
        DEFAULT + "p, agent:operator, *, global, administer, deny\n",
        DEFAULT.replace("g, agent:operator, role:operator, *", ""),
    ],
    ids=["empty", "comment", "effect", "bom", "no operator", "operator denied", "no member"],
)
async def test_a_refused_policy_leaves_the_last_good_one_in_force(home: Staged, text: str) -> None:
    operator = await home.caller(agent="operator")
    async with home.world.ledger.reading() as unit:
        before = await unit.policy.current()
    with pytest.raises(InvalidPolicy):
        await load_policy(home.world, operator, LoadPolicy(text=text))
    async with home.world.ledger.reading() as unit:
        assert await unit.policy.current() == before
    assert await _may(home, operator, "administer", "global")


async def test_the_policy_of_all_tenants_is_replaced_by_the_operator_alone(home: Staged) -> None:
    for fields in ({"agent": "boss"}, {"agent": "planner"}, {"user": "operator"}):
        with pytest.raises(AccessDenied):
            await load_policy(home.world, await home.caller(**fields), LoadPolicy(text=DEFAULT))


async def test_who_may_not_load_learns_nothing_of_the_texts_faults(home: Staged) -> None:
    planner = await home.caller(agent="planner")
    with pytest.raises(AccessDenied):
        await load_policy(home.world, planner, LoadPolicy(text="\ufeffnonsense"))


async def test_grants_outlive_a_load_unless_their_grantor_may_give_them_no_longer(
    home: Staged,
) -> None:
    operator, alice = await home.caller(agent="operator"), await home.caller(user="alice")
    command = Share.model_validate(
        {"command_id": "c1", "scope": "user:alice", "to": "agent:helper"}
    )
    await share(home.world, alice, command)
    helper = await home.caller(agent="helper")
    loaded = await load_policy(home.world, operator, LoadPolicy(text=DEFAULT))
    assert (loaded.grants, loaded.grants_ended) == (1, 0)
    assert await _may(home, helper, "read", "user:alice")
    denied = DEFAULT + "p, user:alice, acme, user:alice, share, deny\n"
    loaded = await load_policy(home.world, operator, LoadPolicy(text=denied))
    assert (loaded.grants, loaded.grants_ended) == (0, 1)
    assert not await _may(home, helper, "read", "user:alice")


@pytest.mark.covers("G2.tickets_by_tenant")
async def test_who_administers_one_tenant_ends_no_ticket_of_another(home: Staged) -> None:
    boss, there = await home.caller(agent="boss"), await home.caller(tenant="globex", user="gina")
    await revoke_ticket(home.world, boss, RevokeTicket(ticket_id=there.ticket_id))
    assert await _may(home, there, "read", "user:gina")
    operator = await home.caller(tenant="globex", agent="operator")
    await revoke_ticket(home.world, operator, RevokeTicket(ticket_id=there.ticket_id))
    with pytest.raises(InvalidTicket):
        await _may(home, there, "read", "user:gina")


@pytest.mark.covers("G1.tenants", "G2.dropped")
@pytest.mark.parametrize("wrote", [True, False])
async def test_a_ticket_of_a_dropped_tenant_is_none_of_the_next_of_that_name(
    home: Staged, wrote: bool
) -> None:
    operator = await _self_signed(home, agent="operator", age=None)
    tickets = [await _issue(home, operator, user="alice"), await _issue(home, operator)]
    if wrote:
        await write(home.world, tickets[0].caller, Write(command_id="w", content="It is in Lima"))
    for _ in range(2):
        await drop_tenant(home.world, operator, DropTenant(tenant="acme"))
        new = await _issue(home, operator, user="alice")
        assert await _may(home, new.caller, "read", "user:alice")
        for old in tickets:
            caller = await home.world.tickets.verify(old.token, home.clock.now())
            with pytest.raises(InvalidTicket):
                await _may(home, caller, "read", "user:alice")
            with pytest.raises(InvalidTicket):
                await home.ask(old.token, WhoAmI())
        tickets.append(new)


async def test_a_review_in_a_tenant_that_came_after_a_dropped_one_is_made(home: Staged) -> None:
    operator = await _self_signed(home, agent="operator", age=None)
    await _issue(home, operator)
    await drop_tenant(home.world, operator, DropTenant(tenant="acme"))
    team = await Team.start(home, "planner")
    stumble(team.story)
    await team.end()
    assert (await team.reviewed()).stored
