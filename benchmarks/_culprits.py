"""Labelled failure logs of teams, the rules that name a culprit in them, and exact scoring.

A rule scores decisions; the best one is its step, the agent with the greatest sum its agent. Ties
are broken by lot, so that a rule gets the share of hits that its ties would bring. An answer counts
only if it is the label itself: the same agent's name in full, the same position in the log.
"""

import json
import math
import pathlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hindsight_ray.core.attribution.features import error_word, observed
from hindsight_ray.core.attribution.prior import Labelled, fitted
from hindsight_ray.core.attribution.provenance import provenance
from hindsight_ray.core.attribution.spectrum import chance_on_top
from hindsight_ray.core.logs.names import agent_id
from hindsight_ray.core.logs.shape import recorded
from hindsight_ray.core.logs.who_and_when import parse
from hindsight_ray.core.steps import failed
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.run import Outcome, Trajectory

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_DRAWS = 2_000
_Z = 1.959963984540054

Answer = Mapping[str, float]  # scores of event ids, or of agents


@dataclass(frozen=True, slots=True)
class Label:
    """Who and where, in the log's own terms."""

    agent: str
    step: int


@dataclass(frozen=True, slots=True)
class Log:
    """One failed run with its labels: the data set's own, and a second one where there is any."""

    question: str
    trajectory: Trajectory
    label: Label
    second: Label | None

    @property
    def events(self) -> tuple[Event, ...]:
        return self.trajectory.events

    @property
    def decisions(self) -> list[Event]:
        return [event for event in self.events if event.kind == "decision"]

    def at(self, step: int) -> Event | None:
        """The decision at a position of the log, if that is one."""
        event = self.events[step] if 0 <= step < len(self.events) else None
        return event if event is not None and event.kind == "decision" else None


@dataclass(frozen=True, slots=True)
class Named:
    """What a rule answers about one log."""

    agents: Answer
    steps: Answer


Rule = Callable[[Sequence[Log], Log], Named]  # from the other logs, and the one in question


def read_logs(folder: pathlib.Path, name: str, second: str | None = None) -> list[Log]:
    """The labelled logs of one file, through the product's own importer."""
    text = (folder / name).read_text(encoding="utf-8")
    items = json.loads(text)
    others = _second_labels(folder / second) if second is not None else {}
    logs: list[Log] = []
    for position, run in parse(text).runs:
        item = items[position]
        kept = recorded(run, tenant="t", scope="global", vouched_by=None, now=_START)
        logs.append(
            Log(
                question=str(item["question_ID"]),
                trajectory=Trajectory(
                    run=kept.run, events=kept.events, outcomes=(_failure(kept.run.run_id),)
                ),
                label=_label(item["mistake_agent"], int(item["mistake_step"])),
                second=others.get(str(item["question_ID"])),
            )
        )
    return logs


def _failure(run_id: str) -> Outcome:
    fields = {
        "outcome_id": "0", "run_id": run_id, "value": -1.0, "success": False, "evaluator": "log",
        "by": "log", "participant": False, "evaluates": True, "at": _START,
    }  # fmt: skip
    return Outcome.model_validate(fields)


def _label(agent: str, step: int) -> Label:
    return Label(agent_id(agent).casefold(), step)


def _second_labels(file: pathlib.Path) -> dict[str, Label]:
    """The root cause of each trajectory; its steps are counted from 1."""
    found: dict[str, Label] = {}
    for item in json.loads(file.read_text(encoding="utf-8")):
        cause = str(item["root_cause"]["failure_id"])
        for one in item["failures"]:
            if str(one["failure_id"]) == cause:
                label = _label(one["failed_agent"], int(one["step_number"]) - 1)
                found[str(item["trajectory_id"])] = label
    return found


# --- Rules -----------------------------------------------------------------------------------


def structure(_others: Sequence[Log], log: Log) -> Named:
    """Credit by provenance, unlearned: every decision that led to the end has an equal share."""
    shares = provenance(log.trajectory, {}).credits
    agent_of = {str(event.event_id): str(event.agent) for event in log.events}
    steps = {one.target.id: abs(one.value) for one in shares}
    return _named(steps, agent_of)


def first_failure(_others: Sequence[Log], log: Log) -> Named:
    """The decision before the first failed call; without one, every decision as likely."""
    return _before_first(log, failed)


def prior(others: Sequence[Log], log: Log) -> Named:
    """The learned prior, off by default in the product: fitted on the other questions' labels."""
    examples: list[Labelled] = []
    for other in others:
        seen = observed(other.events)
        blamed = other.at(other.label.step)
        if blamed is not None:
            examples.append(Labelled(seen.rows, seen.decisions.index(blamed)))
    seen = observed(log.events)
    chances = fitted(examples).chances(seen.rows).tolist()
    agent_of = {str(event.event_id): str(event.agent) for event in seen.decisions}
    return _named(dict(zip(agent_of, chances, strict=True)), agent_of)


