"""Recording: a batch of an agent's own events, made durable or refused whole."""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import RecordEvents
from hindsight_ray.domain.run import RecordAck, Run
from hindsight_ray.errors import AccessDenied, InvalidInput
from hindsight_ray.ports import Unit
from hindsight_ray.service import review_due
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.joined import closed, joined
from hindsight_ray.service.world import World

MISSING_MAX = 1_000_000_000  # numbers in a row: more than any buffer could have let go of


async def record(world: World, caller: Caller, command: RecordEvents) -> RecordAck:
    """Append the events; the answer is the acknowledgement that they are durable.

    The caller must take part in the run and may speak only for itself. Events that are there
    already are counted as repeated, also after the run has ended: a lost answer may be asked for
    again at any time. Raises `EventConflict` for an id or number with other content, `RunClosed`
    for new events of a run that has ended, `InvalidInput` for a number so far ahead that what is
    missing before it cannot be meant, and adds nothing then.
    """
    _own_only(caller, command)
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        run = await joined(unit, admitted, command.run_id)
        if run.closed_at is not None:
            return await _repeated(unit, admitted, run, command)
        appended = await unit.runs.append(run.tenant, run.run_id, command.events)
        ack = await _ack(unit, admitted, run, appended.stored, appended.repeated)
    if ack.stored:
        review_due.after_record(world, run, command.events)
    return ack


def _own_only(caller: Caller, command: RecordEvents) -> None:
    for event in command.events:
        if event.agent != caller.recorded_as:
            raise AccessDenied(
                f"`event` {event.event_id!r} speaks for `{event.agent}`;"
                f" `{caller.recorded_as}` records its own events only",
                action="write",
                object=f"agent:{event.agent}",
            )
        if event.run_id != command.run_id:
            raise InvalidInput(
                f"`event` {event.event_id!r} belongs to run {event.run_id!r}, not"
                f" {command.run_id!r}",
                field="run_id",
            )


async def _repeated(unit: Unit, admitted: Admitted, run: Run, command: RecordEvents) -> RecordAck:
    kept = {event.event_id: event for event in await unit.runs.events(run.tenant, run.run_id)}
    if any(kept.get(event.event_id) != event for event in command.events):
        raise closed(run)
    return await _ack(unit, admitted, run, 0, len(command.events))


async def _ack(unit: Unit, admitted: Admitted, run: Run, stored: int, repeated: int) -> RecordAck:
    own = admitted.caller.recorded_as  # what others lack is not for this caller to know
    gaps = await unit.runs.gaps(run.tenant, run.run_id, agent=own)
    for gap in gaps:
        if gap.last - gap.first >= MISSING_MAX:
            raise InvalidInput(
                f"`seq` {gap.last + 1} comes after {gap.first - 1}, and at most {MISSING_MAX:,}"
                " numbers in a row may be missing; number events one by one",
                field="seq",
            )
    return RecordAck(stored=stored, repeated=repeated, gaps=tuple(gaps))
