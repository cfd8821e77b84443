"""Runs: begin one, take part in one, end one, read what happened in it.

Taking part needs `write` on the run's scope. Reading needs `read` on its whole audience: the scope,
every user that a participant acts for, and what whoever began it had been shown in its open runs.
Who is denied a label reads no run in which something that bears it was shown to anybody.
"""

from collections.abc import Sequence

from hindsight_ray.core.digest import derived_uuid, goal_digest
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import CloseRun, JoinRun, ListRuns, ReadRun, StartRun
from hindsight_ray.domain.ids import RunUuid
from hindsight_ray.domain.rows import Offered
from hindsight_ray.domain.run import Run, RunClosure, RunSummary, Trajectory
from hindsight_ray.domain.scope import GLOBAL, ScopeName, checked_audience, user_scope
from hindsight_ray.errors import InvalidInput
from hindsight_ray.ports import Unit
from hindsight_ray.service import offered, once, review_due, texts
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.joined import closed, joined, participant, takes_part
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.seen import readable_runs, reads_run
from hindsight_ray.service.trajectory import (
    dangling_causes,
    permitted_run,
    readable_run,
    trajectory_of,
)
from hindsight_ray.service.world import World

_PAGE = 50


async def start(world: World, caller: Caller, command: StartRun) -> Run:
    """Begin a run in a scope that the caller may write, with the caller as first participant.

    What the caller was shown in the runs that its session has open counts as shown in this one: its
    goal may say that already.
    """
    scope = command.scope or _default_scope(caller)
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("write", scope)
        before = await once.replayed(unit, caller, command.command_id, command, Run)
        if before is not None:
            run = await unit.runs.get(caller.tenant, before.run_id)
            return before if run is None else await _as_shown(unit, admitted, run)
        shown = await offered.inherited(unit, admitted, None)
        run = _new_run(admitted, command, scope, shown.audience)
        await unit.runs.create(run)
        await _enter(unit, admitted, run, shown)
        await note_done(
            unit, admitted, verb="StartRun", action="write", scope=scope, name=run.run_id
        )
        await once.keep(unit, caller, command.command_id, command, run)
        return run


async def join(world: World, caller: Caller, command: JoinRun) -> Run:
    """Take part in an open run. Its audience grows by the user that the caller acts for.

    Whoever may not read the audience gets the run without what it says of others: no goal, no
    tools, no other participants. Raises `AccessDenied` for who may read the run and not write in
    its scope, and for who would bring another user into a run whose scope it may not read: its
    readers would lose it to a stranger.
    """
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        run = await permitted_run(unit, admitted, command.run_id, "write")
        if run.closed_at is not None:
            raise closed(run)
        if not takes_part(run, caller):
            if caller.acting_scope not in (None, *run.audience):
                admitted.require("read", run.scope)
            run = _joined(run, caller)
            await unit.runs.replace(run)
            await note_done(
                unit, admitted, verb="JoinRun", action="write", scope=run.scope, name=run.run_id
            )
        await _enter(unit, admitted, run, await offered.inherited(unit, admitted, None))
        return await _as_shown(unit, admitted, run)


async def _as_shown(unit: Unit, admitted: Admitted, run: Run) -> Run:
    """The run as it is now, to who may be shown it; what it says of others to nobody else."""
    if not await reads_run(unit, admitted, run):
        return _bare(run, admitted.caller)
    growth = await offered.showing_memories(unit, admitted, (), [run])
    await offered.grow_within(unit, admitted, [growth])
    return run


async def _enter(unit: Unit, admitted: Admitted, run: Run, shown: Offered) -> None:
    """Open the run in the caller's session; what was shown there before counts as shown in it."""
    caller = admitted.caller
    await unit.runs.enter(run.tenant, run.run_id, caller.recorded_as, caller.sitting)
    await offered.grow_within(unit, admitted, [offered.Growth((run.run_id,), shown)])


async def close(world: World, caller: Caller, command: CloseRun) -> RunClosure:
    """End a run and say which causes no event answers to and which numbers never arrived.

    Whoever began it ends it, or whose scope it is in, or who administers; anybody else leaves it:
    it goes on, and what the others were shown in it goes on following them.
    Closing again changes nothing and answers the same. Whoever may not read the run is told of its
    own events alone.
    """
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        run = await joined(unit, admitted, command.run_id)
        ended_now = run.closed_at is None and _may_end(admitted, run)
        if ended_now:
            run = run.model_copy(update={"closed_at": admitted.now})
            await unit.runs.replace(run)
            await unit.layers.drop_working(run.tenant, run.run_id)
        if ended_now or await _left(unit, run, caller):
            await note_done(
                unit, admitted, verb="CloseRun", action="write", scope=run.scope, name=run.run_id
            )
        events = await unit.runs.events(run.tenant, run.run_id)
        own = None if await reads_run(unit, admitted, run) else caller.recorded_as
        gaps = await unit.runs.gaps(run.tenant, run.run_id, agent=own)
    told = [event for event in events if own in (None, event.agent)]
    if ended_now:
        review_due.after_close(world, run, events)
    return RunClosure(
        run_id=run.run_id,
        events=len(told),
        dangling=len(dangling_causes(told, events)),
        gaps=tuple(gaps),
        ended=run.closed_at is not None,
    )


