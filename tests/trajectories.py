"""Small trajectories for tests, said in few words: events by name, causes by name."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_ray.core.digest import derived_uuid, digest, goal_digest
from hindsight_ray.domain.event import EdgeEvidence, Event, EventKind, MemoryRef, ToolCall
from hindsight_ray.domain.run import Outcome, Participant, Run, Trajectory

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
RUN = derived_uuid("test run")


def event_id(name: str) -> str:
    """The id of the event that a test calls `name`."""
    return derived_uuid("test event", name)


@dataclass
class Story:
    """Events told one after the other, a second apart."""

    evidence: EdgeEvidence = "declared"
    events: list[Event] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        name: str,
        kind: EventKind,
        summary: str,
        *,
        agent: str = "planner",
        causes: Iterable[str] = (),
        tool: ToolCall | None = None,
        to: str | None = None,
        used: Iterable[MemoryRef] = (),
        evidence: EdgeEvidence | None = None,
    ) -> str:
        seq = self._numbers.get(agent, 0)
        self._numbers[agent] = seq + 1
        self.events.append(
            Event(
                event_id=event_id(name),
                run_id=RUN,
                agent=agent,
                incarnation="one",
                seq=seq,
                timestamp=START + timedelta(seconds=len(self.events)),
                kind=kind,
                summary=summary,
                tool=tool,
                to=to,
                causes=tuple(event_id(cause) for cause in causes),
                edge_evidence=evidence or self.evidence,
                used=tuple(used),
            )
        )
        return name

    def decide(self, name: str, text: str = "", **more: Any) -> str:
        return self.add(name, "decision", text or f"decide {name}", **more)

    def call(
        self,
        name: str,
        tool: str,
        arguments: object,
        *,
        result: object = "ok",
        error: str | None = None,
        summary: str | None = None,
        **more: Any,
    ) -> str:
        shown = f"{tool}({arguments}) → {error or result}" if summary is None else summary
        value = ToolCall(
            name=tool,
            arguments_digest=digest(arguments),
            status="ok" if error is None else "error",
            error_text=error or "",
            result_digest=digest(result if error is None else error),
        )
        return self.add(name, "tool", shown, tool=value, **more)

    def say(self, name: str, text: str, *, to: str, **more: Any) -> str:
        return self.add(name, "message", text, to=to, **more)

    def user(self, name: str, text: str, **more: Any) -> str:
        return self.add(name, "user", text, **more)

    def trajectory(self, value: float | None = None, **fields: Any) -> Trajectory:
        return Trajectory(
            run=run_value([str(event.agent) for event in self.events]),
            events=tuple(self.events),
            outcomes=() if value is None else (outcome_value(value),),
            **fields,
        )


def run_value(agents: Iterable[str] = ("planner",), goal: str = "Restore checkout") -> Run:
    return Run.model_validate(
        {
            "run_id": RUN,
            "tenant": "acme",
            "scope": "user:alice",
            "audience": ("user:alice",),
            "goal": goal,
            "task_type": "operate",
            "goal_digest": goal_digest(goal),
            "participants": tuple(
                Participant.model_validate({"agent": agent, "user": "alice"})
                for agent in dict.fromkeys(agents)
            ),
            "started_at": START,
        }
    )


def outcome_value(
    value: float,
    *,
    by: str = "agent:judge",
    evaluates: bool = True,
    participant: bool = False,
    minute: int = 0,
) -> Outcome:
    return Outcome(
        outcome_id=derived_uuid("outcome", by, minute),
        run_id=RUN,
        value=value,
        success=value > 0,
        evaluator="monitor",
        by=by,
        participant=participant,
        evaluates=evaluates,
        at=START + timedelta(minutes=minute),
    )
