"""What every importer makes of a log, and how it becomes a run with events.

A parser turns text into `LogRun`s, in which steps name each other by position. `recorded` gives
them ids: UUIDv5 of tenant, scope, the run's digest and the position, so that the same log imported
again names the same things and adds nothing.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hindsight_ray.core.digest import derived_uuid, digest, goal_digest
from hindsight_ray.core.logs.names import agent_id
from hindsight_ray.core.logs.times import moments
from hindsight_ray.core.values import as_list, as_object
from hindsight_ray.domain.base import build
from hindsight_ray.domain.event import EdgeEvidence, Event, EventKind, ToolCall
from hindsight_ray.domain.ids import RunUuid
from hindsight_ray.domain.run import Annotation, Participant, Run
from hindsight_ray.domain.scope import ScopeName, checked_audience
from hindsight_ray.domain.text import (
    CONTENT_CHARACTERS_MAX,
    SUMMARY_CHARACTERS_MAX,
    cut_text,
)
from hindsight_ray.errors import InvalidImport, InvalidInput

INCARNATION = "log"
STEPS_IN_RUN_MAX = 20_000
_STEP = timedelta(milliseconds=1)  # between events of a log without times


@dataclass(frozen=True, slots=True)
class LogStep:
    """One step of a log. `causes` are positions of earlier steps; `agent` is the log's own name."""

    position: int
    agent: str
    kind: EventKind
    summary: str
    causes: tuple[int, ...] = ()
    evidence: EdgeEvidence = "inferred"
    tool: ToolCall | None = None
    to: str | None = None
    model: str | None = None
    at: datetime | None = None  # when, if the log says so


