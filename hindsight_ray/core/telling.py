"""What a model is told: a run's event summaries under short names, pairs, notes, within a budget.

Whatever somebody else wrote takes one line, so that none of it can pass itself off as another
event, another pair or another note.

Never raw payloads. A run that does not fit is told in parts, one after the other, each with what
the parts before have shown; and where even that would be too much, what taught nothing is counted
instead of told. So the length of a prompt does not depend on the length of the run.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hindsight_ray.core.answers import Names
from hindsight_ray.core.opinion import Pair
from hindsight_ray.core.steps import agents_of, error_of, failed, one_line, shortened
from hindsight_ray.core.tokens import fitting, tokens_at_most
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.run import Trajectory

EARLIER_TOKENS = 400  # of what the parts before have shown
_KNOWN_TOKENS = 800  # of what the agents had been offered
_GOAL_TOKENS = 400
_GAP_TOKENS = 40  # the line that counts what is left out
_STEP_CHARACTERS = 160
_WORDS_CHARACTERS = 280  # what people and agents said, decided
_CAUSES = 4


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a run as it is told. `names` are those of the events that it shows."""

    text: str
    names: Names
    events: tuple[Event, ...]  # all of this part, told or counted


def parts(
    trajectory: Trajectory, remembered: Sequence[str], *, tokens: int, parts_max: int
) -> tuple[Part, ...]:
    """The run in as few parts as fit, each of at most `tokens` with room for what came before."""
    head = _head(trajectory, remembered)
    room = tokens - tokens_at_most(head) - EARLIER_TOKENS - 64
    names: dict[str, str] = {
        event.event_id: f"e{n}" for n, event in enumerate(trajectory.events, 1)
    }
    lines = [_line(event, names) for event in trajectory.events]
    costs = [tokens_at_most(line) + 1 for line in lines]
    count = max(1, min(parts_max, -(-sum(costs) // max(room, 1))))
    told: list[Part] = []
    for first, last in _shares(costs, count):
        events = trajectory.events[first:last]
        body, shown = _body(events, lines[first:last], costs[first:last], names, room)
        which = f" (part {len(told) + 1} of {count})" if count > 1 else ""
        known = Names({names[event.event_id]: event.event_id for event in shown})
        told.append(Part(f"{head}\n\nEvents{which}:\n{body}", known, events))
    return tuple(told)


def after(part: Part, earlier: str) -> str:
    """The part's text, with what the parts before it have shown."""
    if not earlier:
        return part.text
    shown = fitting(one_line(earlier), EARLIER_TOKENS - 20)
    return f"{part.text}\n\nWhat earlier parts of the run have shown: {shown}"


def users_told(events: Iterable[Event], *, tokens: int) -> tuple[str, Names]:
    """What users said once work had begun, the latest first to be kept within the budget."""
    told: list[str] = []
    shown: dict[str, str] = {}
    for n, event in reversed(list(enumerate(events, 1))):
        if event.kind != "user" or not event.summary.strip():
            continue
        line = f"e{n} {shortened(event.summary, _WORDS_CHARACTERS)}"
        tokens -= tokens_at_most(line) + 1
        if tokens < 0:
            break
        told.append(line)
        shown[f"e{n}"] = event.event_id
    return "\n".join(reversed(told)), Names(shown)


def pairs_told(pairs: Sequence[Pair], *, tokens: int) -> tuple[str, Sequence[Pair]]:
    """The pairs as they are put to a judge, as many as there is room for."""
    told: list[str] = []
    for n, pair in enumerate(pairs, 1):
        text = f"p{n}\nkept: {one_line(pair.kept.content)}\nnew: {one_line(pair.new)}"
        tokens -= tokens_at_most(text) + 2
        if tokens < 0:
            break
        told.append(text)
    return "\n\n".join(told), pairs[: len(told)]


def notes_told(notes: Iterable[str], *, tokens: int) -> str:
    """A window's notes, oldest first, as many as there is room for."""
    return fitting("\n".join(f"- {one_line(note)}" for note in notes), tokens)


def _head(trajectory: Trajectory, remembered: Sequence[str]) -> str:
    run = trajectory.run
    lines = [
        f"Goal: {fitting(one_line(run.goal), _GOAL_TOKENS)}",
        f"Task type: {shortened(run.task_type, 100)}",
        f"Agents: {fitting(', '.join(agents_of(trajectory.events)), 200)}",
    ]
    if run.tools:
        lines.append(f"Tools: {fitting(one_line(', '.join(run.tools)), 300)}")
    lines += [
        f"Outcome: {outcome.value:g} by {shortened(outcome.evaluator, 60)}"
        for outcome in trajectory.outcomes[-3:]
    ]
    room = _KNOWN_TOKENS
    known: list[str] = []
    for text in remembered:
        line = f"- {shortened(text, 200)}"
        room -= tokens_at_most(line) + 1
        if room < 0:
            break
        known.append(line)
    return "\n".join([*lines, *(["Known before:", *known] if known else [])])


def _line(event: Event, names: Mapping[str, str]) -> str:
    said = event.kind in ("user", "message", "decision")
    text = shortened(event.summary, _WORDS_CHARACTERS if said else _STEP_CHARACTERS)
    who = f"{event.agent} to {event.to}" if event.to else str(event.agent)
    what = f"tool {shortened(event.tool.name, 60)}" if event.tool is not None else event.kind
    parts = [f"{names[event.event_id]} [{who}] {what}: {text}"]
    if failed(event):
        parts.append(f"FAILED: {shortened(error_of(event), 120)}")
    causes = [names[cause] for cause in event.causes if cause in names][:_CAUSES]
    if causes:
        parts.append(f"(rests on {', '.join(causes)})")
    return " ".join(parts)


def _shares(costs: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Borders of `count` runs of about equal cost, all in order, none empty."""
    whole, borders, held = sum(costs), [0], 0
    for n, cost in enumerate(costs, 1):
        held += cost
        if held * count >= whole * len(borders) and len(borders) < count:
            borders.append(n)
    borders.append(len(costs))
    found = list(itertools.pairwise(borders))
    return [pair for pair in found if pair[0] < pair[1]] or [(0, 0)]


def _body(
    events: Sequence[Event],
    lines: Sequence[str],
    costs: Sequence[int],
    names: Mapping[str, str],
    room: int,
) -> tuple[str, list[Event]]:
    """The lines of these events within the room, and which events they show."""
    if sum(costs) <= room:
        return "\n".join(lines), list(events)
    order = sorted(range(len(events)), key=lambda n: (-_weight(events, n), n))
    chosen: set[int] = set()
    for n in order:
        cost = costs[n] + _GAP_TOKENS
        if cost <= room:
            chosen.add(n)
            room -= cost
    told: list[str] = []
    gap: list[Event] = []
    for n, event in enumerate(events):
        if n not in chosen:
            gap.append(event)
            continue
        if gap:
            told.append(_counted(gap, names))
            gap = []
        told.append(lines[n])
    if gap:
        told.append(_counted(gap, names))
    return "\n".join(told), [event for n, event in enumerate(events) if n in chosen]


def _weight(events: Sequence[Event], n: int) -> int:
    """How much a step has to tell: failures and what mended them, people, choices, borders."""
    event = events[n]
    if failed(event):
        return 5
    before = events[n - 1] if n else None
    if event.tool is not None and before is not None and failed(before):
        return 4
    if n in (0, len(events) - 1) or event.kind == "user":
        return 4
    return {"decision": 3, "message": 2}.get(event.kind, 0)


def _counted(gap: Sequence[Event], names: Mapping[str, str]) -> str:
    what = Counter(one.tool.name if one.tool is not None else one.kind for one in gap)
    told = ", ".join(f"{shortened(name, 12)} x{many}" for name, many in what.most_common(2))
    return f"… {len(gap)} more steps to {names[gap[-1].event_id]}: {told}"
