"""Which memories made a decision what it was, whatever came of it afterwards?

The memory game with another value: 1 where the agent, offered only some of the memories, still
decides as it did with all of them, else 0. It needs no outcome, and one decision instead of a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hindsight_ray.core.attribution.environment import (
    Environment,
    RecordedMemory,
    Restored,
    Script,
    first_decision,
)
from hindsight_ray.core.digest import derived_uuid
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.run import Outcome, Trajectory
from hindsight_ray.errors import InvalidInput


class Deciding(Environment, Protocol):
    """An environment that can also tell a decision by itself."""

    def decided(self, state: Any, event: Event, seed: int, memory: RecordedMemory) -> str:
        """What the agent's own policy decides at `event` with what `memory` offers it there.

        Equal texts for equal decisions; nothing in it may depend on how a run goes on.
        """
        ...


@dataclass(frozen=True, slots=True)
class OneDecision:
    """One decision of an environment, as an environment: its outcome is whether it stayed."""

    environment: Deciding
    event: Event

    @property
    def name(self) -> str:
        return f"{self.environment.name}, decision {self.event.event_id}"

    @property
    def deterministic(self) -> bool:
        return self.environment.deterministic

    def restore(self, prefix: Sequence[Event]) -> Restored:
        return self.environment.restore(prefix)

    def redecide(self, event: Event, policy: str) -> object:
        raise InvalidInput(
            f"`redecide` of {event.event_id} by {policy!r}: only memories play for one decision"
        )

    def continue_(self, state: Any, seed: int, script: Script) -> float:
        everything = RecordedMemory(script.memory.offers)
        without = self.environment.decided(state, self.event, seed, script.memory)
        return float(without == self.environment.decided(state, self.event, seed, everything))


def one_decision(
    environment: Environment, trajectory: Trajectory, decision: str
) -> tuple[OneDecision, Trajectory]:
    """The game of one decision: its environment, and the run with the decision as its outcome.

    Raises `InvalidInput` if there is no such decision, or the environment cannot tell one.
    """
    events = trajectory.events
    at = first_decision(events, [decision])
    if at == len(events) or events[at].kind != "decision":
        raise InvalidInput(f"`decision` {decision!r} is no decision of this run", field="decision")
    if not hasattr(environment, "decided"):
        raise InvalidInput(
            "`environment` has no `decided`, which tells one decision by itself",
            field="environment",
        )
    stayed = Outcome(
        outcome_id=derived_uuid("decision stayed", decision),
        run_id=trajectory.run.run_id,
        value=1.0,
        success=True,
        evaluator="replay",
        by="replay",
        participant=False,
        evaluates=False,
        at=trajectory.run.started_at,
    )
    deciding: Any = environment
    return OneDecision(deciding, events[at]), trajectory.model_copy(update={"outcomes": (stayed,)})
