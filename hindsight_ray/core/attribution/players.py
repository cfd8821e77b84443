"""Who plays: decisions, agents with all of theirs, or memories; and what a coalition replays.

In a coalition the players who belong to it do as was recorded; the decisions of all others are
made anew by the baseline, and memories that do not belong to it are withheld.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hindsight_ray.core.attribution.environment import Change
from hindsight_ray.core.steps import shortened
from hindsight_ray.domain.credit import Credit, Target
from hindsight_ray.domain.event import Event, MemoryRef

PlayerKind = Literal["decisions", "agents", "memories"]
LABEL = 120  # characters that a target is shown with


@dataclass(frozen=True, slots=True)
class Player:
    """Who is credited, and what stands and falls with them."""

    target: Target
    decisions: frozenset[str] = frozenset()
    offers: frozenset[tuple[str, str]] = frozenset()  # a decision, and a memory offered to it


def decision_players(decisions: Iterable[Event]) -> tuple[Player, ...]:
    """Each decision for itself."""
    return tuple(
        Player(event_target(event), decisions=frozenset({str(event.event_id)}))
        for event in decisions
    )


def agent_players(decisions: Iterable[Event]) -> tuple[Player, ...]:
    """Each agent with all of its decisions, in order of appearance."""
    own: dict[str, set[str]] = {}
    for event in decisions:
        own.setdefault(str(event.agent), set()).add(str(event.event_id))
    return tuple(
        Player(Target(kind="agent", id=agent, label=agent), decisions=frozenset(ids))
        for agent, ids in own.items()
    )


def memory_players(
    decisions: Iterable[Event], offers: Mapping[str, Sequence[tuple[MemoryRef, str]]]
) -> tuple[Player, ...]:
    """Each memory that was offered to one of these decisions, wherever among them it was."""
    where: dict[str, set[tuple[str, str]]] = {}
    label: dict[str, str] = {}
    for event in decisions:
        for ref, text in offers.get(str(event.event_id), ()):
            where.setdefault(ref.id, set()).add((str(event.event_id), ref.id))
            label[ref.id] = shortened(text, LABEL)
    return tuple(
        Player(Target(kind="memory", id=name, label=label[name]), offers=frozenset(pairs))
        for name, pairs in where.items()
    )


def change_of(players: Sequence[Player], coalition: int) -> Change:
    """What to replay for a coalition: bit i stands for player i."""
    absent = [player for n, player in enumerate(players) if not coalition >> n & 1]
    return Change(
        redecided=frozenset(one for player in absent for one in player.decisions),
        withheld=frozenset(one for player in absent for one in player.offers),
    )


def starts_at(players: Iterable[Player]) -> frozenset[str]:
    """The decisions that some coalition changes: a replay starts before the first of them."""
    return frozenset(
        one
        for player in players
        for one in (*player.decisions, *(decision for decision, _ in player.offers))
    )


def unions_of(decisions: Sequence[Event]) -> dict[str, list[int]]:
    """The players that each agent's decisions are, in order of appearance."""
    found: dict[str, list[int]] = {}
    for n, event in enumerate(decisions):
        found.setdefault(str(event.agent), []).append(n)
    return found


def event_target(event: Event) -> Target:
    """A decision with a line that says whose and what it was."""
    text = shortened(event.summary, LABEL) or event.kind
    return Target(kind="event", id=event.event_id, label=f"{event.agent}: {text}")


def exact_zero(event: Event, method: str) -> Credit:
    """Of a decision that the record shows to have had no part."""
    return Credit(
        target=event_target(event), value=0.0, low=0.0, high=0.0, method=method,
        evidence="structural",
    )  # fmt: skip
