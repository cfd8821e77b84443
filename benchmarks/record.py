"""What recording costs the agent's own thread, against building the same event and keeping it.

The peer builds and validates an equal `Event` (its id and digests are given) and appends it to a
list. Both are timed in alternating blocks of one run, while batches are shipped in the background.
"""

import asyncio
import importlib
import importlib.util
import pathlib
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from hindsight_ray.adapters.clock import SystemClock, SystemIds
from hindsight_ray.client.calls import Calls
from hindsight_ray.client.loop import LoopThread
from hindsight_ray.client.run import RunRecorder
from hindsight_ray.client.transport import Connection
from hindsight_ray.core.digest import bounded_canonical, bounded_digest
from hindsight_ray.domain.commands import Command, RecordEvents
from hindsight_ray.domain.event import Event, ToolCall
from hindsight_ray.domain.run import RecordAck, Run
from hindsight_ray.domain.settings import Settings

_BLOCKS = 20
_PER_BLOCK = 250
_RATIO_MAX = 3.0
_ARGUMENTS = {"release": 41, "service": "checkout"}
_HOSTS = "benchmarks.record_host"  # what goes on beyond the agent's thread, where it is there


class _Shipping:
    """Acknowledges at once, or never: what happens to a batch is not this benchmark's matter."""

    def __init__(self, *, answers: bool) -> None:
        self._answers = answers

    async def call(self, token: str, command: Command) -> Any:
        assert isinstance(command, RecordEvents)
        assert token
        if not self._answers:
            await asyncio.get_running_loop().create_future()
        return RecordAck(stored=len(command.events), repeated=0)

    async def close(self) -> None: ...


def figures(data: pathlib.Path) -> list[dict[str, Any]]:
    """Ratios of p50, recording to the peer; then the figures of the hosts."""
    found = [
        _figure(
            "record.decide",
            "p50 of `run.decide` to building, validating and keeping the same event",
            _ratio(_decide, _decision, answers=True),
        ),
        _figure(
            "record.tool",
            "p50 of `run.tool`, digests included, to the same for its event",
            _ratio(_tool, _tool_event, answers=True),
        ),
        _figure(
            "record.stuck",
            "p50 of `run.decide` while nothing is acknowledged and the buffer has room",
            _ratio(_decide, _decision, answers=False),
        ),
    ]
    if importlib.util.find_spec(_HOSTS) is not None:
        found.extend(importlib.import_module(_HOSTS).figures(data))
    return found


def _figure(name: str, what: str, value: float) -> dict[str, Any]:
    return {
        "id": name,
        "what": what,
        "value": value,
        "bound": _RATIO_MAX,
        "holds": value <= _RATIO_MAX,
        "unit": "ratio",
    }


def _ratio(
    record: Callable[[RunRecorder, str], object],
    build: Callable[[Run, str, str, int], Event],
    *,
    answers: bool,
) -> float:
    loop, ids = LoopThread(), SystemIds()
    try:
        recorder, run = _recorder(loop, ids, answers=answers)
        kept: list[Event] = []
        cause = ids.event_id()
        ours: list[int] = []
        peers: list[int] = []
        for _ in range(_BLOCKS):
            for number in range(_PER_BLOCK):
                name = ids.event_id()
                started = time.perf_counter_ns()
                kept.append(build(run, name, cause, number))
                peers.append(time.perf_counter_ns() - started)
            for _ in range(_PER_BLOCK):
                started = time.perf_counter_ns()
                record(recorder, cause)
                ours.append(time.perf_counter_ns() - started)
        return statistics.median(ours) / statistics.median(peers)
    finally:
        loop.stop()


def _recorder(loop: LoopThread, ids: SystemIds, *, answers: bool) -> tuple[RunRecorder, Run]:
    clock = SystemClock()
    settings = Settings(buffer_events=2 * _BLOCKS * _PER_BLOCK)
    connection = Connection(_Shipping(answers=answers), settings, clock, ids)

    async def token() -> str:
        return "ticket"

    fields = {
        "run_id": ids.event_id(),
        "tenant": "acme",
        "scope": "user:alice",
        "audience": ("user:alice",),
        "goal": "Restore checkout",
        "task_type": "operate",
        "goal_digest": "",
        "started_at": clock.now(),
    }
    run = Run.model_validate(fields)
    return RunRecorder(Calls(connection, loop, token), run, name="planner", began=False), run


def _decide(recorder: RunRecorder, cause: str) -> object:
    return recorder.decide("Roll back release 41", causes=[cause])


def _decision(run: Run, name: str, cause: str, number: int) -> Event:
    return Event.model_validate(
        {
            "event_id": name,
            "run_id": run.run_id,
            "agent": "planner",
            "incarnation": "first",
            "seq": number,
            "timestamp": datetime.now(UTC),
            "kind": "decision",
            "summary": "Roll back release 41",
            "causes": (cause,),
        }
    )


def _tool(recorder: RunRecorder, cause: str) -> object:
    return recorder.tool("deploy.rollback", arguments=_ARGUMENTS, result="ok", causes=[cause])


_ARGUMENTS_DIGEST = bounded_digest(*bounded_canonical(_ARGUMENTS))
_RESULT_DIGEST = bounded_digest(*bounded_canonical("ok"))


def _tool_event(run: Run, name: str, cause: str, number: int) -> Event:
    call = ToolCall.model_validate(
        {
            "name": "deploy.rollback",
            "arguments_digest": _ARGUMENTS_DIGEST,
            "result_digest": _RESULT_DIGEST,
        }
    )
    return Event.model_validate(
        {
            "event_id": name,
            "run_id": run.run_id,
            "agent": "planner",
            "incarnation": "first",
            "seq": number,
            "timestamp": datetime.now(UTC),
            "kind": "tool",
            "summary": "ok",
            "tool": call,
            "causes": (cause,),
        }
    )
