"""What does the structure of a trajectory prove? The reviewer that needs no model.

It fills the template of a review from calls that failed and were then put right, redundant calls,
loops, results that nothing used and steps that were taken back. A lesson is written only where the
record shows both what to avoid and what to do instead; everything else stays a claim. What worked
and was done again may have been the work itself, such as each day's harvest: it was for nothing
only in a run that is known to have gone badly.
"""

from collections.abc import Iterable

from hindsight_ray.core.advice import for_failure, for_loop, for_repeat, for_retraction
from hindsight_ray.core.attribution.provenance import went_badly
from hindsight_ray.core.fixes import Fix, fixes, unfixed
from hindsight_ray.core.standing import standing_wishes, stated_for_good
from hindsight_ray.core.steps import (
    Steps,
    call_text,
    error_of,
    failed,
    known_arguments,
    same_result,
    shortened,
    step_key,
    succeeded,
)
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.ids import EventUuid
from hindsight_ray.domain.review import Claim, Lesson, Review, ReviewKind, Trigger
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.domain.text import SUMMARY_CHARACTERS_MAX

CLAIMS_MAX = 20  # of each part of the template
LESSONS_MAX = 20
_CITED_MAX = 12  # events of one claim


def rule_review(
    trajectory: Trajectory, *, kind: ReviewKind, trigger: Trigger, repeated_step_limit: int = 3
) -> Review:
    """Fill the template from structure alone. Equal trajectories give equal reviews."""
    steps = Steps(trajectory.events)
    fixed = fixes(steps)
    open_failures = unfixed(steps, fixed)
    in_vain = went_badly(trajectory.outcomes)
    repeats = _repeats(steps) if in_vain else []
    loops = [
        loop for loop in _loops(steps, repeated_step_limit) if in_vain or all(map(failed, loop))
    ]
    lessons = _distinct(
        [
            *(lesson for fix in fixed if (lesson := _fix_lesson(fix)) is not None),
            *(_repeat_lesson(first, again) for first, again in repeats),
            *(_loop_lesson(loop) for loop in loops),
            *_retraction_lessons(steps),
        ]
    )
    return Review(
        run_id=trajectory.run.run_id,
        kind=kind,
        trigger=trigger,
        goal=trajectory.run.goal,
        path=_path(trajectory.events),
        effective=_effective(steps, repeats),
        ineffective=_ineffective(steps, repeats, loops),
        decisions=_decisions(steps),
        improvements=_improvements(fixed, open_failures),
        lessons=tuple(lessons[:LESSONS_MAX]),
        findings=(*standing_wishes(trajectory.events), *stated_for_good(trajectory.events)),
    )


def _path(events: tuple[Event, ...]) -> str:
    parts: list[str] = []
    room = SUMMARY_CHARACTERS_MAX
    for event in events:
        if event.kind in ("user", "state"):
            continue
        part = f"{event.agent}: {shortened(call_text(event), 60)}"
        room -= len(part) + 3
        if room < 20:
            parts.append("…")
            break
        parts.append(part)
    return " > ".join(parts)


def _claim(text: str, events: Iterable[str]) -> Claim:
    cited = tuple(EventUuid(one) for one in dict.fromkeys(events))[:_CITED_MAX]
    return Claim(text=shortened(text, 400), events=cited)


def _effective(steps: Steps, repeats: list[tuple[Event, Event]]) -> tuple[Claim, ...]:
    again = {second.event_id for _, second in repeats}
    claims = [
        _claim(
            f"`{event.tool.name}` worked and {len(used)} later step(s) rest on it:"
            f" {shortened(event.summary, 160)}",
            (event.event_id, *used),
        )
        for event in steps.events
        if event.tool is not None
        and succeeded(event)
        and event.event_id not in again
        and event.event_id not in steps.retracted
        and (used := steps.effects[event.event_id])
    ]
    return tuple(claims[:CLAIMS_MAX])


def _ineffective(
    steps: Steps, repeats: list[tuple[Event, Event]], loops: list[list[Event]]
) -> tuple[Claim, ...]:
    claims = [
        _claim(f"`{event.tool.name}` failed: {error_of(event)}", (event.event_id,))
        for event in steps.events
        if event.tool is not None and failed(event)
    ]
    claims += [
        _claim(
            f"`{_tool(second)}` was called again with the same arguments and brought the same",
            (first.event_id, second.event_id),
        )
        for first, second in repeats
    ]
    claims += [
        _claim(
            f"{loop[0].agent} did the same step {len(loop)} times:"
            f" {shortened(call_text(loop[0]), 160)}",
            (event.event_id for event in loop),
        )
        for loop in loops
    ]
    claims += [
        _claim(f"Nothing recorded used the result of `{_tool(event)}`", (event.event_id,))
        for event in _unused(steps)
    ]
    claims += [
        _claim(f"Taken back: {shortened(steps.by_id[one].summary, 200)}", (one, by))
        for one, by in steps.retracted.items()
    ]
    return tuple(claims[: 2 * CLAIMS_MAX])


def _decisions(steps: Steps) -> tuple[Claim, ...]:
    claims = [
        _claim(
            f"{event.agent} decided: {shortened(event.summary, 200)}",
            (event.event_id, *steps.effects[event.event_id]),
        )
        for event in steps.events
        if event.kind == "decision" and event.summary.strip()
    ]
    return tuple(claims[:CLAIMS_MAX])


