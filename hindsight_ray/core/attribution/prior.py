"""Which decision of a finished log would somebody blame? A prior learned from labelled logs.

One choice among the decisions of a run, by a conditional logit over `features` (McFadden 1974):
the chance of a decision is proportional to exp(weights · row). Weights are fitted by Newton's
method with a ridge, deterministically. What it says is an opinion about structure: it is off unless
somebody hands over weights, and moves nothing by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_ray.core.attribution.features import Numbers

RIDGE = 5.0
_ROUNDS = 50
_STILL = 1e-8


@dataclass(frozen=True, slots=True)
class Labelled:
    """The rows of one log's decisions, and which of them was blamed."""

    rows: Numbers
    blamed: int


@dataclass(frozen=True, slots=True)
class Prior:
    """Weights, one for each feature, of rows that were scaled by `scale`."""

    weights: Numbers
    scale: Numbers

    def chances(self, rows: Numbers) -> Numbers:
        """The chance of each decision of one log; they sum to 1."""
        return _chances(rows / self.scale, self.weights)


def fitted(logs: Sequence[Labelled], *, ridge: float = RIDGE) -> Prior:
    """The weights of greatest penalised likelihood. Without logs every decision is as likely."""
    if not logs:
        raise ValueError("`logs` must hold at least one labelled log")
    every = np.concatenate([log.rows for log in logs])
    scale = np.where(every.std(axis=0) > 0, every.std(axis=0), 1.0)
    rows = [log.rows / scale for log in logs]
    weights = np.zeros(every.shape[1])
    for _ in range(_ROUNDS):
        slope = -ridge * weights
        curve = ridge * np.eye(len(weights))
        for log, scaled in zip(logs, rows, strict=True):
            chances = _chances(scaled, weights)
            mean = chances @ scaled
            slope += scaled[log.blamed] - mean
            curve += (scaled * chances[:, None]).T @ scaled - np.outer(mean, mean)
        step = np.linalg.solve(curve, slope)
        # A convex problem with a ridge: full steps overshoot only far out, where halving helps.
        weights = weights + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 2.0))
        if float(np.abs(step).max()) < _STILL:
            break
    return Prior(weights, scale)


def _chances(rows: Numbers, weights: Numbers) -> Numbers:
    raw = rows @ weights
    odds = np.exp(raw - raw.max())
    return odds / odds.sum()
