"""The verbs on runs at a door, for tests: begin, join, record, read, end, score."""

from typing import Any
from uuid import UUID

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.run import (
    Outcome,
    RecordAck,
    Run,
    RunClosure,
    Trajectory,
)
from tests.worlds import START, Staged

NOBODYS_RUN = str(UUID(int=0x7 << 76 | 0b10 << 62 | 0xABC))


async def planner(home: Staged, user: str | None = "alice", **fields: Any) -> str:
    return await home.ticket(agent="planner", user=user, **fields)


async def begun(home: Staged, token: str, **fields: Any) -> Run:
    fields = {"command_id": home.world.ids.token(), "goal": "Restore checkout", **fields}
    run = await home.ask(token, c.StartRun.model_validate(fields))
    assert isinstance(run, Run)
    return run


async def joined(home: Staged, token: str, run: Run) -> Run:
    there = await home.ask(token, c.JoinRun(run_id=run.run_id))
    assert isinstance(there, Run)
    return there


def event(home: Staged, run: Run, seq: int, *, agent: str = "planner", **fields: Any) -> Event:
    return Event.model_validate(
        {
            "event_id": home.world.ids.event_id(),
            "run_id": run.run_id,
            "agent": agent,
            "incarnation": "first",
            "seq": seq,
            "timestamp": START,
            "kind": "decision",
            "summary": f"step {seq}",
            **fields,
        }
    )


async def record(home: Staged, token: str, run: Run, *events: Event) -> RecordAck:
    ack = await home.ask(token, c.RecordEvents(run_id=run.run_id, events=events))
    assert isinstance(ack, RecordAck)
    return ack


async def trajectory(home: Staged, token: str, run: Run) -> Trajectory:
    read = await home.ask(token, c.ReadRun(run_id=run.run_id))
    assert isinstance(read, Trajectory)
    return read


async def close(home: Staged, token: str, run: Run) -> RunClosure:
    closure = await home.ask(token, c.CloseRun(run_id=run.run_id))
    assert isinstance(closure, RunClosure)
    return closure


async def score(home: Staged, token: str, run: Run, value: float, **fields: Any) -> Outcome:
    asked = c.AssertOutcome.model_validate({"run_id": run.run_id, "value": value, **fields})
    outcome = await home.ask(token, asked)
    assert isinstance(outcome, Outcome)
    return outcome
