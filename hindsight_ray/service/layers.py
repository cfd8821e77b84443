"""The two layers that live with the recorder: working state and the short-term window.

Working state belongs to a participant of a run, the window to a session of a caller. Both are kept
apart by the user acted for as well: what a planner notes with one user is not shown it with
another.
"""

from collections.abc import Coroutine, Sequence

from hindsight_ray.core.redaction import redacted
from hindsight_ray.core.shapes import WindowAnswer
from hindsight_ray.core.telling import notes_told
from hindsight_ray.core.window import foldable, summary_of
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import GetWorking, Note, SetWorking, Window
from hindsight_ray.domain.ids import SessionName
from hindsight_ray.domain.run import ShortTerm, WorkingState
from hindsight_ray.errors import InvalidInput, ModelFailed, OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service import once
from hindsight_ray.service.admit import admit
from hindsight_ray.service.asking import Asking, ask, prompt_for
from hindsight_ray.service.joined import closed, joined
from hindsight_ray.service.world import World


async def set_working(world: World, caller: Caller, command: SetWorking) -> WorkingState:
    """Replace the caller's working state in a run that is open."""
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        run = await joined(unit, admitted, command.run_id)
        if run.closed_at is not None:
            raise closed(run)
        await unit.layers.set_working(run.tenant, run.run_id, caller.receipt_owner, command.state)
        return command.state


async def get_working(world: World, caller: Caller, command: GetWorking) -> WorkingState:
    """The caller's working state in a run; empty if none was set or the run has ended."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        run = await joined(unit, admitted, command.run_id)
        state = await unit.layers.working(run.tenant, run.run_id, caller.receipt_owner)
        return state or WorkingState()


async def note(world: World, caller: Caller, command: Note) -> ShortTerm:
    """Add a line to the session's window. A full one is summarised: its oldest lines become one.

    By the weak model where there is one, beside the answer; by rules where there is none, it
    fails, or notes come faster than it answers. The window never holds more than twice its lines.
    """
    keep = world.settings.short_term_lines
    owner = caller.receipt_owner
    by_model = prompt_for(world, "window") is not None
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        session = _session(caller)
        admitted.require("write", _scope(caller))
        if not await _noted_before(unit, caller, command):
            line = command.text
            await unit.layers.add_to_window(caller.tenant, owner, session, line, keep=2 * keep)
            if command.command_id is not None:
                done = ShortTerm(session=session)  # what the window holds is asked for anew
                await once.keep(unit, caller, command.command_id, command, done)
        lines = list(await unit.layers.window(caller.tenant, owner, session))
        full = foldable(lines, keep)
        if full and (not by_model or len(lines) >= 2 * keep):
            await _fold(unit, caller, session, lines[:full])
            lines = list(await unit.layers.window(caller.tenant, owner, session))
            full = 0
    if full and len(lines) == keep + 1:  # once for each time that it fills up
        _begin(world, _summarised(world, caller, session, lines[:full]))
    return ShortTerm(session=session, lines=tuple(lines))


async def _noted_before(unit: Unit, caller: Caller, command: Note) -> bool:
    if command.command_id is None:
        return False
    return await once.replayed(unit, caller, command.command_id, command, ShortTerm) is not None


async def _fold(
    unit: Unit,
    caller: Caller,
    session: SessionName,
    lines: Sequence[str],
    *,
    said: str = "",
    by: str = "",
) -> None:
    summary = summary_of(lines, said, by)
    await unit.layers.fold_window(caller.tenant, caller.receipt_owner, session, lines, summary)


def _begin(world: World, job: Coroutine[None, None, None]) -> None:
    try:
        world.background(job)
    except OverQuota:
        job.close()  # the next note finds the window as full


async def _summarised(
    world: World, caller: Caller, session: SessionName, lines: Sequence[str]
) -> None:
    """Ask the model, then fold what is still there as it was: whoever was faster has won."""
    prompt = prompt_for(world, "window")
    said = ""
    if prompt is not None:
        told = notes_told(lines, tokens=world.settings.prompt_tokens_max // 2)
        try:
            read = await ask(world, Asking(prompt, caller.tenant), told, WindowAnswer)
            said = redacted(read.value.summary)[0]
        except ModelFailed:
            said = ""  # rules fold it
    async with world.ledger.writing() as unit:
        await _fold(
            unit, caller, session, lines, said=said, by="" if prompt is None else prompt.mark
        )


async def window(world: World, caller: Caller, command: Window) -> ShortTerm:
    """The session's window, oldest line first."""
    del command  # it says nothing: whose window it is comes from the ticket
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        session = _session(caller)
        admitted.require("read", _scope(caller))
        lines = await unit.layers.window(caller.tenant, caller.receipt_owner, session)
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
