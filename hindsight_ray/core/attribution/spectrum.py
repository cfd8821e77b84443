"""Which decisions and memories go with failure across comparable runs? Spectrum-based ranking.

From fault localisation in programs: an element that failing runs share and succeeding runs lack is
suspect (Ochiai: Abreu, Zoeteweij and van Gemund 2006; Tarantula: Jones and Harrold 2005; DStar:
Wong and others 2014). An element is an agent with a decision in its normal form, or a memory used.

Normalised by exposure: an element counts once in a run however often it recurs there, and only
runs that were exposed to it count at all: those in which its agent took part, or in which the
memory was offered. That an agent had the day off clears nobody. Fewer than three successes or
failures say nothing, and then nothing is said; nor is anything said of a decision that failing runs
have no oftener than succeeding ones: whatever the formula gives it, nothing there tells them apart.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hindsight_ray.core.keywords import words
from hindsight_ray.core.steps import call_text
from hindsight_ray.domain.event import Event

Formula = Literal["ochiai", "tarantula", "dstar"]
Numbers = NDArray[np.float64]
RUNS_MIN = 3  # of successes, and of failures
ROUNDS = 200  # of the bootstrap
_SAME = 1e-12  # scores this near are a tie


@dataclass(frozen=True, slots=True)
class Element:
    """What runs may share: a decision of an agent in normal form, or a memory (no agent)."""

    kind: Literal["decision", "memory"]
    agent: str
    key: str


@dataclass(frozen=True, slots=True)
class RunSpectrum:
    """The elements of one run, what could have been among them, and how it ended.

    `exposed` names the agents that took part and the ids of memories that were offered or used.
    """

    elements: frozenset[Element]
    exposed: frozenset[str]
    success: bool
    value: float


@dataclass(frozen=True, slots=True)
class Suspicion:
    """An element's score, 0 to 1, with its bootstrap interval. Tied ranks share their mean.

    `excess` is how much larger a part of the exposed runs that failed has it than of those that
    succeeded: only above zero is it suspect at all.
    `difference` is the mean outcome of runs with the element less that of those without, in units
    of the outcome, with its own interval; None where every run has it or none.
    """

    element: Element
    score: float
    low: float
    high: float
    rank: float
    failures: int
    successes: int
    excess: float
    difference: tuple[float, float, float] | None  # value, low, high


def normal_decision(text: str) -> str:
    """A decision without its wording: stems of content words, each once, sorted; numbers as `#`."""
    return " ".join(sorted({"#" if word.isdigit() else word for word in words(text)}))


def decision_element(event: Event) -> Element:
    """The element that this decision is an instance of."""
    return Element("decision", str(event.agent), normal_decision(call_text(event)))


def run_spectrum(events: Iterable[Event], *, success: bool, value: float) -> RunSpectrum:
    """One run's elements: its decisions, and the memories that it used (not those offered)."""
    found: set[Element] = set()
    exposed: set[str] = set()
    for event in events:
        exposed.add(str(event.agent))
        exposed.update(str(ref.id) for ref in (*event.offered, *event.used))
        if event.kind == "decision":
            found.add(decision_element(event))
        found.update(Element("memory", "", ref.id) for ref in event.used)
    return RunSpectrum(frozenset(found), frozenset(exposed), success, value)


def too_few(runs: Sequence[RunSpectrum]) -> str | None:
    """Why these runs say nothing, or None if they are enough."""
    successes = sum(run.success for run in runs)
    failures = len(runs) - successes
    if min(successes, failures) < RUNS_MIN:
        return (
            f"{successes} comparable runs succeeded and {failures} failed; at least {RUNS_MIN} of"
            " each are needed (comparable: of the same task type and the same goal)"
        )
    return None


