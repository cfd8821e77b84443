"""Outcomes: a run's score by whoever may judge it, revisable by whoever asserted it.

That is a principal together with the user it acts for: one agent's users share no score.
"""

from hindsight_ray.core.digest import derived_uuid
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import AssertOutcome
from hindsight_ray.domain.run import Outcome, Run
from hindsight_ray.errors import AccessDenied
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted, absent, admit
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.remarks import refuse_beside_run
from hindsight_ray.service.runs import takes_part
from hindsight_ray.service.trajectory import (
    outcomes_of,
    permitted_run,
    principals_of,
    readable_run,
)
from hindsight_ray.service.world import World

_NO_NAME = AssertOutcome.model_fields["evaluator"].default


async def outcome(world: World, caller: Caller, command: AssertOutcome) -> Outcome:
    """Score a run: participants with `write` on its scope, outsiders with `evaluate` on it.

    A participant is an agent with the user it acts for; for another user it is neither of both.
    Raises `NotFound` without the right, for who may read the run `AccessDenied`.

    Asserting the same again changes nothing; asserting another score revises one's own.
    """
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        run, action = await _judged(unit, admitted, command.run_id)
        before = await _own(unit, run, caller)
        asserted = _asserted(admitted, run, command, before)
        if before is not None and asserted == _at_revision_of(before, asserted):
            return before
        if command.evaluator != _NO_NAME:
            await refuse_beside_run(unit, admitted, run, "evaluator", action)
        await unit.outcomes.put(run.tenant, asserted, owner=caller.receipt_owner)
        await note_done(
            unit, admitted, verb="AssertOutcome", action=action, scope=run.scope, name=run.run_id
        )
        return asserted


def took_part(run: Run, caller: Caller) -> bool:
    """Whether the caller's own principal is a participant, whomever it acted for."""
    return caller.principal in principals_of(run)


def outcome_id(run: Run, caller: Caller) -> str:
    """The id of the one outcome that this caller, with the user it acts for, has of a run."""
    return derived_uuid("outcome", run.tenant, run.run_id, caller.receipt_owner)


async def _judged(unit: Unit, admitted: Admitted, run_id: str) -> tuple[Run, Action]:
    run = await unit.runs.get(admitted.caller.tenant, run_id)
    if run is None:
        raise absent("run", run_id)
    inside = takes_part(run, admitted.caller)
    action: Action = "write" if inside else "evaluate"
    if not inside and took_part(run, admitted.caller):
        await readable_run(unit, admitted, run_id)
        raise AccessDenied(
            f"`{admitted.caller.principal}` took part in `run` {run_id!r} for another user, and"
            " scores it for nobody else",
            action=action,
            object=run.scope,
            revision=admitted.revision,
        )
    return await permitted_run(unit, admitted, run_id, action), action


async def _own(unit: Unit, run: Run, caller: Caller) -> Outcome | None:
    name = outcome_id(run, caller)
    every = await outcomes_of(unit, run)
    return next((one for one in every if one.outcome_id == name), None)


def _asserted(
    admitted: Admitted, run: Run, command: AssertOutcome, before: Outcome | None
) -> Outcome:
    caller = admitted.caller
    return Outcome(
        outcome_id=outcome_id(run, caller),
        run_id=run.run_id,
        value=command.value,
        success=command.value > 0 if command.success is None else command.success,
        evaluator=command.evaluator,
        by=caller.principal,
        participant=took_part(run, caller),
        evaluates=admitted.access.may("evaluate", run.scope),
        at=admitted.now,
        revision=before.revision + 1 if before is not None else 1,
    )


def _at_revision_of(before: Outcome, asserted: Outcome) -> Outcome:
    return before.model_copy(update={"at": asserted.at, "revision": asserted.revision})
