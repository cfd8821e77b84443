"""Import logs: record runs that happened elsewhere, as the operator, who vouches for them or not.

Each run is written in one transaction of its own, closed, with its reward as an outcome and its
remarks as annotations. Its id follows from its content, so importing again adds nothing, and an
import that was interrupted goes on where it stopped. Names of agents in a log are labels.
"""

from dataclasses import replace

from hindsight_ray.core.cleaning import clean_event, masked
from hindsight_ray.core.logs.formats import PARSERS
from hindsight_ray.core.logs.shape import LogRun, Recorded, recorded, run_uuid
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import ImportReport, ImportRuns, Refused
from hindsight_ray.domain.privacy import Privacy
from hindsight_ray.domain.run import Outcome
from hindsight_ray.errors import EventConflict, InvalidInput
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.outcome import outcome_id
from hindsight_ray.service.privacy import privacy_of
from hindsight_ray.service.world import World

_EVALUATOR = "log"
_BATCH = 1_000


async def load_logs(world: World, caller: Caller, command: ImportRuns) -> ImportReport:
    """Record every run of the file. Needs `administer`; a broken file raises `InvalidImport`."""
    async with world.ledger.reading() as unit:
        (await admit(world, unit, caller)).require("administer", "global")
    parsed = PARSERS[command.format](command.text)
    refused = [Refused(position=at, reason=reason) for at, reason in parsed.refused]
    runs = events = repeated = untimed = 0
    for position, log in parsed.runs:
        try:
            stored = await _load_one(world, caller, command, log)
        except (InvalidInput, EventConflict) as error:
            refused.append(Refused(position=position, reason=error.message))
            continue
        if stored is None:
            repeated += 1
            continue
        runs += 1
        events += len(stored.events)
        untimed += not stored.run.timed
    refused.sort(key=lambda one: one.position)
    return ImportReport(
        runs=runs, events=events, repeated=repeated, refused=tuple(refused), untimed=untimed
    )


async def _load_one(
    world: World, caller: Caller, command: ImportRuns, log: LogRun
) -> Recorded | None:
    """What was stored, or None if the run was there before."""
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("administer", "global")
        name = run_uuid(log, caller.tenant, command.scope)
        if await unit.runs.get(caller.tenant, name) is not None:
            return None
        made = recorded(
            log,
            tenant=caller.tenant,
            scope=command.scope,
            vouched_by=caller.principal if command.trusted else None,
            now=admitted.now,
        )
        made = _clean(made, await privacy_of(world, caller.tenant))
        await _store(unit, made)
        if log.reward is not None:
            scored = _outcome(admitted, made, log.reward)
            await unit.outcomes.put(caller.tenant, scored, owner=caller.receipt_owner)
        await note_done(
            unit,
            admitted,
            verb="ImportRuns",
            action="administer",
            scope="global",
            name=made.run.run_id,
        )
        return made


def _clean(made: Recorded, privacy: Privacy) -> Recorded:
    """The run, its events and remarks without what the tenant does not keep."""
    return replace(
        made,
        run=masked(made.run, privacy)[0],
        events=tuple(clean_event(event, privacy) for event in made.events),
        annotations=tuple(masked(one, privacy)[0] for one in made.annotations),
    )


async def _store(unit: Unit, made: Recorded) -> None:
    run = made.run
    await unit.runs.create(run)
    for start in range(0, len(made.events), _BATCH):
        await unit.runs.append(run.tenant, run.run_id, made.events[start : start + _BATCH])
    for annotation in made.annotations:
        await unit.runs.annotate(run.tenant, annotation)


def _outcome(admitted: Admitted, made: Recorded, reward: float) -> Outcome:
    run = made.run
    return Outcome(
        outcome_id=outcome_id(run, admitted.caller),
        run_id=run.run_id,
        value=reward,
        success=reward > 0,
        evaluator=_EVALUATOR,
        by=admitted.caller.principal,
        participant=False,
        evaluates=admitted.access.may("evaluate", run.scope),
        at=admitted.now,
    )
