"""Which call put a failed call right? The proof behind most lessons.

A call that worked fixes the failures before it if the record connects them: by edges that somebody
observed or declared, or by being the next call of the same tool, about the same thing (calls whose
words overlap, or are too few to tell). Another tool's call counts only with recorded edges, since
agents do other things between two attempts.
"""

import re
from dataclasses import dataclass

from hindsight_ray.core.steps import (
    Steps,
    call_shown,
    failed,
    known_arguments,
    overlap,
    succeeded,
    words,
)
from hindsight_ray.domain.event import Event

ALIKE_MIN = 0.4  # words that two calls of one tool must share to be about the same thing
_TELLING_MIN = 4  # a call of fewer words does not say what it is about: `harvest(place=barn)`
_NAMED = re.compile(r"\"?[A-Za-z_]\w*\"?\s?[=:]")


@dataclass(frozen=True, slots=True)
class Fix:
    """Failures of one tool and the call that put them right."""

    failures: tuple[Event, ...]  # in order, all of one tool
    success: Event
    chosen: Event | None  # the decision behind the success
    told_by: Event | None  # a message of another agent, between the last failure and the success

    @property
    def collaborative(self) -> bool:
        """Whether it took another agent: to tell, or to do it."""
        return self.told_by is not None or self.failures[-1].agent != self.success.agent

    @property
    def same_tool(self) -> bool:
        return _name(self.failures[-1]) == _name(self.success)

    @property
    def same_arguments(self) -> bool:
        known = known_arguments(self.failures[-1])
        return self.same_tool and bool(known) and known == known_arguments(self.success)

    @property
    def rule(self) -> str:
        if self.collaborative:
            return "failed, then put right with another agent"
        if self.same_arguments:
            return "failed, then worked unchanged"
        if self.same_tool:
            return "failed, then worked with other arguments"
        return "failed, then another tool worked"


def fixes(steps: Steps) -> list[Fix]:
    """Every fix, in the order of the calls that worked; each failure belongs to one at most."""
    by_success: dict[str, list[Event]] = {}
    for failure in (event for event in steps.events if failed(event)):
        success = _success_after(steps, failure)
        if success is not None:
            by_success.setdefault(success.event_id, []).append(failure)
    found: list[Fix] = []
    for event in steps.events:
        for failures in _by_tool(by_success.get(event.event_id, [])):
            told_by = _told_by(steps, failures[-1], event)
            found.append(Fix(tuple(failures), event, _chosen(steps, event), told_by))
    return found


def unfixed(steps: Steps, found: list[Fix]) -> list[list[Event]]:
    """Failures that nothing put right, by agent and tool."""
    fixed = {failure.event_id for fix in found for failure in fix.failures}
    streaks: dict[tuple[str, str], list[Event]] = {}
    for event in steps.events:
        if failed(event) and event.event_id not in fixed:
            streaks.setdefault((event.agent, _name(event)), []).append(event)
    return list(streaks.values())


def _success_after(steps: Steps, failure: Event) -> Event | None:
    later = [
        event
        for event in steps.events[steps.position[failure.event_id] + 1 :]
        if succeeded(event) and event.event_id not in steps.retracted
    ]
    same = [event for event in later if _name(event) == _name(failure)]
    led = next((e for e in same if steps.led_to(failure.event_id, e.event_id)), None)
    own = next((e for e in same if e.agent == failure.agent), None)
    if own is not None and not _alike(failure, own):
        own = None
    direct = [event for event in (led, own) if event is not None]
    if direct:
        return min(direct, key=lambda event: steps.position[event.event_id])
    if same and same[0].agent != failure.agent and _alike(failure, same[0]):
        return same[0]  # another agent made the same call work
    return next((e for e in later if steps.led_to(failure.event_id, e.event_id)), None)


def _alike(failure: Event, success: Event) -> bool:
    """Whether nothing speaks against both calls being about the same thing."""
    if known_arguments(failure) and known_arguments(failure) == known_arguments(success):
        return True
    first, second = call_shown(failure), call_shown(success)
    if not first or not second:
        return True
    if max(_said(failure, first), _said(success, second)) < _TELLING_MIN:
        return True
    return overlap(first, second) >= ALIKE_MIN


def _said(event: Event, call: str) -> int:
    """How many words a call is known to say, beside its tool's name and its arguments' names."""
    return len({*words(_NAMED.sub(" ", call))} - {*words(_name(event))})


def _chosen(steps: Steps, success: Event) -> Event | None:
    """The decision of the same agent that the call rests on at once, if that was recorded."""
    if success.edge_evidence == "inferred":
        return None
    causes = (steps.by_id[one] for one in steps.causes[success.event_id])
    own = [one for one in causes if one.kind == "decision" and one.agent == success.agent]
    return own[-1] if own else None


def _told_by(steps: Steps, failure: Event, success: Event) -> Event | None:
    """The last message to the fixing agent that the fix rests on and that followed the failure."""
    behind = steps.ancestors([success.event_id])
    first, last = steps.position[failure.event_id], steps.position[success.event_id]
    told = [
        event
        for event in steps.events[first + 1 : last]
        if event.kind == "message"
        and event.agent != success.agent
        and event.to in (None, success.agent)
        and event.event_id in behind
        and steps.led_to(event.event_id, success.event_id)
    ]
    return told[-1] if told else None


def _by_tool(failures: list[Event]) -> list[list[Event]]:
    groups: dict[str, list[Event]] = {}
    for failure in failures:
        groups.setdefault(_name(failure), []).append(failure)
    return list(groups.values())


def _name(event: Event) -> str:
    return event.tool.name if event.tool is not None else ""
