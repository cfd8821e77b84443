"""Let somebody act on a scope, and take it back. A grant is a rule that names its grantor.

Once either has returned, its revision is in force for every later call on every process.
"""

from collections.abc import Iterable

from hindsight_ray.core.grants import exchanged, may_give, over, replaced, taken_back
from hindsight_ray.core.policy_index import PolicyIndex
from hindsight_ray.core.policy_text import checked_subject
from hindsight_ray.domain.access import Revision, Rule
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Revoke, Share
from hindsight_ray.domain.receipt import Grant
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.errors import AccessDenied, InvalidInput, OverQuota
from hindsight_ray.service import once
from hindsight_ray.service.admit import Admitted, admit, policy_index
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.world import World

GRANTS_PER_SCOPE_MAX = 1_000


class _Revoked(Grant):
    """A receipt as it is kept: with whether it was `administer` that let it be asked for."""

    anyones: bool = False


async def share(world: World, caller: Caller, command: Share) -> Grant:
    """Give `to` the actions on the scope. Raises `AccessDenied`, `InvalidInput`, `OverQuota`.

    The caller's own principal must hold `share` and each action there, as long as it gives them.
    What it had given before is replaced, and whatever was passed on of that and is now more than
    its giver holds ends. What is over on the scope is cleared away, and counts no more.
    """
    checked_subject(command.to)
    if not command.actions:
        raise InvalidInput("`actions` is empty; name what may be done", field="actions")
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("share", command.scope)
        _require_held(admitted, command)
        before = await once.replayed(unit, caller, command.command_id, command, Grant)
        if before is not None:
            return before
        admitted.require_ahead("until", command.until)
        index = await policy_index(world, unit, admitted.revision)
        added = _rules(admitted, command)
        grants = index.grants_on(caller.tenant, command.scope)
        outdated = replaced(grants, added)
        if outdated:  # others may have rested on that
            outdated, added = exchanged(
                index, outdated, caller.tenant, command.scope, admitted.now, coming=added
            )
        gone = {**outdated, **over(grants, admitted.now)}
        _check_number(len(grants) - len(gone) + len(added), command.scope)
        revision = await unit.policy.change(gone, added, admitted.now)
        grant = _grant(command.command_id, revision, _said(added))
        await note_done(
            unit, admitted, verb="Share", action="share", scope=command.scope,
            name=_name(command, added),
        )  # fmt: skip
        await once.keep(unit, caller, command.command_id, command, grant)
        return grant


async def revoke(world: World, caller: Caller, command: Revoke) -> Grant:
    """Take back grants on the scope, and what was given on in their name.

    With `share` there: one's own grants. With `administer`: whoever's; who has it no more is not
    told again what it ended. `rules` of the answer are those that ended; where there were none,
    nothing changed.
    """
    checked_subject(command.to)
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        anyones = admitted.access.may("administer", GLOBAL)
        if not anyones:
            admitted.require("share", command.scope)
        before = await once.replayed(unit, caller, command.command_id, command, _Revoked)
        if before is not None:
            if before.anyones:
                admitted.require("administer", GLOBAL)
            return _grant(before.command_id, before.revision, before.rules)
        index = await policy_index(world, unit, admitted.revision)
        named = _named(index, caller, command, anyones=anyones)
        ended, revision = (), admitted.revision
        if named:
            places = taken_back(index, named, caller.tenant, command.scope, admitted.now)
            revision = await unit.policy.change(places, (), admitted.now)
            ended = tuple(places.values())
        grant = _grant(command.command_id, revision, _said(ended))
        await note_done(
            unit, admitted, verb="Revoke", action="administer" if anyones else "share",
            scope=GLOBAL if anyones else command.scope, name=_name(command, ended),
        )  # fmt: skip
        kept = _Revoked.model_validate({**dict(grant), "anyones": anyones})
        await once.keep(unit, caller, command.command_id, command, kept)
        return grant


def _require_held(admitted: Admitted, command: Share) -> None:
    for action in command.actions:
        if not may_give(admitted.access, action, command.scope, command.until):
            until = "" if command.until is None else f" until {command.until.isoformat()}"
            raise AccessDenied(
                f"`{action}` on `{command.scope}`{until} is more than"
                f" `{admitted.caller.principal}` itself holds there, so it cannot be shared",
                action=action,
                object=command.scope,
                revision=admitted.revision,
            )


def _rules(admitted: Admitted, command: Share) -> tuple[Rule, ...]:
    caller = admitted.caller
    return tuple(
        Rule(
            subject=command.to,
            tenant=caller.tenant,
            object=command.scope,
            action=action,
            effect="allow",
            until=command.until,
            grantor=caller.principal,
        )
        for action in dict.fromkeys(command.actions)
    )


def _named(
    index: PolicyIndex, caller: Caller, command: Revoke, *, anyones: bool
) -> dict[int, Rule]:
    """The grants that the command means and its caller may end, by their places."""
    return {
        place: rule
        for place, rule in index.grants_on(caller.tenant, command.scope)
        if (anyones or rule.grantor == caller.principal)
        and rule.subject == command.to
        and (command.actions is None or rule.action in command.actions)
    }


def _check_number(number: int, scope: str) -> None:
    if number > GRANTS_PER_SCOPE_MAX:
        raise OverQuota(
            f"`{scope}` would have {number} grants; at most {GRANTS_PER_SCOPE_MAX} are kept."
            " Share with a role, or revoke some",
            object=scope,
        )


def _grant(command_id: str, revision: int, rules: tuple[str, ...]) -> Grant:
    return Grant.model_validate(
        {"command_id": command_id, "revision": Revision(revision), "rules": rules}
    )


def _said(rules: Iterable[Rule]) -> tuple[str, ...]:
    return tuple(str(rule) for rule in rules)


def _name(command: Share | Revoke, rules: tuple[Rule, ...]) -> str:
    actions = ",".join(sorted({rule.action for rule in rules}))
    return f"{command.scope} {actions} {command.to}"
