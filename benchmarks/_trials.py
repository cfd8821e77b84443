"""Recorded τ-bench runs, four trials a task: what does a spectrum over repeats say?

Within a task it abstains unless three trials succeeded and three failed, which four trials cannot
give. So elements (a tool, and how it ended) are scored on the runs of all other tasks, and asked
within a task: of a failed and a successful trial, is the failed one the more suspect? Half of such
pairs would be right by chance; beside it stands the rule that the longer run is.
"""

import pathlib
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

from benchmarks._culprits import report, wilson
from hindsight_ray.core.attribution.spectrum import (
    Element,
    RunSpectrum,
    run_spectrum,
    suspicions,
    too_few,
)
from hindsight_ray.core.logs.openai_messages import parse
from hindsight_ray.core.logs.shape import recorded
from hindsight_ray.domain.event import Event

FILE = "tau_airline/runs_tasks_0_24.json"
_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Trial:
    task: str
    length: int
    plain: RunSpectrum  # decisions in normal form
    tools: RunSpectrum  # tools by name and status


def figures(data: pathlib.Path) -> list[dict[str, Any]]:
    """Tasks on which the spectrum answers, and pairs of trials put in the right order."""
    tasks: dict[str, list[_Trial]] = defaultdict(list)
    for trial in _trials((data / FILE).read_text(encoding="utf-8")):
        tasks[trial.task].append(trial)
    answered = [too_few([one.plain for one in own]) is None for own in tasks.values()]
    found = [
        report(
            "public_logs.trials.answered",
            100 * sum(answered) / len(answered),
            f"tasks, of {len(answered)} with 4 trials, on which the spectrum does not abstain"
            " (it needs 3 successes and 3 failures)",
        )
    ]
    for name, measure in _measures(tasks).items():
        right = [
            hit
            for task, own in tasks.items()
            for hit in _pairs([(trial, measure(task, trial)) for trial in own])
        ]
        if right:
            low, high = wilson(right)
            what = f"of {len(right)} pairs of a failed and a successful trial of one task, the"
            what += f" failed one is the more suspect by {name}; by chance 50; pairs of one task"
            what += f" are not independent; 95 % as if they were {low:.0%}–{high:.0%}"
            short = name.replace(" ", "_")
            found.append(
                report(f"public_logs.trials.{short}", 100 * sum(right) / len(right), what, 50.0)
            )
    return found


def _trials(text: str) -> list[_Trial]:
    found: list[_Trial] = []
    for _, run in parse(text).runs:
        kept = recorded(run, tenant="t", scope="global", vouched_by=None, now=_START)
        value = run.reward or 0.0
        success = value > 0
        plain = run_spectrum(kept.events, success=success, value=value)
        tools = frozenset(map(_tool, (event for event in kept.events if event.tool is not None)))
        found.append(
            _Trial(
                task=kept.run.goal_digest,
                length=len(kept.events),
                plain=plain,
                tools=replace(plain, elements=tools),
            )
        )
    return found


def _tool(event: Event) -> Element:
    assert event.tool is not None
    return Element("decision", str(event.agent), f"{event.tool.name} {event.tool.status}")


_Measure = Callable[[str, _Trial], float]


def _measures(tasks: dict[str, list[_Trial]]) -> dict[str, _Measure]:
    """How suspect a trial is, by what the runs of other tasks taught."""
    by_tool: dict[str, dict[Element, float]] = {}
    by_decision: dict[str, dict[Element, float]] = {}
    for task in tasks:
        others = [trial for other, own in tasks.items() if other != task for trial in own]
        by_tool[task] = _learned([trial.tools for trial in others])
        by_decision[task] = _learned([trial.plain for trial in others])
    return {
        "tool spectrum": lambda task, trial: _sum(by_tool[task], trial.tools),
        "decision spectrum": lambda task, trial: _sum(by_decision[task], trial.plain),
        "length": lambda _task, trial: float(trial.length),
    }


def _learned(runs: Sequence[RunSpectrum]) -> dict[Element, float]:
    """By how much the mean outcome of runs with an element is below that of runs without it."""
    return {
        one.element: -one.difference[0]
        for one in suspicions(runs, random.Random(0))
        if one.difference is not None
    }


def _sum(learned: dict[Element, float], run: RunSpectrum) -> float:
    return sum(learned.get(element, 0.0) for element in run.elements)


def _pairs(own: Sequence[tuple[_Trial, float]]) -> list[float]:
    """1 where the failed trial is the more suspect, half where neither is."""
    failing = [suspect for trial, suspect in own if not trial.plain.success]
    passing = [suspect for trial, suspect in own if trial.plain.success]
    return [
        1.0 if bad > good else 0.5 if bad == good else 0.0
        for bad, good in product(failing, passing)
    ]