def _improvements(fixed: list[Fix], open_failures: list[list[Event]]) -> tuple[Claim, ...]:
    claims = [
        _claim(
            f"Begin with the call that worked in the end, and spare {len(fix.failures)} failure(s)"
            f" of `{_tool(fix.failures[0])}`: {shortened(call_text(fix.success), 200)}",
            (*(event.event_id for event in fix.failures), fix.success.event_id),
        )
        for fix in fixed
    ]
    claims += [
        _claim(
            f"`{_tool(streak[0])}` failed {len(streak)} time(s) and never worked; find out what it"
            f" needs before calling it again: {shortened(error_of(streak[-1]), 160)}",
            (event.event_id for event in streak),
        )
        for streak in open_failures
    ]
    return tuple(claims[:CLAIMS_MAX])


def _repeats(steps: Steps) -> list[tuple[Event, Event]]:
    """Calls that worked, made again with the same arguments, and brought the same."""
    first_of: dict[tuple[str, str], Event] = {}
    found: list[tuple[Event, Event]] = []
    for event in steps.events:
        tool = event.tool
        if tool is None or not succeeded(event) or not known_arguments(event):
            continue
        key = (tool.name, known_arguments(event))
        first = first_of.get(key)
        if first is not None and same_result(first, event):
            found.append((first, event))
        else:
            first_of[key] = event
    return found


def _loops(steps: Steps, limit: int) -> list[list[Event]]:
    """Steps that one agent did more than `limit` times without getting anywhere.

    A call gets nowhere when each time it brought the same; any other step when its agent did
    nothing else in between. (Polling that brings something new is no loop.)
    """
    found: list[list[Event]] = []
    streaks: dict[tuple[str, ...], list[Event]] = {}
    last_key: dict[str, tuple[str, ...]] = {}
    for event in steps.events:
        key = step_key(event)
        if key is None:
            continue
        streak = streaks.get(key)
        if event.tool is not None:
            onward = streak is not None and same_result(streak[-1], event)
        else:
            onward = streak is not None and last_key.get(event.agent) == key
        last_key[event.agent] = key
        if streak is None or not onward:
            streaks[key] = [event]
            continue
        streak.append(event)
        if len(streak) == limit + 1:
            found.append(streak)
    return found


def _unused(steps: Steps) -> list[Event]:
    """Calls that worked and that nothing cites, where edges are recorded.

    An agent's last call is left out: its effect may be what the run was for.
    """
    if not steps.edges_recorded:
        return []
    last = {event.agent: event.event_id for event in steps.events if event.tool is not None}
    return [
        event
        for event in steps.events
        if succeeded(event)
        and not steps.effects[event.event_id]
        and last[event.agent] != event.event_id
    ]


def _fix_lesson(fix: Fix) -> Lesson | None:
    advice = for_failure(fix)
    if advice is None:
        return None
    behind = [event for event in (fix.told_by, fix.chosen) if event is not None]
    cited = [*fix.failures, *behind, fix.success]
    tools = tuple(dict.fromkeys(_tool(event) for event in (fix.failures[0], fix.success)))
    return Lesson(
        advice=advice,
        events=tuple(event.event_id for event in cited[-_CITED_MAX:]),
        tools=tools,
        agent=None if fix.collaborative else str(fix.success.agent),
        rule=fix.rule,
        importance=0.7 if len(fix.failures) == 1 else 0.8,
        confidence=0.9,
    )


def _repeat_lesson(first: Event, again: Event) -> Lesson:
    own = first.agent == again.agent
    return Lesson(
        advice=for_repeat(first, again),
        events=(first.event_id, again.event_id),
        tools=(_tool(again),),
        agent=str(again.agent) if own else None,
        rule="same call, same result",
        importance=0.4,
        confidence=0.8,
    )


def _loop_lesson(loop: list[Event]) -> Lesson:
    return Lesson(
        advice=for_loop(loop),
        events=tuple(event.event_id for event in loop[:_CITED_MAX]),
        tools=(_tool(loop[0]),) if loop[0].tool is not None else (),
        agent=str(loop[0].agent),
        rule="same step again and again",
        # What hangs on the outcome comes last, so that the others keep their places without it.
        importance=0.5 if all(map(failed, loop)) else 0.4,
        confidence=0.8,
    )


def _retraction_lessons(steps: Steps) -> list[Lesson]:
    """Only where what replaced the step is on record: a decision that cites the retraction."""
    found: list[Lesson] = []
    for one, by in steps.retracted.items():
        wrong = steps.by_id[one]
        instead = next(
            (steps.by_id[e] for e in steps.effects[by] if steps.by_id[e].kind == "decision"), None
        )
        if instead is None or wrong.kind not in ("decision", "message"):
            continue
        found.append(
            Lesson(
                advice=for_retraction(wrong, instead),
                events=(wrong.event_id, EventUuid(by), instead.event_id),
                agent=str(instead.agent) if wrong.agent == instead.agent else None,
                rule="taken back and replaced",
                importance=0.6,
                confidence=0.8,
            )
        )
    return found


def _distinct(lessons: list[Lesson]) -> list[Lesson]:
    """One lesson of each advice and owner, the most important first."""
    kept: dict[tuple[str, str | None], Lesson] = {}
    for lesson in lessons:
        kept.setdefault((lesson.advice, lesson.agent), lesson)
    return sorted(kept.values(), key=lambda lesson: -lesson.importance)


def _tool(event: Event) -> str:
    return event.tool.name if event.tool is not None else event.kind
