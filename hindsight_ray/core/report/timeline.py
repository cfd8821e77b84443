"""Where does each step stand in the figure of a run? A lane for each agent, time to the right.

Decisions are discs with their number, coloured by credit; other steps are small boxes; arrows lead
from causes to effects, drawn by how the cause is known. Steps that follow each other at once are
set apart, so the axis is stretched there: its ticks say the true seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hindsight_ray.core.report.colours import (
    FLAG,
    INK,
    NO_CREDIT,
    credit_colour,
    text_colour,
)
from hindsight_ray.core.report.shapes import Arrow, Box, Disc, Figure, Rule, Shape, Words
from hindsight_ray.core.steps import Steps, failed, shortened
from hindsight_ray.domain.credit import Attribution, Credit
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.run import Trajectory

STEPS_MAX = 300  # in one figure; decisions come first, then what stands nearest to them
_LEFT, _RIGHT, _TOP, _LANE, _BOTTOM = 150.0, 40.0, 56.0, 92.0, 96.0
_ACROSS = 900.0  # at least, for the steps alone
_APART = 38.0  # between steps at least
_RADIUS, _HALF = 14.0, 6.0
_TICKS = 8
_GAPS: Mapping[str, tuple[float, float] | None] = {
    "observed": None, "declared": (7.0, 3.0), "inferred": (1.5, 3.5),
}  # fmt: skip
_EDGE, _GRID, _DIM, _OTHER = "#8c8c8c", "#e8e8e8", "#666666", "#b8c4cc"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The steps that are shown, and where."""

    events: tuple[Event, ...]
    numbers: Mapping[str, int]
    lanes: Mapping[str, int]
    at: Mapping[str, tuple[float, float]]
    right: float

    @property
    def foot(self) -> float:
        return _TOP + _LANE * len(self.lanes)


@dataclass(frozen=True, slots=True)
class _Given:
    """What the steps are coloured by, what that is called, and the greatest size that any has."""

    credits: Mapping[str, Credit]
    most: float
    word: str
    suspects: frozenset[str]

    @classmethod
    def of(cls, attribution: Attribution) -> "_Given":
        given = credits_of(attribution)
        most = max((abs(one.value) for one in given.values()), default=0.0)
        suspects = frozenset(target.id for target in attribution.suspects)
        return cls(given, most, attribution.word, suspects)


def step_numbers(events: Sequence[Event]) -> dict[str, int]:
    """The number that people know each step by: its place in the run, from 1."""
    return {str(event.event_id): number for number, event in enumerate(events, start=1)}


def credits_of(attribution: Attribution) -> dict[str, Credit]:
    """The credit of each event that has one."""
    return {one.target.id: one for one in attribution.credits if one.target.kind == "event"}


def timeline(trajectory: Trajectory, attribution: Attribution) -> Figure:
    """The run as a figure. At most `STEPS_MAX` steps are drawn, and the note says so."""
    plan = _plan(trajectory.events)
    given = _Given.of(attribution)
    shapes: list[Shape] = [*_lanes(plan), *_ticks(plan, timed=trajectory.run.timed), *_arrows(plan)]
    for event in plan.events:
        shapes += _marks(plan, event, given)
    shapes += _legend(plan, given.most, given.word)
    every = len(trajectory.events)
    note = "" if len(plan.events) == every else f"{len(plan.events)} of {every} steps are drawn"
    by = f"{attribution.word} ({attribution.method})"
    order = "over time" if trajectory.run.timed else "in order"
    return Figure(
        across=plan.right + _RIGHT,
        down=plan.foot + _BOTTOM,
        shapes=tuple(shapes),
        label=f"Steps of the run {order}, decisions coloured by {by}",
        note=note,
    )


def _plan(events: Sequence[Event]) -> _Plan:
    numbers = step_numbers(events)
    chosen = _chosen(events)
    lanes: dict[str, int] = {}
    for event in chosen:
        lanes.setdefault(str(event.agent), len(lanes))
    places = _places(chosen)
    at = {
        str(event.event_id): (x, _TOP + _LANE * (lanes[str(event.agent)] + 0.5))
        for event, x in zip(chosen, places, strict=True)
    }
    return _Plan(chosen, numbers, lanes, at, max(places, default=_LEFT) + _APART)


def _chosen(events: Sequence[Event]) -> tuple[Event, ...]:
    if len(events) <= STEPS_MAX:
        return tuple(events)
    decisions = [event for event in events if event.kind == "decision"][:STEPS_MAX]
    others = [event for event in events if event.kind != "decision"][: STEPS_MAX - len(decisions)]
    kept = {event.event_id for event in (*decisions, *others)}
    return tuple(event for event in events if event.event_id in kept)


def _places(events: Sequence[Event]) -> list[float]:
    """Positions to the right in true proportion, pushed on where steps would touch."""
    if not events:
        return []
    start = events[0].timestamp
    seconds = [(event.timestamp - start).total_seconds() for event in events]
    whole = max(seconds[-1], 1e-9)
    across = max(_ACROSS, _APART * len(events))
    found: list[float] = []
    for passed in seconds:
        wanted = _LEFT + _APART + across * max(passed, 0.0) / whole * 0.5
        found.append(wanted if not found else max(wanted, found[-1] + _APART))
    # Half of the width is for true time, half for keeping steps apart; use what is left over.
    stretch = max(1.0, across / max(found[-1] - found[0], 1.0)) if len(found) > 1 else 1.0
    return [found[0] + (x - found[0]) * stretch for x in found]


