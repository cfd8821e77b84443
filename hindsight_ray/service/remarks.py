"""Text that stands beside a record and that no label follows: may its author say it here?

Why something was decided, whose judgement an outcome is, what credit rests on: whoever is shown the
record reads them too. So whoever was shown, in a run that is open, what these readers may not all
read leaves such a text out, or ends the run first.
"""

from hindsight_ray.domain.access import Action
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import Offered
from hindsight_ray.domain.run import Run
from hindsight_ray.errors import AccessDenied
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.offered import inherited
from hindsight_ray.service.seen import reads_run
from hindsight_ray.service.trajectory import said_in


async def refuse_beside_memory(unit: Unit, admitted: Admitted, memory: Memory, field: str) -> None:
    """Raise `AccessDenied` if the caller was shown what this memory's readers may not read."""
    shown = await inherited(unit, admitted, None)
    readers = Offered(frozenset(memory.audience), frozenset(memory.labels))
    if not _within(shown, readers):
        raise _refusal(admitted, field, "review", memory.scope)


async def refuse_beside_run(
    unit: Unit, admitted: Admitted, run: Run, field: str, action: Action
) -> None:
    """The same of a run, whose readers read whatever its participants may say in it.

    The caller's own scope is left out, as in the goal of a run. Whoever may not be shown the run
    learns nothing of its readers either: theirs is measured by what they know of it.
    """
    caller = admitted.caller
    shown = await inherited(unit, admitted, None)
    if shown == Offered():
        return
    known = await unit.runs.offered(run.tenant, run.run_id, caller.recorded_as)
    audience, labels = known.audience | {run.scope, caller.principal}, known.labels
    if await reads_run(unit, admitted, run):
        scopes, borne = await said_in(unit, run)
        audience, labels = audience | scopes, labels | borne
    if not _within(shown, Offered(audience, labels)):
        raise _refusal(admitted, field, action, run.scope)


def _within(shown: Offered, readers: Offered) -> bool:
    return shown.audience <= readers.audience and shown.labels <= readers.labels


def _refusal(admitted: Admitted, field: str, action: Action, scope: str) -> AccessDenied:
    return AccessDenied(
        f"`{field}` would be read by others than what `{admitted.caller.principal}` was shown in a"
        " run that is open; leave it out, or end the run",
        action=action,
        object=scope,
        revision=admitted.revision,
    )
