"""Who takes part in a run: what every verb of a participant asks first."""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.run import Participant, Run
from hindsight_ray.errors import AccessDenied, RunClosed
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.trajectory import readable_run


async def joined(unit: Unit, admitted: Admitted, run_id: str) -> Run:
    """The run if the caller takes part in it and may write its scope.

    Raises `AccessDenied`, which says what is missing, for who may be shown the run all the same,
    `NotFound` for anybody else.
    """
    found = await unit.runs.get(admitted.caller.tenant, run_id)
    if found is not None and is_joined(found, admitted):
        return found
    run = await readable_run(unit, admitted, run_id)
    admitted.require("write", run.scope)
    missing = "it has ended" if run.closed_at is not None else "join it first"
    raise AccessDenied(
        f"`{admitted.caller.principal}` takes no part in `run` {run_id!r}; {missing}",
        action="write",
        object=run.scope,
        revision=admitted.revision,
    )


def is_joined(run: Run, admitted: Admitted) -> bool:
    """Whether the caller takes part in the run and may write its scope now."""
    return admitted.access.may("write", run.scope) and takes_part(run, admitted.caller)


def takes_part(run: Run, caller: Caller) -> bool:
    """Whether this caller, with the user it acts for, has entered the run."""
    return participant(caller) in run.participants and not run.imported


def closed(run: Run) -> RunClosed:
    """The refusal that a run which has ended gives to its participants."""
    return RunClosed(f"`run` {run.run_id!r} has ended; start another", run_id=run.run_id)


def participant(caller: Caller) -> Participant:
    """The caller as a participant, with the user it acts for."""
    return Participant(agent=caller.agent, user=caller.user)