def _lanes(plan: _Plan) -> list[Shape]:
    found: list[Shape] = []
    for agent, lane in plan.lanes.items():
        top = _TOP + _LANE * lane
        if lane % 2 == 0:
            found.append(Box(0, top, plan.right + _RIGHT, _LANE, "#f7f7f7"))
        found.append(Words(12, top + _LANE / 2 + 4, shortened(agent, 20), 13, bold=True))
    return found


def _ticks(plan: _Plan, *, timed: bool) -> list[Shape]:
    """True seconds at some of the steps, none over another; their numbers without times."""
    if not plan.events:
        return []
    start = plan.events[0].timestamp
    every = max(1, len(plan.events) // _TICKS)
    found: list[Shape] = []
    before = -1e9
    for event in plan.events[::every]:
        x, _ = plan.at[str(event.event_id)]
        if x - before < 2 * _APART:
            continue
        before = x
        passed = _seconds((event.timestamp - start).total_seconds())
        said = passed if timed else f"step {plan.numbers[str(event.event_id)]}"
        found.append(Rule(x, _TOP - 10, x, plan.foot, _GRID))
        found.append(Words(x, _TOP - 16, said, 11, "middle", _DIM))
    return found


def _seconds(passed: float) -> str:
    if passed >= 600:
        return f"+{passed / 60:.0f} min"
    return f"+{passed:.0f} s" if passed >= 10 or passed == 0 else f"+{passed:.3g} s"


def _arrows(plan: _Plan) -> list[Shape]:
    steps = Steps(plan.events)
    return [
        _arrow(plan, cause, event)
        for event in plan.events
        for cause in steps.causes[event.event_id]
        if cause != event.event_id
    ]


def _arrow(plan: _Plan, cause: str, effect: Event) -> Arrow:
    x0, y0 = plan.at[cause]
    x1, y1 = plan.at[str(effect.event_id)]
    # Arrows within a lane bow upwards, the more so the more steps they pass.
    lift = min(9.0 + abs(x1 - x0) * 0.06, _LANE * 0.4) if y0 == y1 else 0.0
    bend_x, bend_y = (x0 + x1) / 2, (y0 + y1) / 2 - 2 * lift * (abs(x1 - x0) > 1.5 * _APART)
    if y0 != y1:
        bend_x += (x1 - x0) * 0.25
        bend_y = y0 + (y1 - y0) * 0.15
    start_x, start_y = _towards(x0, y0, bend_x, bend_y, _RADIUS + 1)
    end_x, end_y = _towards(x1, y1, bend_x, bend_y, _RADIUS + 2)
    gaps = _GAPS[effect.edge_evidence]
    return Arrow(start_x, start_y, bend_x, bend_y, end_x, end_y, _EDGE, 1.4, gaps)


def _towards(x: float, y: float, to_x: float, to_y: float, by: float) -> tuple[float, float]:
    size = max(((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5, 1e-9)
    return x + (to_x - x) / size * by, y + (to_y - y) / size * by


def _marks(plan: _Plan, event: Event, given: _Given) -> list[Shape]:
    x, y = plan.at[str(event.event_id)]
    number = plan.numbers[str(event.event_id)]
    told = f"#{number} {event.agent}, {event.kind}: {shortened(event.summary, 160)}"
    ring: list[Shape] = []
    if event.event_id in given.suspects:
        ring = [Disc(x, y, _RADIUS + 2, "none", FLAG, 2.2, dashed=True)]
    if event.kind != "decision":
        fill = FLAG if failed(event) else _OTHER
        return [*ring, Box(x - _HALF, y - _HALF, 2 * _HALF, 2 * _HALF, fill, _DIM, told)]
    fill = NO_CREDIT
    one = given.credits.get(str(event.event_id))
    if one is not None:
        fill = credit_colour(one.value, given.most)
        told += f"; {given.word} {one.value:+.3f} ({one.low:+.3f} to {one.high:+.3f}), "
        told += f"{one.method}, {one.evidence}"
    disc = Disc(x, y, _RADIUS, fill, INK, title=told, text=str(number), text_fill=text_colour(fill))
    return [*ring, disc]


def _legend(plan: _Plan, most: float, word: str) -> list[Shape]:
    y = plan.foot + 34
    found: list[Shape] = [Words(12, y + 4, word, 12, bold=True)]
    x = _LEFT
    if most > 0:
        for part in range(21):
            value = (part - 10) / 10
            found.append(Box(x + part * 8, y - 8, 8, 14, credit_colour(value, 1.0)))
        found.append(Words(x, y + 22, f"{-most:+.3g}", 11, "start", _DIM))
        found.append(Words(x + 84, y + 22, "0", 11, "middle", _DIM))
        found.append(Words(x + 168, y + 22, f"{most:+.3g}", 11, "end", _DIM))
    x += 200
    found += [Disc(x, y, 9, NO_CREDIT, INK), Words(x + 15, y + 4, f"decision without {word}", 11)]
    x += 160
    found += [Disc(x, y, 9, "none", FLAG, 2.2, dashed=True)]
    found += [Words(x + 15, y + 4, "suspect", 11)]
    x += 85
    found += [Box(x - 6, y - 6, 12, 12, _OTHER, _DIM), Words(x + 12, y + 4, "other step", 11)]
    x += 95
    found += [Box(x - 6, y - 6, 12, 12, FLAG, _DIM), Words(x + 12, y + 4, "failed call", 11)]
    x = _LEFT + 200
    for name, gaps in _GAPS.items():
        found.append(Arrow(x - 9, y + 26, x + 10, y + 26, x + 28, y + 26, _EDGE, 1.4, gaps))
        found.append(Words(x + 34, y + 30, f"cause {name}", 11))
        x += 150
    return found
