"""A small simulation for tests of replay: cooks choose, a bad choice spoils the dish.

Recorded by the real client, replayed from what it recorded.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hindsight_ray.client import Memory
from hindsight_ray.client.run import RunRecorder
from hindsight_ray.core.attribution.environment import RecordedMemory, Restored, Script
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.event import Event

SPOILT = "salt twice"
CAREFUL = "taste first"


def digest_of(choices: Sequence[str]) -> str:
    return hashlib.sha256("|".join(choices).encode()).hexdigest()[:12]


def dish(choices: Sequence[str], *, hard: bool = False) -> float:
    """1 for a dish nobody spoilt and, on a hard day, somebody took care of; else -1."""
    return -1.0 if SPOILT in choices or (hard and CAREFUL not in choices) else 1.0


def advised(texts: Sequence[str]) -> str:
    """What a cook does with the memories it is offered: what the first one says, else its best."""
    return next((text.rpartition(": ")[2] for text in texts), "season well")


@dataclass(frozen=True, slots=True)
class Kitchen:
    """The environment: a run is the choices of its cooks in order."""

    events: tuple[Event, ...]
    hard: bool = False
    name: str = "kitchen 1"
    deterministic: bool = True

    def restore(self, prefix: Sequence[Event]) -> Restored:
        made = [event.summary for event in prefix if event.kind == "decision"]
        return Restored(made, digest_of(made))

    def redecide(self, event: Event, policy: str) -> object:
        assert event.kind == "decision"
        assert policy == "baseline"
        return "season well"

    def decided(self, state: Any, event: Event, seed: int, memory: RecordedMemory) -> str:
        return advised([text for _, text in memory.offered(event.event_id)])

    def continue_(self, state: Any, seed: int, script: Script) -> float:
        choices = list(state)
        decisions = [event for event in self.events if event.kind == "decision"]
        for event in decisions[len(choices) :]:
            one = event.event_id
            if one in script.redecided:
                choices.append(str(script.redecided[one]))
            elif script.memory.changed(one):
                choices.append(advised([text for _, text in script.memory.offered(one)]))
            else:
                choices.append(event.summary)
        return dish(choices, hard=self.hard)


async def cooked(
    memory: Memory,
    *,
    query: str = "how to season",
    goal: str = "Cook a stew",
    cooks: int = 2,
    k: int = 2,
) -> tuple[str, Found]:
    """One run: the first cook asks its memory, the others do well. Its id, and what was found."""
    async with memory.run(goal=goal, task_type="cook", seed=3) as run:
        found = await memory.search(query, run=run, k=k, types=["preference"])
        texts = [hit.memory.content for hit in found.hits]
        _cook(run, advised(texts), cooks, found)
    return run.id, found


def _cook(run: RunRecorder, first: str, cooks: int, found: Found) -> None:
    made: list[str] = []
    last: str | None = None
    for n in range(cooks):
        run.state(f"before choice {n}", state_digest=digest_of(made))
        choice = first if n == 0 else "season well"
        used = found.ids[:1] if n == 0 else ()
        decided = run.decide(
            choice, used=used, causes=[last] if last else [], edge_evidence="observed"
        )
        made.append(choice)
        last = run.tool("stir", arguments={"n": n}, result="stirred", causes=[decided],
                        edge_evidence="observed")  # fmt: skip
    run.tool("serve", result="served", causes=[last] if last else [], edge_evidence="observed")
