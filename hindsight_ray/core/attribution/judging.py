"""How is a model asked who decided a failure? Three ways of asking, and what its answers mean.

All at once, step by step, or by halving (the three of Zhang and others 2025, "Which agent causes
task failures and when?"). A way of asking is a generator: it gives questions, takes answers, and
ends in a verdict; whoever runs it pays. An answer counts only if it names in full a decision that
was shown. What comes out is opinion: it orders decisions for a replay to decide about, and moves
nothing by itself.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from hindsight_ray.core.attribution.players import event_target
from hindsight_ray.core.attribution.provenance import NO_OUTCOME, may_have_led, provenance
from hindsight_ray.core.shapes import CulpritAnswer, HalfAnswer, Shape, StepAnswer
from hindsight_ray.core.telling import Part, parts
from hindsight_ray.domain.chat import PromptName
from hindsight_ray.domain.credit import Abstained, Attribution, Credit
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.run import Trajectory

Strategy = Literal["all at once", "step by step", "binary search"]
ASKED_MAX = 60  # questions about one run
NAMED_MAX = 5
_LAST_TOKENS = 400  # of the line that follows the record


@dataclass(frozen=True, slots=True)
class Ask:
    """One question: by which prompt, told what, to be answered in which shape."""

    prompt: PromptName
    told: str
    shape: type[Shape]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The ids of decisions, the most suspect first; or none, with the reason."""

    events: tuple[str, ...] = ()
    reason: str = ""


Judging = Generator[Ask, Shape, Verdict]


def method_of(strategy: Strategy) -> str:
    """The method as credits name it."""
    return f"judge, {strategy}"


def why_no_question(trajectory: Trajectory, memories: Mapping[MemoryRef, str]) -> str | None:
    """Why nobody needs to be asked about this run, or None."""
    outcome = provenance(trajectory, memories).outcome
    if outcome is None:
        return NO_OUTCOME
    if outcome > 0:
        return "the run succeeded, so there is nobody to blame"
    if not may_have_led(trajectory):
        return "no recorded decision may have led to the outcome"
    return None


def judging(
    trajectory: Trajectory, remembered: Sequence[str], strategy: Strategy, *, tokens: int
) -> Judging:
    """Ask about the decisions that may have led to the outcome, in prompts of at most `tokens`."""
    case = _Case(trajectory, tuple(remembered), may_have_led(trajectory), tokens)
    if strategy == "all at once":
        return _all_at_once(case)
    return _step_by_step(case) if strategy == "step by step" else _binary_search(case)


def judged(
    trajectory: Trajectory,
    memories: Mapping[MemoryRef, str],
    strategy: Strategy,
    verdict: Verdict,
) -> Attribution:
    """The verdict as scores that sum to -1, or as an abstention with its reason."""
    method = method_of(strategy)
    base = provenance(trajectory, memories).model_copy(
        update={"method": method, "credits": (), "abstained": None, "scale": "score"}
    )
    named = [event for event in may_have_led(trajectory) if event.event_id in verdict.events]
    if not named:
        reason = verdict.reason or "the model named no decision"
        return base.model_copy(update={"abstained": Abstained(method=method, reason=reason)})
    weights = {one: 1.0 / place for place, one in enumerate(verdict.events, start=1)}
    total = sum(weights.values())
    found = [
        Credit(
            target=event_target(event),
            value=-weights[str(event.event_id)] / total,
            low=-1.0,
            high=0.0,
            method=method,
            evidence="opinion",
        )
        for event in named
    ]
    return base.model_copy(update={"credits": tuple(found)})


@dataclass(frozen=True, slots=True)
class _Case:
    trajectory: Trajectory
    remembered: tuple[str, ...]
    decisions: tuple[Event, ...]
    tokens: int

    def told(self, until: str | None = None) -> Part:
        """The record, or its beginning up to and with one event."""
        run = self.trajectory
        if until is not None:
            ids = [str(event.event_id) for event in run.events]
            run = run.model_copy(update={"events": run.events[: ids.index(until) + 1]})
        whole = parts(run, self.remembered, tokens=self.tokens - _LAST_TOKENS, parts_max=1)
        return whole[0]

    def names(self) -> dict[str, str]:
        """The short name of each decision, as the record tells them: by place."""
        return {
            str(event.event_id): f"e{n}" for n, event in enumerate(self.trajectory.events, start=1)
        }


def _all_at_once(case: _Case) -> Judging:
    told = case.told()
    answer = cast("CulpritAnswer", (yield Ask("culprit", told.text, CulpritAnswer)))
    found, unknown = told.names.of(answer.events)
    if unknown is not None:
        return Verdict(reason=f"the model named {unknown!r}, which it was not shown")
    own = {str(event.event_id) for event in case.decisions}
    strange = [one for one in found if one not in own]
    if strange:
        return Verdict(reason=f"the model named {case.names()[strange[0]]}, which is no decision")
    if not found:
        return Verdict(reason="the model named no decision")
    return Verdict(found[:NAMED_MAX], answer.reason)


def _step_by_step(case: _Case) -> Judging:
    """Each decision in order, told what was before it, until one is called decisive."""
    names = case.names()
    if len(case.decisions) > ASKED_MAX:
        return Verdict(
            reason=f"{len(case.decisions)} decisions are more than the {ASKED_MAX} that are asked"
            " about one by one; ask all at once or by halving"
        )
    for event in case.decisions:
        told = f"{case.told(event.event_id).text}\n\nThe decision to judge: {names[event.event_id]}"
        answer = cast("StepAnswer", (yield Ask("culprit_step", told, StepAnswer)))
        if answer.decisive:
            return Verdict((str(event.event_id),), answer.reason)
    return Verdict(reason=f"the model called none of {len(case.decisions)} decisions decisive")


def _binary_search(case: _Case) -> Judging:
    """Halve the decisions until one is left."""
    names = case.names()
    left = list(case.decisions)
    record = case.told().text
    while len(left) > 1:
        middle = (len(left) + 1) // 2
        groups = [_named(left[:middle], names), _named(left[middle:], names)]
        told = f"{record}\n\nFirst: {groups[0]}\nSecond: {groups[1]}"
        answer = cast("HalfAnswer", (yield Ask("culprit_half", told, HalfAnswer)))
        if answer.half == "neither":
            return Verdict(reason="the model saw the mistake in neither half of the decisions")
        left = left[:middle] if answer.half == "first" else left[middle:]
    return Verdict((str(left[0].event_id),), "what was left after halving")


def _named(events: Sequence[Event], names: Mapping[str, str]) -> str:
    """Decisions by name; of many only the first and the last, which are in order."""
    ids = [names[str(event.event_id)] for event in events]
    return ", ".join(ids) if len(ids) <= 20 else f"the decisions from {ids[0]} to {ids[-1]}"
