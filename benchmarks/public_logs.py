"""How often is the labelled culprit of a public log named, without a model? A report, no gate.

Who&When's logs of failed teams, exactly scored with its own labels and, where there are any, with
AgentRx's; models as judges too where one is set (`benchmarks/_judges.py`). What is learned is
learned from other questions' logs only. In the same table stand the rules that need no thought, and
how far the two labellings agree: a ceiling for any score. `bound` is an aim where there is one,
else 0; every figure holds. Then recorded τ-bench runs, four trials a task: do elements that go with
failure elsewhere single out the failing one of two trials?
"""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import _judges, _trials
from benchmarks._culprits import (
    RANKERS,
    TRIVIAL,
    Hits,
    Log,
    agreement,
    paired,
    read_logs,
    report,
    scored,
    wilson,
)

_FOLDER = "who_and_when"
_SECOND = "agentrx_labels_hand_crafted.json"
_AIMS = {"generated": {"agent": 60.0, "step": 42.0}, "crafted": {"agent": 60.0, "step": 19.0}}


def figures(data: pathlib.Path) -> list[dict[str, Any]]:
    """Shares of logs, in percent, with intervals in words."""
    folder = data / _FOLDER
    found: list[dict[str, Any]] = []
    if (folder / "algorithm_generated.json").is_file():
        logs = read_logs(folder, "algorithm_generated.json")
        found += _tables("generated", logs, second=False)
    if (folder / "hand_crafted.json").is_file():
        second = _SECOND if (folder / _SECOND).is_file() else None
        logs = read_logs(folder, "hand_crafted.json", second)
        found += _tables("crafted", logs, second=second is not None)
        if second is not None:
            found += _agreement(agreement(logs))
    if (data / _trials.FILE).is_file():
        found += _trials.figures(data)
    if not found:
        raise SystemExit(f"none of the public logs is in {data}; name their folder by --data")
    return found


def _tables(name: str, logs: Sequence[Log], *, second: bool) -> list[dict[str, Any]]:
    """The table of the data set's own labels and, if there are any, that of the second ones."""
    verdicts = _judges.all_judged(logs)
    found: list[dict[str, Any]] = []
    for other in (False, True) if second else (False,):
        rankers = {one: scored(rule, logs, second=other) for one, rule in RANKERS.items()}
        rankers |= {one: _judges.hits(logs, given, second=other) for one, given in verdicts.items()}
        trivial = {one: scored(rule, logs, second=other) for one, rule in TRIVIAL.items()}
        found += _table(name, rankers, trivial, second=other)
    return found


def _table(
    name: str, rankers: Mapping[str, Hits], trivial: Mapping[str, Hits], *, second: bool
) -> list[dict[str, Any]]:
    """Every rule's share of agents and of steps; rankers beside the best of the trivial rules."""
    group = f"{name}.second" if second else name
    found: list[dict[str, Any]] = []
    for target in ("agent", "step"):
        best = max(trivial, key=lambda one: _share(_of(trivial[one], target)))
        for one, hits in rankers.items():
            aim = _AIMS[name][target] if one == "prior" and not second else 0.0
            figure = _figure(group, target, one, _of(hits, target), aim)
            figure["what"] += "; " + _beside(best, _of(hits, target), _of(trivial[best], target))
            found.append(figure)
        found += [
            _figure(group, target, one, _of(hits, target), 0.0) for one, hits in trivial.items()
        ]
    return found


def _figure(
    group: str, target: str, rule: str, hits: Sequence[float], aim: float
) -> dict[str, Any]:
    low, high = wilson(hits)
    what = f"{target} by `{rule}`, {len(hits)} logs, 95 % {low:.0%}–{high:.0%}"
    name = f"public_logs.{group}.{target}.{rule.replace(',', '').replace(' ', '_')}"
    return report(name, 100 * _share(hits), what, aim)


def _beside(best: str, ours: Sequence[float], theirs: Sequence[float]) -> str:
    middle, low, high = paired(ours, theirs)
    return (
        f"against the best trivial rule `{best}` ({_share(theirs):.0%}):"
        f" {middle:+.0%}, {low:+.0%} to {high:+.0%}"
    )


def _agreement(hits: Hits) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for target in ("agent", "step"):
        low, high = wilson(_of(hits, target))
        what = f"{target} on which both labellings agree, 95 % {low:.0%}–{high:.0%}: a ceiling"
        found.append(report(f"public_logs.labels.{target}", 100 * _share(_of(hits, target)), what))
    return found


def _of(hits: Hits, target: str) -> list[float]:
    return hits.agent if target == "agent" else hits.step


def _share(hits: Sequence[float]) -> float:
    return sum(hits) / len(hits)
