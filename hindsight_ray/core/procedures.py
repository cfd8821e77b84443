"""Which order of calls has led to success more than once? The procedures that need no model.

Proved by at least two comparable runs (equal task and goal) that ended well, of which one had to
find the way: calls failed in it. The steps are the calls that worked and that the end rests on, in
order, and only if the tools are the same ones in the same order in both. Of each call those words
are told that both runs share; what differs belongs to the case, not to the procedure.
"""

from collections.abc import Sequence

from hindsight_ray.core.attribution.provenance import ruling_outcome
from hindsight_ray.core.steps import (
    Steps,
    call_shown,
    failed,
    known_arguments,
    shortened,
    succeeded,
)
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.review import Finding
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.domain.text import CONTENT_CHARACTERS_MAX, STEPS_MAX

COMPARED_MAX = 3  # runs beside the one under review
EVENTS_MAX = 1_000  # a longer run is no procedure, and dear to read
_STEPS_MIN = 2
_CONFIDENCE = 0.7  # of two runs; each further one adds
_MORE = 0.05
_CONFIDENCE_MAX = 0.9
_CITED_MAX = 12


def went_well(trajectory: Trajectory) -> bool:
    """Whether the outcome that counts is above nothing."""
    outcome = ruling_outcome(trajectory.outcomes)
    return outcome is not None and outcome.value > 0


def procedures(trajectory: Trajectory, others: Sequence[Trajectory]) -> tuple[Finding, ...]:
    """The procedure that this run and comparable ones before it prove, or none."""
    if not went_well(trajectory):
        return ()
    way = _way(trajectory)
    tools = [_tool(event) for event in way]
    if not _STEPS_MIN <= len(way) <= STEPS_MAX or len(set(tools)) < _STEPS_MIN:
        return ()
    same: list[list[Event]] = []
    stumbled = any(map(failed, trajectory.events))
    for other in others:
        if not went_well(other):
            continue
        theirs = _way(other)
        if [_tool(event) for event in theirs] == tools:
            same.append(theirs)
            stumbled = stumbled or any(map(failed, other.events))
    if not same or not stumbled:
        return ()
    agents = {str(event.agent) for event in way}
    names = "; ".join(tools)
    runs = len(same) + 1
    return (
        Finding(
            type="procedure",
            content=shortened(
                f'For "{_goal(trajectory)}", call in this order: {names}', CONTENT_CHARACTERS_MAX
            ),
            steps=tuple(_step(event, [one[n] for one in same]) for n, event in enumerate(way)),
            events=tuple(event.event_id for event in way[:_CITED_MAX]),
            agent=agents.pop() if len(agents) == 1 else None,
            importance=0.7,
            confidence=min(_CONFIDENCE_MAX, _CONFIDENCE + _MORE * (runs - 2)),
            why=f"the same calls in the same order ended well in {runs} runs of this task",
        ),
    )


def _way(trajectory: Trajectory) -> list[Event]:
    """The calls that worked and that the end rests on, each once, in order."""
    steps = Steps(trajectory.events)
    worked = [
        event
        for event in steps.events
        if succeeded(event) and event.event_id not in steps.retracted
    ]
    if worked and steps.edges_recorded:
        ends = [worked[-1].event_id, *_concluding(steps)]
        behind = steps.ancestors(ends)
        worked = [event for event in worked if event.event_id in behind]
    once: dict[tuple[str, str], Event] = {}
    for event in worked:
        once.setdefault((_tool(event), known_arguments(event) or event.event_id), event)
    return list(once.values())


def _concluding(steps: Steps) -> list[str]:
    """Decisions and messages that nothing follows: what the run came to."""
    return [
        event.event_id
        for event in steps.events
        if event.kind in ("decision", "message") and not steps.effects[event.event_id]
    ]


def _step(event: Event, others: Sequence[Event]) -> str:
    """A call as all runs made it, or its tool alone."""
    shown = call_shown(event)
    if shown and all(call_shown(other) == shown for other in others):
        return shortened(shown, 400)
    return _tool(event)


def _goal(trajectory: Trajectory) -> str:
    return shortened(trajectory.run.goal, 90)


def _tool(event: Event) -> str:
    return event.tool.name if event.tool is not None else ""
