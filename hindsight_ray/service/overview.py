"""Who can see a scope, and what can a caller see: for those who hold `audit`. Whoever shares their
own scope is told who can see that.

Both are decided by the policy at one revision. The lists are made outside any transaction: nobody
waits for them who would write.
"""

from hindsight_ray.core.access import compile_access
from hindsight_ray.core.audience import scopes_of
from hindsight_ray.core.policy_callers import caller_of, spoken
from hindsight_ray.core.policy_overview import LISTED_MAX, held, holders
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Seer, SeersAnswer, Sees, SeesAnswer, WhoSees
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.service.admit import Admitted, admit, policy_index
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.world import World


async def who_sees(world: World, caller: Caller, command: WhoSees) -> SeersAnswer:
    """Raises `AccessDenied` without `audit` on the scope, or `share` on one's own."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        _right(admitted, command.scope)
        index = await policy_index(world, unit, admitted.revision)
    found, complete = holders(index, caller.tenant, command.scope, command.action, admitted.now)
    async with world.ledger.writing() as unit:
        still = await admit(world, unit, caller)
        await note_done(
            unit, still, verb="WhoSees", action=_right(still, command.scope), scope=command.scope,
            name=f"{command.scope} {command.action}",
        )  # fmt: skip
    return SeersAnswer(
        scope=command.scope,
        action=command.action,
        seers=tuple(
            Seer(
                who=one.who,
                but_not=one.but_not,
                rule=one.decision.rule,
                role_path=one.decision.role_path,
                until=None if one.rule is None else one.rule.until,
                grantor=None if one.rule is None else one.rule.grantor,
            )
            for one in found
        ),
        complete=complete,
        revision=admitted.revision,
    )


def _right(admitted: Admitted, scope: str) -> Action:
    """By which right the caller may know who sees the scope. Raises `AccessDenied`."""
    own = scope == admitted.caller.principal and admitted.access.may("share", scope)
    if own and not admitted.access.may("audit", scope):
        return "share"
    admitted.require("audit", scope)
    return "audit"


async def sees(world: World, caller: Caller, command: Sees) -> SeesAnswer:
    """Raises `AccessDenied` without `audit` on `global`. Without names it is about the asker."""
    about = caller
    if command.agent is not None or command.user is not None:
        about = caller_of(caller.tenant, agent=command.agent, user=command.user)
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("audit", GLOBAL)
        index = await policy_index(world, unit, admitted.revision)
        catalogue = await unit.keys.all(caller.tenant)
    recorded = sorted({scope for filed in catalogue.values() for scope in scopes_of(filed)})
    scopes, complete = held(index, about, recorded[: 10 * LISTED_MAX], admitted.now)
    access = compile_access(index, about, admitted.now)
    async with world.ledger.writing() as unit:
        still = await admit(world, unit, caller)
        still.require("audit", GLOBAL)
        await note_done(
            unit, still, verb="Sees", action="audit", scope=GLOBAL,
            name=spoken(about.agent, about.user),
        )  # fmt: skip
    return SeesAnswer(
        who=spoken(about.agent, about.user),
        scopes=scopes,
        denied_labels=tuple(sorted(access.denied_labels)),
        reads_everything=access.reads_everything,
        complete=complete and len(recorded) <= 10 * LISTED_MAX,
        revision=admitted.revision,
    )
