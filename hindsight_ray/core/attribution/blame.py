"""Which decisions do the failures of a record point at? Structure alone, for where nothing replays.

A failed call that nothing put right, and that no earlier such failure led to, points at the
decisions nearest behind it. This orders decisions; it is no share of the outcome, and a fault that
left no failed call is invisible to it.
"""

from collections.abc import Mapping

from hindsight_ray.core.attribution.players import event_target
from hindsight_ray.core.attribution.provenance import NO_OUTCOME, may_have_led, provenance
from hindsight_ray.core.fixes import fixes, unfixed
from hindsight_ray.core.steps import Steps
from hindsight_ray.domain.credit import Abstained, Attribution, Credit
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.run import Trajectory

METHOD = "blame"


def blame(trajectory: Trajectory) -> dict[str, float]:
    """For each decision that may have led to the outcome, how many failures point at it.

    A failure with several nearest decisions points at each in part.
    """
    steps = Steps(trajectory.events)
    scores = {str(event.event_id): 0.0 for event in may_have_led(trajectory)}
    if steps.has_cycle():
        return scores
    open_failures = {one.event_id for streak in unfixed(steps, fixes(steps)) for one in streak}
    for failure in sorted(open_failures):
        behind = steps.ancestors([failure]) - {failure}
        if behind & open_failures:
            continue
        nearest = [one for one in _nearest(steps, failure) if one in scores]
        for one in nearest:
            scores[one] += 1.0 / len(nearest)
    return scores


def blamed(trajectory: Trajectory, memories: Mapping[MemoryRef, str]) -> Attribution:
    """Scores of a run that failed, from 0 to -1, or an abstention with its reason."""
    base = provenance(trajectory, memories).model_copy(
        update={"method": METHOD, "credits": (), "abstained": None, "scale": "score"}
    )
    scores = blame(trajectory)
    reason = None
    if base.outcome is None:
        reason = NO_OUTCOME
    elif base.outcome > 0:
        reason = "the run succeeded, so there is nobody to blame"
    elif not any(scores.values()):
        reason = "no failure that nothing put right points at a decision"
    if reason is not None:
        return base.model_copy(update={"abstained": Abstained(method=METHOD, reason=reason)})
    total = sum(scores.values())
    by_id = Steps(trajectory.events).by_id
    found = tuple(
        Credit(
            target=event_target(by_id[one]),
            value=-score / total if score else 0.0,
            low=-1.0,
            high=0.0,
            method=METHOD,
            evidence="structural",
        )
        for one, score in scores.items()
    )
    return base.model_copy(update={"credits": found})


def _nearest(steps: Steps, start: str) -> list[str]:
    """The decisions behind an event with no other decision between, in order of the record."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = list(steps.causes[start])
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if steps.by_id[one].kind == "decision":
            found.add(one)
        else:
            waiting.extend(steps.causes[one])
    return sorted(found, key=lambda one: steps.position[one])
