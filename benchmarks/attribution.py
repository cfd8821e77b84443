"""Who and what made the outcome: planted culprits found, exact values, intervals, cost of replays.

Prints the whole table of planted cases, trivial rules beside; the figures are the ones with bounds.
"""

import asyncio
import multiprocessing
import pathlib
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import coopgame
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import _planted as planted
from benchmarks._games import coverage
from benchmarks._planted import Case
from benchmarks._workshop import SOUND, Rules, Telling, Workshop, burn, drawn_plan, recorded
from hindsight_ray.actors import cluster
from hindsight_ray.actors.tasks import RayTasks
from hindsight_ray.adapters.tasks.kept import KeptHere
from hindsight_ray.adapters.tasks.local import LocalTasks
from hindsight_ray.core.attribution.draws import drawn, draws_of
from hindsight_ray.core.attribution.shapley import banzhaf, shapley
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.ports import TaskRunner
from hindsight_ray.service.replayed import Laboratory, Question, replayed

_CASES = 100
_GAMES = 1_500
_SEED = 2026
Figure = dict[str, Any]


def figures(data: pathlib.Path) -> list[Figure]:
    """Every figure of attribution that needs no public logs."""
    del data  # everything is planted
    return [*_exact(), *_intervals(), *_planted_cases(), *_cost()]


def _at_least(name: str, what: str, value: float, bound: float, unit: str = "share") -> Figure:
    return _figure(name, what, value, bound, unit, holds=value >= bound)


def _at_most(name: str, what: str, value: float, bound: float, unit: str) -> Figure:
    return _figure(name, what, value, bound, unit, holds=value <= bound)


def _figure(name: str, what: str, value: float, bound: float, unit: str, *, holds: bool) -> Figure:
    return {
        "id": f"attribution.{name}", "what": what, "value": value, "bound": bound,
        "holds": holds, "unit": unit,
    }  # fmt: skip


# Exact values and intervals.


