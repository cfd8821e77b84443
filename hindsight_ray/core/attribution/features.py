"""What can be seen of a decision in a finished log, without a model, that may tell a culprit?

Few and plain, so that a prior over them can be learned from some dozens of labelled logs: where the
decision stands, what it does, and how it speaks. No agent's name is looked at: what counts is how
often and when it decided. Words are English ones; elsewhere those features are zero.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_ray.core.steps import failed, words
from hindsight_ray.domain.event import Event

Numbers = NDArray[np.float64]

FEATURES = (
    "early",  # 1 at the first decision, falling to 0 at the last
    "number",  # ln(1 + n) of the n decisions before it
    "first work",  # the first after the opening that is more than a signal
    "handoff",  # another agent decided just before
    "share of agent",  # of all decisions, how many are this agent's
    "code",  # it holds a code block
    "assumes",  # it supposes, simulates or makes up
    "hedges",  # it doubts what it says
    "agrees",  # it takes over what another said
    "short",  # a line at most: a signal, no work
)

_ASSUMES = re.compile(
    r"\b(?:assum\w+|hypothe\w+|simulat\w+|placeholder|mock|dummy|sample data|for example purposes"
    r"|let's say|pretend|example data|for demonstration|illustrat\w+)\b",
    re.IGNORECASE,
)
_HEDGES = re.compile(
    r"\b(?:might|may be|perhaps|possibly|likely|probably|appears?|seems?|approximately|unable"
    r"|cannot|could not|sorry|apolog\w+|not sure|unclear)\b",
    re.IGNORECASE,
)
_AGREES = re.compile(
    r"\b(?:i agree|agreed|as (?:verified|confirmed) by|everyone (?:agree|is in agreement)|correctly"
    r"|looks correct|accurate(?:ly)?|well done|thank you)\b",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\b(?:error|exception|traceback|exitcode: 1|failed|failure|not found|denied|404"
    r"|timed? ?out)\b",
    re.IGNORECASE,
)
_SHORT = 12  # words


@dataclass(frozen=True, slots=True)
class Observed:
    """The decisions of a run in order, and one row of `FEATURES` for each."""

    decisions: tuple[Event, ...]
    rows: Numbers


def observed(events: Iterable[Event]) -> Observed:
    """The features of every decision, from shape and words alone."""
    decisions = tuple(event for event in events if event.kind == "decision")
    counts = Counter(str(event.agent) for event in decisions)
    short = [len(words(event.summary)) <= _SHORT for event in decisions]
    works = next((n for n, brief in enumerate(short) if n and not brief), -1)
    rows = np.zeros((len(decisions), len(FEATURES)))
    last = max(len(decisions) - 1, 1)
    for n, event in enumerate(decisions):
        rows[n] = (
            1.0 - n / last,
            math.log1p(n),
            n == works,
            n > 0 and decisions[n - 1].agent != event.agent,
            counts[str(event.agent)] / len(decisions),
            "```" in event.summary,
            _ASSUMES.search(event.summary) is not None,
            _HEDGES.search(event.summary) is not None,
            _AGREES.search(event.summary) is not None,
            short[n],
        )
    return Observed(decisions, rows)


def error_word(event: Event) -> bool:
    """Whether a step names an error, or is a call that failed."""
    return failed(event) or _ERROR.search(event.summary) is not None
