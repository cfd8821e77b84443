"""What do comparable runs say of one of them? Suspicions as credit, memories with their difference.

Scores order decisions and sum to nothing. A memory's difference is in units of the outcome: the
mean outcome of runs that used it less that of runs that did not. It is an association over runs
that were not made alike, and is called `statistical` for that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hindsight_ray.core.attribution.draws import drawn
from hindsight_ray.core.attribution.players import event_target
from hindsight_ray.core.attribution.provenance import (
    NO_OUTCOME,
    may_have_led,
    provenance,
    ruling_outcome,
)
from hindsight_ray.core.attribution.spectrum import (
    Formula,
    RunSpectrum,
    Suspicion,
    decision_element,
    run_spectrum,
    suspicions,
    too_few,
)
from hindsight_ray.core.steps import shortened
from hindsight_ray.domain.credit import Abstained, Attribution, Credit, Target
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.run import Trajectory

DIFFERENCE = "difference over runs"
ALIKE = (
    "no decision of this run's slice is in more of the runs that failed than of those that"
    " succeeded, so nothing tells them apart"
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run, those it is comparable with (itself among them), and texts that may be shown."""

    run: Trajectory
    runs: tuple[Trajectory, ...]
    texts: Mapping[MemoryRef, str]


def method_name(formula: Formula) -> str:
    """The method as credits name it."""
    return f"spectrum {formula}"


def compared(comparison: Comparison, formula: Formula = "ochiai") -> Attribution:
    """The decisions of the run's slice by suspicion, or an abstention with its reason."""
    run, name = comparison.run, method_name(formula)
    base = provenance(run, comparison.texts).model_copy(
        update={"method": name, "credits": (), "abstained": None, "scale": "score"}
    )
    if base.outcome is None:
        return _abstained(base, NO_OUTCOME)
    spectra = spectra_of(comparison.runs)
    base = base.model_copy(update={"compared_runs": len(spectra)})
    reason = too_few(spectra)
    if reason is not None:
        return _abstained(base, reason)
    slice_ = may_have_led(run)
    draw = drawn(run.run.run_id)
    found = {one.element: one for one in suspicions(spectra, draw, formula=formula)}
    memories = _memories(comparison, found.values())
    base = base.model_copy(update={"beside": memories})
    credits_ = [
        _credit(event_target(event), found[element], name)
        for event, element in ((event, decision_element(event)) for event in slice_)
        if element in found and found[element].excess > 0
    ]
    if not credits_:
        return _abstained(base, ALIKE)
    credits_.sort(key=lambda credit: credit.value)
    return base.model_copy(update={"credits": tuple(credits_)})


def spectra_of(runs: Sequence[Trajectory]) -> list[RunSpectrum]:
    """The spectra of the runs that have an outcome."""
    found: list[RunSpectrum] = []
    for trajectory in runs:
        outcome = ruling_outcome(trajectory.outcomes)
        if outcome is not None:
            found.append(
                run_spectrum(trajectory.events, success=outcome.success, value=outcome.value)
            )
    return found


def _credit(target: Target, suspicion: Suspicion, method: str) -> Credit:
    """Suspicion is blame: a score from 0 to -1."""
    return Credit(
        target=target,
        value=-suspicion.score if suspicion.score else 0.0,
        low=-suspicion.high if suspicion.high else 0.0,
        high=-suspicion.low if suspicion.low else 0.0,
        method=method,
        evidence="statistical",
    )


def _memories(comparison: Comparison, found: Iterable[Suspicion]) -> tuple[Credit, ...]:
    labels = {str(ref.id): shortened(text, 120) for ref, text in comparison.texts.items()}
    credits_: list[Credit] = []
    for one in found:
        element = one.element
        if element.kind != "memory" or element.key not in labels or one.difference is None:
            continue
        value, low, high = one.difference
        credits_.append(
            Credit(
                target=Target(kind="memory", id=element.key, label=labels[element.key]),
                value=value,
                low=low,
                high=high,
                method=DIFFERENCE,
                evidence="statistical",
            )
        )
    return tuple(credits_)


def _abstained(base: Attribution, reason: str) -> Attribution:
    return base.model_copy(update={"abstained": Abstained(method=base.method, reason=reason)})
