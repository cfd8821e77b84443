"""What the operator does: tickets made and ended, the policy seen and replaced: with `administer`.

`agent:operator` alone reaches beyond its tenant: with its first ticket a tenant comes into being,
it makes tickets for other tenants, and it sees and replaces the policy: one is for all of them.
"""

from dataclasses import replace

from hindsight_ray.core.access import compile_access
from hindsight_ray.core.grants import staying
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.access import Revision
from hindsight_ray.domain.caller import Caller, Ticket
from hindsight_ray.domain.commands import IssueTicket, LoadPolicy, ReadPolicy, RevokeTicket
from hindsight_ray.domain.ids import checked_name
from hindsight_ray.domain.receipt import PolicyLoaded, PolicyRead, TicketRevoked
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.errors import AccessDenied
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted, admit, policy_index
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.policy_check import OPERATOR, check_policy
from hindsight_ray.service.world import World


async def admit_operator(world: World, unit: Unit, caller: Caller) -> Admitted:
    """Admit a caller who administers its tenant, inside a writing unit.

    A tenant that nobody knows yet comes into being if it is `agent:operator` who asks, whose ticket
    only the holder of the operator key can have made. Raises `InvalidTicket`, `AccessDenied`.
    """
    if caller.agent == OPERATOR:
        await unit.policy.add_tenant(caller.tenant, world.clock.now())  # undone if not admitted
    admitted = await admit(world, unit, caller)
    admitted.require("administer", GLOBAL)
    return admitted


async def issue_ticket(world: World, caller: Caller, command: IssueTicket) -> Ticket:
    """Make a ticket. Nobody but `agent:operator` makes one for another tenant, or its own kind.

    A narrowed ticket makes none that is wider.
    """
    request = command.request
    async with world.ledger.writing() as unit:
        admitted = await admit_operator(world, unit, caller)
        if caller.agent != OPERATOR:
            if request.tenant != caller.tenant:
                raise _denied(admitted, f"tickets for the tenant `{request.tenant}`")
            if request.agent == OPERATOR:
                raise _denied(admitted, "tickets of `agent:operator`")
        if not _no_wider(caller.scopes, request.scopes) or not _no_wider(
            caller.actions, request.actions
        ):
            raise _denied(admitted, "tickets wider than its own")
        if request.tenant != caller.tenant:
            await _require_elsewhere(world, unit, admitted, request.tenant)
            await unit.policy.add_tenant(request.tenant, admitted.now)
        age = (await unit.policy.standing(request.tenant, "")).age
        ticket = await world.tickets.issue(request, admitted.now, age=age)
        await _note(unit, admitted, "IssueTicket", _ticket_name(ticket.caller))
        if request.tenant != caller.tenant:
            there = replace(admitted, caller=caller.model_copy(update={"tenant": request.tenant}))
            await _note(unit, there, "IssueTicket", _ticket_name(ticket.caller))
        return ticket


async def revoke_ticket(world: World, caller: Caller, command: RevokeTicket) -> TicketRevoked:
    """End a ticket of the caller's tenant before its time. Ending it again changes nothing.

    An id does not say whose it is, so it is ended where the caller administers, and only there.
    """
    async with world.ledger.writing() as unit:
        admitted = await admit_operator(world, unit, caller)
        name = checked_name(command.ticket_id)
        revision = await unit.policy.revoke_ticket(caller.tenant, name, admitted.now)
        await _note(unit, admitted, "RevokeTicket", f"ticket:{name}")
        return TicketRevoked(ticket_id=name, revision=Revision(revision))


async def load_policy(world: World, caller: Caller, command: LoadPolicy) -> PolicyLoaded:
    """Put a csv text in force, whole or not at all: a fault keeps the last good policy.

    Grants stay as far as the new rules let their grantors give them. Raises `InvalidPolicy`.
    """
    async with world.ledger.writing() as unit:
        _require_operator(await admit_operator(world, unit, caller))
    policy = parse_policy(command.text)
    await check_policy(world.policies, policy, world.clock.now())
    async with world.ledger.writing() as unit:
        admitted = await admit_operator(world, unit, caller)
        _require_operator(admitted)
        before = await unit.policy.current()
        grants = [rule for rule in before.rules if rule.grantor is not None]
        kept = staying(policy, grants, admitted.now)
        revision = await unit.policy.replace(
            [*policy.rules, *kept], policy.memberships, admitted.now
        )
        await _note(unit, admitted, "LoadPolicy", f"policy of {len(policy.rules)} rules")
        return PolicyLoaded(
            revision=Revision(revision),
            rules=len(policy.rules),
            memberships=len(policy.memberships),
            grants=len(kept),
            grants_ended=len(grants) - len(kept),
        )


async def read_policy(
    world: World,
    caller: Caller,
    command: ReadPolicy,  # noqa: ARG001 - the signature of every verb
) -> PolicyRead:
    """The policy in force, as a text that `load_policy` takes; and beside it what people share."""
    async with world.ledger.writing() as unit:
        admitted = await admit_operator(world, unit, caller)
        _require_operator(admitted)
        policy = await unit.policy.current()
        await _note(unit, admitted, "ReadPolicy", f"policy of {len(policy.rules)} rules")
    lasting = [rule for rule in policy.rules if rule.grantor is None]
    shared = tuple(rule for rule in policy.rules if rule.grantor is not None)
    lines = [str(one) for one in (*lasting, *policy.memberships)]
    return PolicyRead(
        revision=policy.revision,
        text="".join(f"{line}\n" for line in lines),
        grants=len(shared),
        shared=shared,
    )


def _require_operator(admitted: Admitted) -> None:
    if admitted.caller.agent != OPERATOR:
        raise _denied(admitted, "the policy of all tenants")


async def _require_elsewhere(world: World, unit: Unit, admitted: Admitted, tenant: str) -> None:
    """The caller must administer the other tenant too, as the policy stands."""
    index = await policy_index(world, unit, admitted.revision)
    there = admitted.caller.model_copy(update={"tenant": tenant})
    if not compile_access(index, there, admitted.now).may("administer", GLOBAL):
        raise _denied(admitted, f"tickets for the tenant `{tenant}`")


def _denied(admitted: Admitted, what: str) -> AccessDenied:
    return AccessDenied(
        f"`administer` of `{admitted.caller.principal}` in its tenant does not reach {what}",
        action="administer",
        object=GLOBAL,
        revision=admitted.revision,
    )


def _no_wider(own: frozenset[str] | None, asked: frozenset[str] | None) -> bool:
    return own is None or (asked is not None and asked <= own)


def _ticket_name(caller: Caller) -> str:
    acting = "" if caller.acting_scope is None else f" for {caller.acting_scope}"
    return f"ticket:{caller.ticket_id} {caller.principal}{acting}"


async def _note(unit: Unit, admitted: Admitted, verb: str, name: str) -> None:
    await note_done(unit, admitted, verb=verb, action="administer", scope=GLOBAL, name=name)
