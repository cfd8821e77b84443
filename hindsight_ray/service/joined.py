"""Who takes part in a run: what every verb of a participant asks first."""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.run import Participant, Run
from hindsight_ray.errors import RunClosed
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted, absent


async def joined(unit: Unit, admitted: Admitted, run_id: str) -> Run:
    """The run if the caller takes part in it and may write its scope, else `NotFound`."""
    return as_joined(await unit.runs.get(admitted.caller.tenant, run_id), admitted, run_id)


def as_joined(found: Run | None, admitted: Admitted, run_id: str) -> Run:
    """The same of a run that has been read already, if it was there."""
    if found is None or not admitted.access.may("write", found.scope):
        raise absent("run", run_id)
    if not takes_part(found, admitted.caller):
        raise absent("run", run_id)
    return found


def takes_part(run: Run, caller: Caller) -> bool:
    """Whether this caller, with the user it acts for, has entered the run."""
    return participant(caller) in run.participants and not run.imported


def closed(run: Run) -> RunClosed:
    """The refusal that a run which has ended gives to its participants."""
    return RunClosed(f"`run` {run.run_id!r} has ended; start another", run_id=run.run_id)


def participant(caller: Caller) -> Participant:
    """The caller as a participant, with the user it acts for."""
    return Participant(agent=caller.agent, user=caller.user)
