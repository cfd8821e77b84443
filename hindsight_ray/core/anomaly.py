"""When is a trajectory worth a review? Triggers read from its structure and the user's words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_ray.core.dissatisfaction import dissatisfied
from hindsight_ray.core.steps import failed, step_key
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.ids import EventUuid
from hindsight_ray.domain.review import Trigger


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that went wrong, and the events that show it."""

    trigger: Trigger
    agent: str
    events: tuple[EventUuid, ...]


def anomalies(events: Sequence[Event], *, repeated_step_limit: int) -> tuple[Anomaly, ...]:
    """Every anomaly of events in order: at most one per agent and failing streak, step or word.

    Two tool failures in a row: of one agent, with no call of its own that worked in between.
    User dissatisfaction: what a user said (`core/dissatisfaction.py`).
    Repeated step: one agent did the same more than `repeated_step_limit` times.
    """
    return (
        *_failures_in_a_row(events),
        *_dissatisfied_users(events),
        *_repeated_steps(events, repeated_step_limit),
    )


def _failures_in_a_row(events: Sequence[Event]) -> list[Anomaly]:
    found: list[Anomaly] = []
    streaks: dict[str, list[EventUuid]] = {}
    for event in events:
        if event.tool is None:
            continue
        streak = streaks.setdefault(event.agent, [])
        if not failed(event):
            streak.clear()
            continue
        streak.append(event.event_id)
        if len(streak) == 2:
            found.append(Anomaly("two tool failures", event.agent, tuple(streak)))
    return found


def _dissatisfied_users(events: Sequence[Event]) -> list[Anomaly]:
    """A complaint before any agent did a step is about the world, not about the work."""
    worked = next((n for n, e in enumerate(events) if e.kind not in ("user", "state")), len(events))
    return [
        Anomaly("user dissatisfaction", event.agent, (event.event_id,))
        for event in events[worked:]
        if event.kind == "user" and dissatisfied(event.summary)
    ]


def _repeated_steps(events: Sequence[Event], limit: int) -> list[Anomaly]:
    keys = [step_key(event) for event in events]
    counts = Counter(key for key in keys if key is not None)
    return [
        Anomaly(
            "repeated step",
            key[0],
            tuple(e.event_id for e, k in zip(events, keys, strict=True) if k == key),
        )
        for key, count in counts.items()
        if count > limit
    ]