def by_lot(_others: Sequence[Log], log: Log) -> Named:
    """Any decision, and any agent, with the same chance."""
    agents = dict.fromkeys((str(event.agent) for event in log.decisions), 1.0)
    return Named(agents, {str(event.event_id): 1.0 for event in log.decisions})


def usual_step(others: Sequence[Log], log: Log) -> Named:
    """The step that was blamed most often in the other logs, and who stands there."""
    counts = Counter(other.label.step for other in others)
    return _only(log.at(max(counts, key=lambda step: (counts[step], -step))))


def constant(step: int) -> Rule:
    """Always this step, and who stands there."""
    return lambda _others, log: _only(log.at(step))


def first_agent(_others: Sequence[Log], log: Log) -> Named:
    return _first_of(log, str(log.decisions[0].agent))


def last_agent(_others: Sequence[Log], log: Log) -> Named:
    return _first_of(log, str(log.decisions[-1].agent))


def frequent_agent(_others: Sequence[Log], log: Log) -> Named:
    return _first_of(log, Counter(str(event.agent) for event in log.decisions).most_common(1)[0][0])


def first_error_word(_others: Sequence[Log], log: Log) -> Named:
    """The first step that names an error, or the decision before it if a tool said so."""
    return _before_first(log, error_word)


TRIVIAL: Mapping[str, Rule] = {
    "by lot": by_lot,
    "usual step": usual_step,
    "first agent": first_agent,
    "last agent": last_agent,
    "most frequent agent": frequent_agent,
    "first error word": first_error_word,
    **{f"step {step}": constant(step) for step in (0, 1, 2, 3, 4, 8, 12)},
}
RANKERS: Mapping[str, Rule] = {
    "structure": structure,
    "before first failure": first_failure,
    "prior": prior,
}


def _only(event: Event | None) -> Named:
    if event is None:
        return Named({}, {})
    return Named({str(event.agent): 1.0}, {str(event.event_id): 1.0})


def _first_of(log: Log, agent: str) -> Named:
    """The agent, and the first of its decisions after the opening, if it made any."""
    own = [event for event in log.decisions if event.agent == agent]
    later = [event for event in own if event != log.decisions[0]]
    return _only((later or own)[0])


def _before_first(log: Log, sign: Callable[[Event], bool]) -> Named:
    latest: Event | None = None
    for event in log.events:
        latest = event if event.kind == "decision" else latest
        if sign(event) and latest is not None and event is not log.events[0]:
            return _only(latest)
    return by_lot((), log)


def _named(steps: Answer, agent_of: Mapping[str, str]) -> Named:
    agents: dict[str, float] = defaultdict(float)
    for event_id, score in steps.items():
        agents[agent_of[event_id]] += score
    return Named(agents, steps)


# --- Scoring ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hits:
    """A rule's hits, one number from 0 to 1 for each log."""

    agent: list[float]
    step: list[float]


def scored(rule: Rule, logs: Sequence[Log], *, second: bool = False) -> Hits:
    """Each log answered from those of other questions, compared exactly with its label."""
    hits = Hits([], [])
    for log in logs:
        label = log.second if second else log.label
        if label is None:
            continue
        named = rule([other for other in logs if other.question != log.question], log)
        folded: dict[str, float] = {one.casefold(): score for one, score in named.agents.items()}
        hits.agent.append(chance_on_top(folded, label.agent))
        event = log.at(label.step)
        hit = chance_on_top(named.steps, str(event.event_id)) if event is not None else 0.0
        hits.step.append(hit)
    return hits


def agreement(logs: Sequence[Log]) -> Hits:
    """How often the second labels name what the first ones name."""
    pairs = [(log.label, log.second) for log in logs if log.second is not None]
    return Hits(
        [float(one.agent == other.agent) for one, other in pairs],
        [float(one.step == other.step) for one, other in pairs],
    )


def wilson(hits: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    n, share = len(hits), math.fsum(hits) / len(hits)
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n)) / (1 + _Z**2 / n)
    return middle - half, middle + half


def paired(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """Mean difference log by log, and its 95 % bootstrap interval."""
    differences = np.array(ours) - np.array(theirs)
    draw = random.Random(0)
    places = range(len(differences))
    means = [float(differences[draw.choices(places, k=len(places))].mean()) for _ in range(_DRAWS)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(differences.mean()), float(low), float(high)


def report(
    name: str, value: float, what: str, bound: float = 0.0, unit: str = "%"
) -> dict[str, Any]:
    """A figure that reports: it holds whatever it says."""
    return {
        "id": name, "what": what, "value": value, "bound": bound, "holds": True, "unit": unit,
    }  # fmt: skip