def suspicions(
    runs: Sequence[RunSpectrum],
    draw: random.Random,
    *,
    formula: Formula = "ochiai",
    within: frozenset[Element] | None = None,
) -> tuple[Suspicion, ...]:
    """Every element, or those `within` a slice, most suspect first; `()` where runs are too few.

    Intervals are 95 % percentiles of a bootstrap that draws runs anew, successes and failures
    apart, so that the numbers of each stay what they are.
    """
    every = frozenset(element for run in runs for element in run.elements)
    chosen = sorted(
        every if within is None else every & within, key=lambda e: (e.kind, e.agent, e.key)
    )
    if too_few(runs) is not None or not chosen:
        return ()
    table = np.array([[float(e in run.elements) for e in chosen] for run in runs])
    open_to = np.array([[float((e.agent or e.key) in run.exposed) for e in chosen] for run in runs])
    values = np.array([run.value for run in runs])
    failed = [n for n, run in enumerate(runs) if not run.success]
    passed = [n for n, run in enumerate(runs) if run.success]
    score = FORMULAS[formula]
    plain = _scored(score, table, open_to, failed, passed)
    scores: list[Numbers] = []
    differences: list[Numbers] = []
    for _ in range(ROUNDS):
        bad, good = draw.choices(failed, k=len(failed)), draw.choices(passed, k=len(passed))
        scores.append(_scored(score, table, open_to, bad, good))
        drawn = bad + good
        differences.append(_differences(table[drawn], values[drawn]))
    bounds = np.percentile(scores, [2.5, 97.5], axis=0)
    rates = [
        table[some].sum(axis=0) / np.maximum(open_to[some].sum(axis=0), 1.0)
        for some in (failed, passed)
    ]
    ranks = fractional_ranks(plain.tolist())
    between = _with_intervals(_differences(table, values), np.array(differences))
    found = [
        Suspicion(
            element=element,
            score=float(plain[n]),
            low=float(min(bounds[0, n], plain[n])),
            high=float(max(bounds[1, n], plain[n])),
            rank=ranks[n],
            failures=int(table[failed, n].sum()),
            successes=int(table[passed, n].sum()),
            excess=float(rates[0][n] - rates[1][n]),
            difference=between[n],
        )
        for n, element in enumerate(chosen)
    ]
    return tuple(sorted(found, key=lambda one: one.rank))


def fractional_ranks(scores: Sequence[float]) -> list[float]:
    """1 for the highest; equal scores share the mean of the places that they take up."""
    order = sorted(range(len(scores)), key=lambda n: -scores[n])
    found = [0.0] * len(scores)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[start]] - scores[order[end]] <= _SAME:
            end += 1
        for n in order[start:end]:
            found[n] = (start + 1 + end) / 2
        start = end
    return found


def chance_on_top(scores: Mapping[str, float], wanted: str, places: int = 1) -> float:
    """How likely `wanted` is among the best `places` if ties are broken by lot: 0 to 1."""
    own = scores.get(wanted)
    if own is None:
        return 0.0
    above = sum(score > own + _SAME for score in scores.values())
    level = sum(abs(score - own) <= _SAME for score in scores.values())
    return min(max((places - above) / level, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Counts:
    """For each element: exposed runs that failed or passed, with it and without."""

    failing: Numbers
    failing_without: Numbers
    passing: Numbers
    passing_without: Numbers


def _scored(
    score: Callable[[Counts], Numbers],
    table: Numbers,
    open_to: Numbers,
    failed: Sequence[int],
    passed: Sequence[int],
) -> Numbers:
    def split(runs: Sequence[int]) -> tuple[Numbers, Numbers]:
        having = table[list(runs)].sum(axis=0)
        exposed = np.maximum(open_to[list(runs)].sum(axis=0), RUNS_MIN)  # a few prove little
        return having, exposed - having

    return score(Counts(*split(failed), *split(passed)))


def _ochiai(counts: Counts) -> Numbers:
    failures = counts.failing + counts.failing_without
    product = failures * (counts.failing + counts.passing)
    return counts.failing / np.sqrt(np.maximum(product, _SAME))


def _tarantula(counts: Counts) -> Numbers:
    failing = counts.failing / (counts.failing + counts.failing_without)
    passing = counts.passing / (counts.passing + counts.passing_without)
    return failing / np.maximum(failing + passing, _SAME)


def _dstar(counts: Counts) -> Numbers:
    """D* with the usual exponent 2, as x / (1 + x): the same order, from 0 to 1."""
    square = counts.failing**2
    return square / np.maximum(square + counts.passing + counts.failing_without, _SAME)


FORMULAS: Mapping[Formula, Callable[[Counts], Numbers]] = {
    "ochiai": _ochiai,
    "tarantula": _tarantula,
    "dstar": _dstar,
}


def _differences(table: Numbers, values: Numbers) -> Numbers:
    """Mean value of runs with each element less that of all without it; NaN if there are not both.

    Runs that were not exposed count here: a memory that is followed wherever it is offered can only
    be told by the runs that did without.
    """
    having = table.sum(axis=0)
    lacking = len(table) - having
    both = (having > 0) & (lacking > 0)
    with_it = values @ table / np.maximum(having, 1.0)
    without = values @ (1.0 - table) / np.maximum(lacking, 1.0)
    return np.where(both, with_it - without, np.nan)


def _with_intervals(plain: Numbers, rounds: Numbers) -> list[tuple[float, float, float] | None]:
    found: list[tuple[float, float, float] | None] = []
    for n, value in enumerate(plain):
        drawn = rounds[:, n]
        drawn = drawn[np.isfinite(drawn)]
        if not np.isfinite(value) or len(drawn) < ROUNDS // 2:
            found.append(None)
            continue
        low, high = np.percentile(drawn, [2.5, 97.5])
        found.append((float(value), min(float(low), float(value)), max(float(high), float(value))))
    return found