def _exact() -> list[Figure]:
    error = 0.0
    for players in range(2, 13):
        values = np.random.default_rng([_SEED, players]).normal(size=1 << players)
        oracle = coopgame.Game((values - values[0])[1:].tolist())
        for ours, theirs in ((shapley, coopgame.shapley), (banzhaf, coopgame.banzhaf)):
            error = max(error, float(np.abs(ours(values) - np.array(theirs(oracle))).max()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shapiq  # noqa: PLC0415 - seconds to import
    for players in (4, 8, 10):
        values = np.random.default_rng([_SEED, players]).normal(size=1 << players)
        powers = 1 << np.arange(players)
        computer = shapiq.ExactComputer(
            lambda coalitions, v=values, p=powers: v[np.atleast_2d(coalitions) @ p], players
        )
        theirs = computer("SV", order=1)
        found = np.array([theirs[(player,)] for player in range(players)])
        error = max(error, float(np.abs(shapley(values) - found).max()))
    twenty = np.random.default_rng(_SEED).normal(size=1 << 20)
    started = time.perf_counter()
    shapley(twenty)
    seconds = time.perf_counter() - started
    return [
        _at_most("exact", "largest error against two other implementations, 2 to 12 players",
                 error, 1e-9, "outcome"),
        _at_most("tabulated", "Shapley values of 20 tabulated players", seconds, 1.0, "s"),
    ]  # fmt: skip


def _intervals() -> list[Figure]:
    counted = coverage(_GAMES, _SEED)
    held = sum(one.held for one in counted.values())
    intervals = sum(one.intervals for one in counted.values())
    share = held / intervals
    worst = min(one.held / one.intervals for one in counted.values())
    what = f"sampled 95 % intervals that hold the truth, {_GAMES} games, stopping on"
    return [
        _figure("coverage", what, share, 0.93, "share", holds=0.93 <= share <= 0.98),
        _at_least("coverage-worst", "the same, of the worst of five kinds of game", worst, 0.90),
    ]


# Planted culprits.


def _planted_cases() -> list[Figure]:
    cases = {kind: [planted.made(kind, seed) for seed in range(_CASES)] for kind in planted.KINDS}
    replays = {
        kind: [planted.by_replay(case) for case in of_kind] for kind, of_kind in cases.items()
    }
    hits = {
        kind: _mean(
            planted.top(planted.blame_of(found), case)
            for case, found in zip(cases[kind], replays[kind], strict=True)
        )
        for kind in planted.KINDS
        if kind != "no culprit"
    }
    _print_table(cases, hits)
    one, compared = cases["one culprit"], cases["comparable runs"]
    two = [hits["two, each enough"], hits["two, both needed"]]
    structure = _mean(planted.top(planted.by_structure(case), case) for case in one)
    spectrum = _mean(planted.top(planted.by_spectrum(case), case) for case in compared)
    abstained = _mean(float(found.abstained is not None) for found in replays["no culprit"])
    certain = ("one culprit", "unsure edges", "repaired error")
    missed = [found.abstained is not None for kind in certain for found in replays[kind]]
    ruled_out = [
        _innocent(case, found)
        for kind in planted.KINDS
        if kind != "unsure edges"
        for case, found in zip(cases[kind], replays[kind], strict=True)
    ]
    bad = zip(cases["bad memory"], replays["bad memory"], strict=True)
    unused = zip(cases["unused bad memory"], replays["unused bad memory"], strict=True)
    runs = planted.COMPARABLE
    return [
        _at_least("one", "one culprit, by replay", hits["one culprit"], 0.95),
        _at_least("one-spectrum", f"one culprit, by {runs} comparable runs, within the slice",
                  spectrum, 0.70),
        _at_least("one-structure", "one culprit by structure alone; 75 % of planted faults leave"
                  " an open failure, a fifth of those at a later decision", structure, 0.55),
        _at_least("two", "two culprits, recall in the first two, the worse of both sorts",
                  min(two), 0.90),
        _at_least("two-erring", "the same where a re-decided culprit errs again 35 % of the time",
                  hits["two, erring again"], 0.70),
        _at_least("edges", "one culprit, a fifth of edges missing and as many false, by replay",
                  hits["unsure edges"], 0.95),
        _at_least("repaired", "one culprit beside a repaired error, by replay",
                  hits["repaired error"], 0.95),
        _at_least("memory", "bad memory of a sound agent, most harmful of those offered",
                  _mean(_memory_found(*pair) for pair in bad), 0.95),
        _at_least("memory-unused", "bad memory that nobody followed is idle",
                  _mean(_memory_idle(*pair) for pair in unused), 0.95),
        _at_most("innocent", "largest blame of a decision that the record rules out",
                 max(ruled_out), 0.0, "outcome"),
        _at_least("nobody", "failed without a culprit: abstains", abstained, 0.95),
        _at_most("abstains-wrongly", "failed with one culprit: abstains",
                 _mean(map(float, missed)), 0.05, "share"),
        *_trivial(one),
    ]  # fmt: skip


def _trivial(cases: Sequence[Case]) -> list[Figure]:
    """The trivial rules stay near chance, or the cases give themselves away."""
    chance = 1 / planted.DECISIONS
    what = f"one culprit, by a trivial rule (chance {chance:g})"
    agent = _mean(planted.top(planted.by_agent(case), case) for case in cases)
    word = _mean(planted.top(planted.by_word(case), case) for case in cases)
    return [
        _at_most("trivial-step", f"{what}: the best fixed step in hindsight",
                 planted.best_constant(cases), 2 * chance, "share"),
        _at_most("trivial-agent", f"{what}: whoever decides most often", agent, 2 * chance,
                 "share"),
        _at_most("trivial-word", f"{what}: the first alarming word", word, 2 * chance, "share"),
    ]  # fmt: skip


def _memory_found(case: Case, found: Attribution) -> float:
    scores = {one.target.id: -one.value for one in found.beside if one.target.kind == "memory"}
    assert case.bad_memory is not None
    return planted.chance_on_top(scores, case.bad_memory)


def _memory_idle(case: Case, found: Attribution) -> float:
    return float(
        any(one.target.id == case.idle_memory and one.effect == "idle" for one in found.beside)
    )


def _innocent(case: Case, found: Attribution) -> float:
    return max(
        (abs(one.value) for one in found.credits if one.target.id in case.innocent), default=0.0
    )


def _print_table(cases: dict[str, list[Case]], hits: dict[str, float]) -> None:
    ways: dict[str, Callable[[Case], dict[str, float]]] = {
        "structure": planted.by_structure,
        "slice": planted.by_slice,
        "most frequent agent": planted.by_agent,
        "first alarming word": planted.by_word,
    }
    table = Table(title=f"planted culprits found, of {_CASES} cases each", title_justify="left")
    table.add_column("case")
    for way in ("replay", "spectrum", *ways, "best fixed step"):
        table.add_column(way, justify="right")
    for kind, of_kind in cases.items():
        if kind == "no culprit":
            continue
        row = [f"{hits[kind]:.2f}"]
        compared = [planted.top(planted.by_spectrum(case), case) for case in of_kind if case.runs]
        row.append(f"{_mean(compared):.2f}" if compared else "")
        row += [
            f"{_mean(planted.top(way(case), case) for case in of_kind):.2f}"
            for way in ways.values()
        ]
        row.append(f"{planted.best_constant(of_kind):.2f}")
        table.add_row(kind, *row)
    Console().print(table)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


# What replays cost.


def _cost() -> list[Figure]:
    return [_bookkeeping(), *_workers()]


def _bookkeeping() -> Figure:
    """In processor time, which other programs of the machine do not stretch."""
    rounds = _rounds(0.010)
    case = _heavy(7, rounds)
    shares: list[float] = []
    for _ in range(3):
        started = time.process_time()
        found = _replayed(case, LocalTasks())
        whole = time.process_time() - started
        started = time.process_time()
        for seed in range(found.evaluations):
            burn(rounds, seed)
        shares.append(whole / (time.process_time() - started) - 1)
    what = f"what {1 << 7} replays of 10 ms cost beyond the environment, processor time"
    return _at_most("bookkeeping", what, float(np.median(shares)), 0.20, "share")


def _workers() -> list[Figure]:
    """Beside the plain figure, the same against what two bare processes gain at that moment."""
    rounds = _rounds(0.020)
    case = _heavy(10, rounds)
    tie = cluster.attach(None)
    try:
        _replayed(_heavy(4, rounds), RayTasks(workers=2))  # starts the workers
        seconds: dict[int, float] = {}
        found: dict[int, Attribution] = {}
        bare: dict[int, float] = {}
        for workers in (1, 2):
            bare[workers] = _bare(workers, rounds)
            started = time.perf_counter()
            found[workers] = _replayed(case, RayTasks(workers=workers))
            seconds[workers] = time.perf_counter() - started
    finally:
        tie.leave()
    assert found[1] == found[2], "the number of workers changed the result"
    gain, possible = seconds[1] / seconds[2], bare[1] / bare[2]
    return [
        _at_least("workers", "1,024 coalitions of 20 ms on two workers, against one", gain, 1.5,
                  "times as fast"),
        _at_least("workers-share", "the same gain, against that of two bare processes just before",
                  gain / possible, 0.75, "share"),
    ]  # fmt: skip


def _bare(workers: int, rounds: int) -> float:
    """Seconds that this many processes take for 200 burns between them."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers) as pool:
        pool.map(_burnt, [1] * workers)  # they are there
        started = time.perf_counter()
        pool.map(_burnt, [rounds] * 200, chunksize=5)
        return time.perf_counter() - started


def _burnt(rounds: int) -> int:
    return len(burn(rounds, 0))


def _heavy(decisions: int, rounds: int) -> tuple[Workshop, Any]:
    draw = drawn(f"heavy/{decisions}")
    plan = drawn_plan(draw, decisions=decisions, rules=Rules(single=frozenset({0})))
    choices = [SOUND + 2 * (n == 0) for n in range(decisions)]
    trajectory, order, _ = recorded(plan, choices, draw, Telling("declared"))
    environment = Workshop(plan, dict(zip(order, choices, strict=True)), order, work=rounds)
    return environment, trajectory


def _replayed(case: tuple[Workshop, Any], runner: TaskRunner) -> Attribution:
    environment, trajectory = case
    lab = Laboratory(environment, runner, KeptHere(), draws_of(0))
    return asyncio.run(replayed(trajectory, {}, Question(), lab))


def _rounds(seconds: float) -> int:
    """Rounds of hashing that take about so long here and now."""
    trial = 2_000
    return max(1, int(trial * seconds / _seconds(trial)))


def _seconds(rounds: int) -> float:
    times: list[float] = []
    for n in range(7):
        started = time.perf_counter()
        burn(rounds, n)
        times.append(time.perf_counter() - started)
    return float(np.median(times))
