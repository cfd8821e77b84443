"""When is a trajectory worth a review? Triggers read from its structure and the user's words."""

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_ray.core.dissatisfaction import dissatisfied
from hindsight_ray.core.steps import failed, step_key
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.ids import EventUuid
from hindsight_ray.domain.review import Trigger


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that went wrong, the events that show it, and the one that made it so."""

    trigger: Trigger
    agent: str
    events: tuple[EventUuid, ...]
    completed_by: EventUuid


def anomalies(
    events: Sequence[Event], *, repeated_step_limit: int, failures_in_row: int = 2
) -> tuple[Anomaly, ...]:
    """Every anomaly of events in order: at most one per agent and failing streak, step or word.

    Two tool failures in a row, or `failures_in_row` of them: of one agent, with no call of its own
    that worked in between.
    User dissatisfaction: what a user said (`core/dissatisfaction.py`).
    Repeated step: one agent did the same more than `repeated_step_limit` times.
    """
    return (
        *_failures_in_a_row(events, failures_in_row),
        *_dissatisfied_users(events),
        *_repeated_steps(events, repeated_step_limit),
    )


def _failures_in_a_row(events: Sequence[Event], limit: int) -> list[Anomaly]:
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
        if len(streak) == limit:
            found.append(Anomaly("two tool failures", event.agent, tuple(streak), event.event_id))
    return found


def _dissatisfied_users(events: Sequence[Event]) -> list[Anomaly]:
    """A complaint before any agent did a step is about the world, not about the work."""
    worked = next((n for n, e in enumerate(events) if e.kind not in ("user", "state")), len(events))
    return [
        Anomaly("user dissatisfaction", event.agent, (event.event_id,), event.event_id)
        for event in events[worked:]
        if event.kind == "user" and dissatisfied(event.summary)
    ]


def _repeated_steps(events: Sequence[Event], limit: int) -> list[Anomaly]:
    alike: dict[tuple[str, ...], list[EventUuid]] = {}
    for event in events:
        key = step_key(event)
        if key is not None:
            alike.setdefault(key, []).append(event.event_id)
    return [
        Anomaly("repeated step", key[0], tuple(ids), ids[limit])
        for key, ids in alike.items()
        if len(ids) > limit
    ]


def telling(events: Sequence[Event], *, repeated_step_limit: int) -> bool:
    """Whether a batch alone gives reason to look at its whole run for anomalies. Cheap.

    A loop that is spread over many batches is not told by one of them; the run's end sees it.
    """
    return any(
        failed(event) or (event.kind == "user" and dissatisfied(event.summary)) for event in events
    ) or bool(_repeated_steps(events, repeated_step_limit))