@dataclass(frozen=True, slots=True)
class LogRemark:
    """A remark that came with a log, such as a culprit label; nothing that attributes reads it."""

    kind: str
    text: str
    agent: str | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class LogRun:
    """One run of a log: what it was about, its steps, its reward and remarks.

    `task` names the task where the goal does not: of two runs of one task the user may say it in
    other words. It is kept as a digest alone.
    """

    digest: str
    goal: str
    task_type: str
    steps: tuple[LogStep, ...]
    tools: tuple[str, ...] = ()
    task: str = ""
    reward: float | None = None
    remarks: tuple[LogRemark, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedLog:
    """The runs of a file by position, and the items that were left out, each with its reason."""

    runs: tuple[tuple[int, LogRun], ...]
    refused: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A log's run as the ledger keeps it."""

    run: Run
    events: tuple[Event, ...]
    annotations: tuple[Annotation, ...] = field(default=())


def loaded(text: str) -> object:
    """The JSON document of a file; raises `InvalidImport` saying where it breaks off."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise InvalidImport(
            f"`file` is not one whole JSON document: {error.msg} in line {error.lineno};"
            " nothing was imported",
            line=error.lineno,
        ) from None
    except (ValueError, RecursionError):
        raise InvalidImport(
            "`file` is not readable as JSON: a number or its nesting goes beyond every limit;"
            " nothing was imported"
        ) from None


def recorded(
    log: LogRun, *, tenant: str, scope: ScopeName, vouched_by: str | None, now: datetime
) -> Recorded:
    """The run and its events; trusted if somebody vouches for it.

    At the times that the log says. Where it says none the run is not `timed`: it stands at `now`,
    when it is imported, and the times of its events do no more than order them.
    Raises `InvalidInput` for what cannot be kept.
    """
    run_id = run_uuid(log, tenant, scope)
    said = moments([step.at for step in log.steps], now)
    times = said or [now + step.position * _STEP for step in log.steps]
    events = tuple(_events(log, run_id, times))
    agents = dict.fromkeys(agent_id(step.agent) for step in log.steps)
    goal = cut_text(log.goal, SUMMARY_CHARACTERS_MAX)[0].strip() or "(no goal on record)"
    run = build(
        Run,
        {
            "run_id": run_id,
            "tenant": tenant,
            "scope": scope,
            "audience": checked_audience([scope]),
            "goal": goal,
            "task_type": short(log.task_type),
            "goal_digest": goal_digest(log.task or log.goal),
            "tools": tuple(short(tool) for tool in log.tools),
            "participants": tuple(Participant(agent=agent) for agent in agents),
            "started_at": events[0].timestamp if events else now,
            "closed_at": events[-1].timestamp if events else now,
            "timed": said is not None,
            "imported": True,
            "trusted": vouched_by is not None,
            "vouched_by": vouched_by,
        },
    )
    annotations = tuple(
        Annotation(
            run_id=run.run_id,
            kind=short(remark.kind),
            agent=agent_id(remark.agent) if remark.agent is not None else None,
            event=None if remark.position is None else events[remark.position].event_id,
            text=cut_text(remark.text, SUMMARY_CHARACTERS_MAX)[0],
        )
        for remark in log.remarks
    )
    return Recorded(run, events, annotations)


def run_uuid(log: LogRun, tenant: str, scope: str) -> RunUuid:
    """The run's id, which the same log in the same place always gets."""
    return RunUuid(derived_uuid("imported run", tenant, scope, log.digest))


def short(text: str) -> str:
    """A name fit for a field of 200 characters."""
    return cut_text(" ".join(text.split()), CONTENT_CHARACTERS_MAX)[0] or "unnamed"


def text_of(content: object) -> str:
    """The text of a message's content: text, or a list of parts of which text parts count."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = as_list(content)
    if parts is None:
        kind = type(content).__name__
        raise InvalidInput(f"`content` must be text or a list of parts, not {kind}")
    return "\n".join(_part_text(part) for part in parts)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    fields = as_object(part)
    if fields is None:
        raise InvalidInput(f"`content` holds a part that is no object: {type(part).__name__}")
    text = fields.get("text")
    return text if isinstance(text, str) else f"[{fields.get('type', 'part')}]"


def _events(log: LogRun, run_id: str, times: Sequence[datetime]) -> Iterator[Event]:
    if len(log.steps) > STEPS_IN_RUN_MAX:
        raise InvalidInput(f"`run` has {len(log.steps)} steps; at most {STEPS_IN_RUN_MAX} are kept")
    ids = [_event_uuid(run_id, step) for step in log.steps]
    numbers: dict[str, int] = {}
    for step, event_id, at in zip(log.steps, ids, times, strict=True):
        agent = agent_id(step.agent)
        seq = numbers.get(agent, 0)
        numbers[agent] = seq + 1
        summary, cut = cut_text(step.summary, SUMMARY_CHARACTERS_MAX)
        yield build(
            Event,
            {
                "event_id": event_id,
                "run_id": run_id,
                "agent": agent,
                "incarnation": INCARNATION,
                "seq": seq,
                "timestamp": at,
                "kind": step.kind,
                "summary": summary,
                "tool": step.tool,
                "to": agent_id(step.to) if step.to is not None else None,
                "causes": tuple(ids[cause] for cause in step.causes),
                "edge_evidence": step.evidence,
                "model": short(step.model) if step.model else None,
                "truncated": cut,
            },
        )


def _event_uuid(run_id: str, step: LogStep) -> str:
    return derived_uuid("imported event", run_id, step.position)


def parsed(items: Sequence[object], run: Callable[[object, str], LogRun]) -> ParsedLog:
    """Every item read by `run`; bad and repeated ones are left out, each with its reason."""
    runs: list[tuple[int, LogRun]] = []
    refused: list[tuple[int, str]] = []
    first_at: dict[str, int] = {}
    for position, item in enumerate(items):
        try:
            name = digest(item)
            if name in first_at:
                refused.append((position, f"is the same as item {first_at[name]}"))
                continue
            first_at[name] = position
            runs.append((position, run(item, name)))
        except InvalidInput as error:
            refused.append((position, error.message))
        except RecursionError:
            refused.append((position, "is nested too deeply to be read"))
    return ParsedLog(tuple(runs), tuple(refused))
