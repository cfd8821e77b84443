"""What supports an attribution, in a sentence: how much of the run, by which kinds of causes."""

from hindsight_ray.core.report.counts import counted
from hindsight_ray.domain.credit import Attribution


def supported(attribution: Attribution) -> str:
    """How many steps count and what their causes are, or nothing where that was not looked at.

    Of a run without an outcome it is said what led to its end: nothing led to what is not there.
    Of compared runs it is said which were: a like goal in other words is another task.
    """
    cover = attribution.coverage
    if cover is None:
        return ""
    end = "what the run ended with" if attribution.outcome is None else "the outcome"
    runs = attribution.compared_runs
    others = f"; compared: {counted(runs, 'run')} of this task type and this very goal"
    return (
        f"{cover.in_slice} of {counted(cover.events, 'step')} led to {end}; causes:"
        f" {cover.observed_edges} observed, {cover.declared_edges} declared,"
        f" {cover.inferred_edges} inferred; {cover.dangling} to no recorded step; missing:"
        f" {counted(cover.gaps, 'step')}{others if runs else ''}"
    )
