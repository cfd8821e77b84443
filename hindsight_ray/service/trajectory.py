"""A run with all that was recorded of it, for reviews and attribution inside one transaction."""

from collections.abc import Sequence

from hindsight_ray.core.distil import names_of
from hindsight_ray.core.steps import agents_of
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.credit import Credited
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.ids import EventUuid
from hindsight_ray.domain.run import Outcome, Run, Trajectory
from hindsight_ray.domain.scope import ScopeName, agent_scope, user_scope
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted, absent
from hindsight_ray.service.seen import readable_runs, reads_run


async def reviewable(unit: Unit, admitted: Admitted, run_id: str) -> Trajectory:
    """The trajectory for a caller with `review` on the scope and `read` on the whole audience.

    Without either it is absent.
    """
    run = await readable_run(unit, admitted, run_id)
    admitted.require("review", run.scope)
    return await trajectory_of(unit, run)


async def told_of(
    unit: Unit, admitted: Admitted, run: Run, kept: Sequence[Credited]
) -> tuple[list[Credited], list[Run]]:
    """Of what was found about a run, what the caller may be shown, and the other runs that this
    tells of: it may review all of those, or a score would tell what it may not know."""
    others = {name for one in kept for name in one.tells_of(run.run_id) or ()}
    known = await unit.runs.get_all([(run.tenant, name) for name in sorted(others)])
    mine = [one for one in known if one is not None and admitted.access.may("review", one.scope)]
    runs = {str(one.run_id): one for one in await readable_runs(unit, admitted, mine)}
    shown = [
        one
        for one in kept
        if (names := one.tells_of(run.run_id)) is not None and names <= runs.keys()
    ]
    named = {name for one in shown for name in one.tells_of(run.run_id) or ()}
    return shown, [runs[name] for name in sorted(named)]


async def readable_run(unit: Unit, admitted: Admitted, run_id: str) -> Run:
    """The run if the caller may be shown it, else the `NotFound` of absence."""
    run = await unit.runs.get(admitted.caller.tenant, run_id)
    if run is None or not await reads_run(unit, admitted, run):
        raise absent("run", run_id)
    return run


async def permitted_run(unit: Unit, admitted: Admitted, run_id: str, action: Action) -> Run:
    """The run if the caller may do this in its scope.

    Raises `AccessDenied` for who may be shown the run all the same, `NotFound` for anybody else.
    """
    run = await unit.runs.get(admitted.caller.tenant, run_id)
    if run is None or not admitted.access.may(action, run.scope):
        run = await readable_run(unit, admitted, run_id)
        admitted.require(action, run.scope)
    return run


async def trajectory_of(unit: Unit, run: Run) -> Trajectory:
    """Everything recorded of `run`, read in this unit. Whoever calls has authorised it."""
    events = tuple(await unit.runs.events(run.tenant, run.run_id))
    return Trajectory(
        run=run,
        events=events,
        outcomes=await outcomes_of(unit, run),
        gaps=tuple(await unit.runs.gaps(run.tenant, run.run_id)),
        dangling=dangling_causes(events),
    )


async def outcomes_of(unit: Unit, run: Run) -> tuple[Outcome, ...]:
    """The run's outcomes by time; whoever has joined since they asserted is a participant too."""
    inside = principals_of(run)
    return tuple(
        one.model_copy(update={"participant": one.participant or one.by in inside})
        for one in await unit.outcomes.of_run(run.tenant, run.run_id)
    )


async def said_in(unit: Unit, run: Run) -> tuple[frozenset[str], frozenset[str]]:
    """The scopes and labels of all that may be said in the run: its own, and those of whatever was
    shown in it to whoever recorded there."""
    events = await unit.runs.events(run.tenant, run.run_id)
    shown = [
        await unit.runs.offered(run.tenant, run.run_id, name)
        for name in dict.fromkeys([*names_of(run), *agents_of(events)])
    ]
    scopes = frozenset(scope for one in shown for scope in one.audience)
    labels = frozenset(label for one in shown for label in one.labels)
    return scopes.union(run.audience), labels


def principals_of(run: Run) -> frozenset[ScopeName]:
    """The participants' own principals, whomever they act for.

    Names in an imported log are labels and make nobody a participant.
    """
    if run.imported:
        return frozenset()
    agents = {agent_scope(one.agent) for one in run.participants if one.agent is not None}
    users = {
        user_scope(one.user)
        for one in run.participants
        if one.agent is None and one.user is not None
    }
    return frozenset(agents | users)


def dangling_causes(
    events: Sequence[Event], among: Sequence[Event] | None = None
) -> tuple[EventUuid, ...]:
    """Causes of these that no event of the run (or `among` these) answers to, each once, in order
    of first mention."""
    there = {event.event_id for event in (events if among is None else among)}
    named = (cause for event in events for cause in event.causes)
    return tuple(dict.fromkeys(cause for cause in named if cause not in there))
