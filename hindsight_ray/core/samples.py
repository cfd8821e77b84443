"""What a sample says of all memories: the share of bad ones, with its interval, week by week.

Wilson's score interval (Wilson 1927), which stays within 0 and 1 and holds for small samples.
"""

import math
import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from hindsight_ray.domain.upkeep import SampleReport, SampleWeek, Verdict

_Z = 1.959963984540054  # of 95 %


def drawn(names: Sequence[str], n: int, seed: int) -> list[str]:
    """At most `n` of the names, at random without repetition; the same seed draws the same."""
    source = random.Random(seed)  # noqa: S311 - a sample to look at, not a secret
    return source.sample(sorted(names), min(n, len(names)))


def wilson(bad: int, judged: int, z: float = _Z) -> tuple[float, float]:
    """The interval of a share of which `bad` of `judged` were seen; all of it where none were."""
    if judged == 0:
        return 0.0, 1.0
    share = bad / judged
    spread = z * math.sqrt(share * (1 - share) / judged + z * z / (4 * judged * judged))
    middle, scale = share + z * z / (2 * judged), 1 + z * z / judged
    low, high = (middle - spread) / scale, (middle + spread) / scale
    return (0.0 if bad == 0 else max(0.0, low)), (1.0 if bad == judged else min(1.0, high))


def report(verdicts: Iterable[Verdict]) -> SampleReport:
    """All verdicts together and by week, Monday to Sunday in UTC; of a memory judged twice in a
    week the later counts."""
    ordered = sorted(verdicts, key=lambda one: one.at)
    if not ordered:
        return SampleReport(total=None, weeks=())
    weeks: dict[datetime, list[Verdict]] = {}
    for verdict in ordered:
        weeks.setdefault(_week(verdict.at), []).append(verdict)
    return SampleReport(
        total=_share(_week(ordered[0].at), ordered),
        weeks=tuple(_share(since, found) for since, found in sorted(weeks.items())),
    )


def _week(at: datetime) -> datetime:
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=day.weekday())


def _share(since: datetime, verdicts: Sequence[Verdict]) -> SampleWeek:
    last = {(_week(one.at), one.memory_id): one.verdict for one in verdicts}
    said = list(last.values())
    bad, unsure = said.count("bad"), said.count("unsure")
    judged = len(said) - unsure
    low, high = wilson(bad, judged)
    return SampleWeek(
        since=since,
        judged=judged,
        bad=bad,
        unsure=unsure,
        share=bad / judged if judged else None,
        low=low,
        high=high,
    )