def _may_end(admitted: Admitted, run: Run) -> bool:
    """Whether the caller ends the run for everybody: what is shown in it follows nobody then."""
    caller = admitted.caller
    return (
        participant(caller) == run.participants[0]
        or caller.principal == run.scope
        or admitted.access.may("administer", GLOBAL)
    )


async def _left(unit: Unit, run: Run, caller: Caller) -> bool:
    """Take the run out of those that the caller's session has open; whether it was among them."""
    if run.closed_at is not None:
        return False
    return await unit.runs.leave(run.tenant, run.run_id, caller.recorded_as, caller.sitting)


async def read(world: World, caller: Caller, command: ReadRun) -> Trajectory:
    """The run with its events in order, its outcomes and what is missing from it.

    Its events name no memory that the caller may not know of.
    """
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        run = await readable_run(unit, admitted, command.run_id)
        trajectory = await trajectory_of(unit, run)
        readable = await texts.readable_texts(unit, admitted, trajectory.events)
        growth = await offered.showing_memories(unit, admitted, (), [run])
    await offered.grow(world, admitted, [growth])
    return texts.shown(trajectory, readable.texts)


async def listed(world: World, caller: Caller, command: ListRuns) -> tuple[RunSummary, ...]:
    """The newest runs that the caller may be shown.

    Raises `NotFound` for a `before` that the caller may not read: its place in time is its own.
    """
    found: list[RunSummary] = []
    before: str | None = command.before
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        if command.before is not None:
            await readable_run(unit, admitted, command.before)
        while len(found) < command.limit:
            page = await unit.runs.newest(
                caller.tenant,
                limit=_PAGE,
                before=before,
                task_type=command.task_type,
                readable=admitted.may_read,
            )
            readable = await readable_runs(unit, admitted, page)
            room = command.limit - len(found)
            found.extend([await _summary(unit, run) for run in readable[:room]])
            if len(page) < _PAGE:
                break
            before = page[-1].run_id
        growth = await offered.showing_memories(unit, admitted, (), [one.run for one in found])
    await offered.grow(world, admitted, [growth])
    return tuple(found)


def _default_scope(caller: Caller) -> ScopeName:
    if caller.user is None:
        raise InvalidInput(
            "`scope` must be named: the ticket acts for no user whose scope would be the default",
            field="scope",
        )
    return user_scope(caller.user)


def _new_run(admitted: Admitted, command: StartRun, scope: ScopeName, shown: frozenset[str]) -> Run:
    """Its audience carries that of what was shown, without the agent's own scope: by recording in
    the run the agent discloses that to the run's readers."""
    caller = admitted.caller
    own: set[str] = set() if caller.agent is None else {caller.principal}
    run_id = derived_uuid("run", caller.tenant, caller.receipt_owner, command.command_id)
    return Run(
        run_id=RunUuid(run_id),
        tenant=caller.tenant,
        scope=scope,
        audience=_audience((scope, *sorted(shown - own)), caller),
        goal=command.goal,
        task_type=command.task_type,
        goal_digest=goal_digest(command.goal),
        tools=command.tools,
        intent=command.intent,
        project=command.project,
        seed=command.seed,
        participants=(participant(caller),),
        started_at=admitted.now,
    )


def _joined(run: Run, caller: Caller) -> Run:
    for other in run.participants:
        same_name = (other.agent or other.user) == caller.recorded_as
        if same_name and (other.agent is None) != (caller.agent is None):
            raise InvalidInput(
                f"`{caller.recorded_as}` already names another participant of this run;"
                " their events could not be told apart",
                field="agent",
            )
    return run.model_copy(
        update={
            "participants": (*run.participants, participant(caller)),
            "audience": _audience(run.audience, caller),
        }
    )


def _audience(scopes: Sequence[str], caller: Caller) -> tuple[ScopeName, ...]:
    acting = caller.acting_scope
    return checked_audience((*scopes, *([acting] if acting else ())))


def _bare(run: Run, caller: Caller) -> Run:
    return Run(
        run_id=run.run_id,
        tenant=run.tenant,
        scope=run.scope,
        audience=_audience((run.scope,), caller),
        goal="(not for this caller to read)",
        task_type="task",
        goal_digest="",
        participants=(participant(caller),),
        started_at=run.started_at,
    )


async def _summary(unit: Unit, run: Run) -> RunSummary:
    outcomes = await unit.outcomes.of_run(run.tenant, run.run_id)
    return RunSummary(
        run=run,
        events=await unit.runs.event_count(run.tenant, run.run_id),
        outcome=outcomes[-1].value if outcomes else None,
    )
