"""The two layers that live with the recorder: working state and the short-term window.

Working state belongs to a participant of a run, the window to a session of a caller. Both are kept
apart by the user acted for as well: what a planner notes with one user is not shown it with
another.
"""

from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import GetWorking, Note, SetWorking, Window
from hindsight_ray.domain.ids import SessionName
from hindsight_ray.domain.run import ShortTerm, WorkingState
from hindsight_ray.errors import InvalidInput
from hindsight_ray.service.admit import admit
from hindsight_ray.service.runs import closed, joined
from hindsight_ray.service.world import World


async def set_working(world: World, caller: Caller, command: SetWorking) -> WorkingState:
    """Replace the caller's working state in a run that is open."""
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        run = await joined(unit, admitted, command.run_id)
        if run.closed_at is not None:
            raise closed(run)
        await unit.layers.set_working(run.tenant, run.run_id, _owner(caller), command.state)
        return command.state


async def get_working(world: World, caller: Caller, command: GetWorking) -> WorkingState:
    """The caller's working state in a run; empty if none was set or the run has ended."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        run = await joined(unit, admitted, command.run_id)
        state = await unit.layers.working(run.tenant, run.run_id, _owner(caller))
        return state or WorkingState()


async def note(world: World, caller: Caller, command: Note) -> ShortTerm:
    """Add a line to the session's window; beyond its limit the oldest line goes."""
    keep = world.settings.short_term_lines
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        session = _session(caller)
        admitted.require("write", _scope(caller))
        owner = _owner(caller)
        await unit.layers.add_to_window(caller.tenant, owner, session, command.text, keep=keep)
        lines = await unit.layers.window(caller.tenant, owner, session)
    return ShortTerm(session=session, lines=tuple(lines))


async def window(world: World, caller: Caller, command: Window) -> ShortTerm:
    """The session's window, oldest line first."""
    del command  # it says nothing: whose window it is comes from the ticket
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        session = _session(caller)
        admitted.require("read", _scope(caller))
        lines = await unit.layers.window(caller.tenant, _owner(caller), session)
    return ShortTerm(session=session, lines=tuple(lines))


def _session(caller: Caller) -> SessionName:
    if caller.session is None:
        raise InvalidInput(
            "`session` is not named in this ticket; the short-term window belongs to one",
            field="session",
        )
    return caller.session


def _scope(caller: Caller) -> str:
    return caller.acting_scope or caller.principal


def _owner(caller: Caller) -> str:
    """The own principal and the user acted for; a blank is in no id, so none is ambiguous."""
    acting = caller.acting_scope
    return caller.principal if acting is None else f"{caller.principal} {acting}"
