"""Planted culprits: cases of each kind, and how often each way of looking finds who it was.

Ties are broken by lot: a way that names three decisions alike is right once in three times where
the culprit is among them. The trivial rules run over the same cases; the constant step is the best
one in hindsight, which favours it.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmarks._workshop import (
    FAULTY,
    OTHER,
    SOUND,
    Plan,
    Rules,
    Telling,
    Workshop,
    drawn_plan,
    recorded,
)
from hindsight_ray.adapters.tasks.kept import KeptHere
from hindsight_ray.adapters.tasks.local import LocalTasks
from hindsight_ray.core.attribution.blame import blame
from hindsight_ray.core.attribution.compared import Comparison, compared
from hindsight_ray.core.attribution.draws import draws_of
from hindsight_ray.core.attribution.provenance import provenance
from hindsight_ray.core.attribution.spectrum import chance_on_top
from hindsight_ray.core.digest import derived_uuid
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.service.replayed import Laboratory, Question, replayed

DECISIONS = 8
COMPARABLE = 40
_ALARMING = ("error", "fail", "wrong", "exception", "broken")


@dataclass(frozen=True, slots=True)
class Case:
    """A failed run with what is known of it by construction."""

    kind: str
    trajectory: Trajectory
    order: tuple[str, ...]
    environment: Workshop
    culprits: tuple[str, ...]  # decisions
    innocent: tuple[str, ...] = ()  # decisions outside the true slice
    bad_memory: str | None = None
    idle_memory: str | None = None
    texts: Mapping[MemoryRef, str] = field(default_factory=dict[MemoryRef, str])
    runs: tuple[Trajectory, ...] = ()  # comparable ones


def made(kind: str, seed: int) -> Case:
    """The case of a kind with this seed."""
    draw = random.Random(f"{kind}/{seed}")
    plan = drawn_plan(draw, decisions=DECISIONS)
    led = sorted(plan.ancestors())
    while len(led) < 4:  # enough of them for two culprits among innocents
        plan = drawn_plan(draw, decisions=DECISIONS)
        led = sorted(plan.ancestors())
    return _MAKERS[kind](kind, plan, led, draw)


def _one(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    return _case(kind, plan, Rules(single=frozenset({draw.choice(led)})), draw)


def _overdetermined(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    return _case(kind, plan, Rules(single=frozenset(draw.sample(led, 2))), draw)


def _necessary(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    return _case(kind, plan, Rules(joint=(frozenset(draw.sample(led, 2)),)), draw)


def _erring(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    """Two culprits of either sort, whose re-decision errs again in 35 % of replays."""
    pair = frozenset(draw.sample(led, 2))
    rules = Rules(single=pair) if draw.random() < 0.5 else Rules(joint=(pair,))
    return _case(kind, plan, rules, draw, errs=0.35)


def _unsure_edges(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    telling = Telling("declared", missing_edges=0.2, false_edges=0.2)
    rules = Rules(single=frozenset({draw.choice(led)}))
    return _case(kind, plan, rules, draw, telling=telling)


def _repaired(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    """A culprit, and another fault that was mended at once and mattered to nothing."""
    culprit, mended = draw.sample(led, 2)
    telling = Telling(repaired=frozenset({mended}))
    rules = Rules(single=frozenset({culprit}))
    return _case(kind, plan, rules, draw, telling=telling, harmless=(mended,))


def _nobody(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    """A delivery spoiled from outside, or by chance; faults there are harmless."""
    rules = Rules(spoiled_anyway=True) if draw.random() < 0.5 else Rules(chance=0.5)
    return _case(kind, plan, rules, draw, harmless=(draw.choice(led),))


def _memory(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    """A sound agent follows a memory that is wrong; others were offered or used besides."""
    misled, other = draw.sample(led, 2)
    bad, fine, spare = (_ref(draw) for _ in range(3))
    offers = {misled: tuple(draw.sample((bad, spare), 2)), other: (fine,)}
    telling = Telling(offers=offers, uses={misled: (bad,), other: (fine,)})
    rules = Rules(single=frozenset({misled}))
    case = _case(kind, plan, rules, draw, telling=telling)
    environment = replace(
        case.environment,
        bad_memories=frozenset({bad.id}),
        used={case.order[misled]: (bad.id,)},
    )
    texts = {one: f"memory {one.id[:6]}" for one in (bad, fine, spare)}
    return replace(case, environment=environment, bad_memory=bad.id, texts=texts)


def _unused(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    """A wrong memory that nobody followed, beside a decision that was wrong by itself."""
    offered_to = draw.choice(led)
    bad, fine = _ref(draw), _ref(draw)
    telling = Telling(offers={offered_to: (bad, fine)}, uses={offered_to: (fine,)})
    rules = Rules(single=frozenset({draw.choice(led)}))
    case = _case(kind, plan, rules, draw, telling=telling)
    environment = replace(case.environment, bad_memories=frozenset({bad.id}))
    texts = {bad: "wrong, and not followed", fine: "right"}
    return replace(case, environment=environment, idle_memory=bad.id, texts=texts)


def _compared(kind: str, plan: Plan, led: Sequence[int], draw: random.Random) -> Case:
    """One failed run among many of its plan, in each of which faults were drawn anew."""
    plan = replace(plan, rules=Rules(single=frozenset(draw.sample(led, 3))))
    while True:
        told = [
            (choices, *recorded(plan, choices, draw, Telling()))
            for choices in (_drawn_choices(plan, draw) for _ in range(COMPARABLE))
        ]
        failed = [
            one
            for one in told
            if sum(one[0][n] == FAULTY for n in plan.rules.single) == 1 and one[3] < 0
        ]
        if failed:
            break
    choices, trajectory, order, _ = failed[0]
    culprit = next(n for n in plan.rules.single if choices[n] == FAULTY)
    environment = Workshop(plan, dict(zip(order, choices, strict=True)), order)
    runs = tuple(one[1] for one in told)
    return Case(kind, trajectory, order, environment, (order[culprit],), runs=runs)


def _drawn_choices(plan: Plan, draw: random.Random) -> list[int]:
    return draw.choices((SOUND, OTHER, FAULTY), (0.5, 0.35, 0.15), k=len(plan.decisions))


_MAKERS: Mapping[str, Callable[[str, Plan, Sequence[int], random.Random], Case]] = {
    "one culprit": _one,
    "two, each enough": _overdetermined,
    "two, both needed": _necessary,
    "two, erring again": _erring,
    "unsure edges": _unsure_edges,
    "repaired error": _repaired,
    "no culprit": _nobody,
    "bad memory": _memory,
    "unused bad memory": _unused,
    "comparable runs": _compared,
}
KINDS = tuple(_MAKERS)


def _case(
    kind: str,
    plan: Plan,
    rules: Rules,
    draw: random.Random,
    *,
    telling: Telling | None = None,
    harmless: Sequence[int] = (),
    errs: float = 0.0,
) -> Case:
    plan = replace(plan, rules=rules)
    culprits = rules.single | frozenset(n for group in rules.joint for n in group)
    faulty = culprits | frozenset(harmless)
    choices = [FAULTY if n in faulty else draw.choice((SOUND, OTHER)) for n in range(DECISIONS)]
    while True:  # a run that chance did not spoil is no case
        seed = draw.getrandbits(32)
        trajectory, order, value = recorded(plan, choices, draw, telling or Telling(), seed=seed)
        if value < 0:
            break
    environment = Workshop(plan, dict(zip(order, choices, strict=True)), order, errs=errs)
    inside = plan.ancestors()
    return Case(
        kind,
        trajectory,
        order,
        environment,
        tuple(order[n] for n in sorted(culprits)),
        innocent=tuple(order[n] for n in range(DECISIONS) if n not in inside),
    )


def _ref(draw: random.Random) -> MemoryRef:
    return MemoryRef.model_validate(
        {"id": derived_uuid("planted memory", draw.getrandbits(64)), "revision": 1}
    )


# Ways of looking: each gives a score to every decision, higher for more to blame.


def by_replay(case: Case, *, players: str = "decisions", seed: int = 0) -> Attribution:
    """Shapley values by replay with the default budget."""
    question = Question(players=players, seed=seed)  # type: ignore[arg-type]
    lab = Laboratory(case.environment, LocalTasks(), KeptHere(), draws_of(seed))
    return asyncio.run(replayed(case.trajectory, case.texts, question, lab))


def blame_of(found: Attribution) -> dict[str, float]:
    return {credit.target.id: -credit.value for credit in found.credits}


def by_structure(case: Case) -> dict[str, float]:
    """What failures in the record point at; where nothing does, everybody in the slice alike."""
    scores = blame(case.trajectory)
    return scores if any(scores.values()) else dict.fromkeys(scores, 1.0)


def by_slice(case: Case) -> dict[str, float]:
    return blame_of(provenance(case.trajectory, {}))


def by_spectrum(case: Case) -> dict[str, float]:
    return blame_of(compared(Comparison(case.trajectory, case.runs, {})))


def by_agent(case: Case) -> dict[str, float]:
    """Trivial: whoever decided most often."""
    decisions = [event for event in case.trajectory.events if event.kind == "decision"]
    counts: dict[str, int] = {}
    for event in decisions:
        counts[event.agent] = counts.get(event.agent, 0) + 1
    return {event.event_id: float(counts[event.agent]) for event in decisions}


def by_word(case: Case) -> dict[str, float]:
    """Trivial: the decision at or before the first alarming word."""
    last: str | None = None
    found: str | None = None
    for event in case.trajectory.events:
        if event.kind == "decision":
            last = event.event_id
        if found is None and any(word in event.summary for word in _ALARMING):
            found = last
    return {one: float(one == found) for one in case.order}


def best_constant(cases: Sequence[Case]) -> float:
    """Trivial: how often the best fixed position is a culprit's, chosen in hindsight."""
    return max(
        sum(case.order[n] in case.culprits for case in cases) / len(cases) for n in range(DECISIONS)
    )


def top(scores: Mapping[str, float], case: Case) -> float:
    """How likely the top one is the culprit; with two culprits, their share in the top two."""
    places = len(case.culprits)
    return sum(chance_on_top(scores, one, places) for one in case.culprits) / places
