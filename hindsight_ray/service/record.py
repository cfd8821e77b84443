"""Recording: a batch of an agent's own events, made durable or refused whole."""

from collections.abc import Sequence
from functools import partial

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import RecordEvents
from hindsight_ray.domain.event import SequenceGap
from hindsight_ray.domain.run import RecordAck, Run
from hindsight_ray.errors import AccessDenied, InvalidInput
from hindsight_ray.ports import Batch, Unit
from hindsight_ray.ports.watching import spent_on
from hindsight_ray.service import review_due
from hindsight_ray.service.admit import Admitted, admit, admit_all
from hindsight_ray.service.joined import closed, is_joined, joined
from hindsight_ray.service.world import World

Sent = tuple[Caller, RecordEvents]
Recorded = tuple[Run, RecordAck]
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
    done: Recorded | None = None
    if world.recording is not None:
        with spent_on("ledger"):
            done = await world.recording.done((caller, command), partial(_together, world))
    run, ack = done or await _alone(world, caller, command)
    if ack.stored:
        review_due.after_record(world, run, command.events)
    return ack


async def _alone(world: World, caller: Caller, command: RecordEvents) -> Recorded:
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        run = await joined(unit, admitted, command.run_id)
        if run.closed_at is not None:
            return run, await _repeated(unit, admitted, run, command)
        appended = await unit.runs.append(run.tenant, run.run_id, command.events)
        return run, await _ack(unit, admitted, run, appended.stored, appended.repeated)


async def _together(world: World, sent: Sequence[Sent]) -> Sequence[Recorded | None]:
    """What `_alone` does, in as few questions for many batches as for one.

    None for each that is to go alone, after these. That is all of them if an event of theirs is
    there already or has too far a number: nothing is done then.
    """
    done: list[Recorded | None] = [None] * len(sent)
    try:
        async with world.ledger.writing() as unit:
            usual = await _usual(world, unit, sent)
            batches = [
                Batch(run.tenant, run.run_id, sent[n][0].recorded_as, sent[n][1].events)
                for n, run in usual.items()
            ]
            gaps = await unit.runs.append_all(batches)
            if gaps is not None:
                for (n, run), batch, found in zip(usual.items(), batches, gaps, strict=True):
                    done[n] = run, _told(len(batch.events), 0, found)
    except InvalidInput:
        return [None] * len(sent)
    return done


async def _usual(world: World, unit: Unit, sent: Sequence[Sent]) -> dict[int, Run]:
    """By their place, the runs of those who may record now, in a run that goes on, as the first."""
    admitted = await admit_all(world, unit, [caller for caller, _ in sent])
    runs = await unit.runs.get_all([(caller.tenant, command.run_id) for caller, command in sent])
    usual: dict[int, Run] = {}
    seen: set[tuple[str, str, str]] = set()
    for n, ((caller, command), who, found) in enumerate(zip(sent, admitted, runs, strict=True)):
        agent = (caller.tenant, command.run_id, caller.recorded_as)
        first = agent not in seen
        seen.add(agent)  # a second batch of one agent comes after the first, and is answered so
        if not first or not command.events or not isinstance(who, Admitted):
            continue
        if found is not None and found.closed_at is None and is_joined(found, who):
            usual[n] = found
    return usual


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
    return _told(stored, repeated, await unit.runs.gaps(run.tenant, run.run_id, agent=own))


def _told(stored: int, repeated: int, gaps: Sequence[SequenceGap]) -> RecordAck:
    for gap in gaps:
        if gap.last - gap.first >= MISSING_MAX:
            raise InvalidInput(
                f"`seq` {gap.last + 1} comes after {gap.first - 1}, and at most {MISSING_MAX:,}"
                " numbers in a row may be missing; number events one by one",
                field="seq",
            )
    return RecordAck(stored=stored, repeated=repeated, gaps=tuple(gaps))
