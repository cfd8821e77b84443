"""What samples say: the draw, the interval, the weeks."""

from datetime import timedelta

import pytest

from hindsight_ray.core.samples import drawn, report, wilson
from hindsight_ray.domain.upkeep import SampleVerdict, Verdict
from tests.records import name_of
from tests.worlds import START

DAY = timedelta(days=1)  # START is a Monday


def _said(name: str, verdict: SampleVerdict, days: int) -> Verdict:
    return Verdict(
        memory_id=name_of(name),
        revision=1,
        scope="global",
        verdict=verdict,
        by="user:alice",
        at=START + days * DAY,
    )


@pytest.mark.covers("people.samples")
@pytest.mark.parametrize(
    ("bad", "judged", "low", "high"),
    [  # to four places, as tables of the score interval have them
        (0, 0, 0.0, 1.0),
        (0, 20, 0.0, 0.1611),
        (1, 20, 0.0089, 0.2361),
        (10, 20, 0.2993, 0.7007),
        (20, 20, 0.8389, 1.0),
    ],
)
def test_the_interval_is_wilson_s(bad: int, judged: int, low: float, high: float) -> None:
    found = wilson(bad, judged)
    assert found == pytest.approx((low, high), abs=5e-5)


@pytest.mark.covers("people.samples")
def test_a_seed_names_a_sample_whatever_the_order_of_the_names() -> None:
    names = [f"m{number}" for number in range(100)]
    assert drawn(names, 20, 7) == drawn(names[::-1], 20, 7)
    assert drawn(names, 20, 7) != drawn(names, 20, 8)
    assert len(set(drawn(names, 20, 7))) == 20
    assert sorted(drawn(names[:3], 20, 7)) == names[:3]


@pytest.mark.covers("people.samples")
def test_shares_are_told_by_week_and_the_later_word_counts() -> None:
    said = [_said("a", "bad", 0), _said("b", "good", 1), _said("c", "unsure", 6)]
    said += [_said("b", "bad", 2), _said("a", "good", 7)]
    found = report(reversed(said))
    assert [(week.since, week.judged, week.bad, week.unsure) for week in found.weeks] == [
        (START.replace(hour=0), 2, 2, 1),
        (START.replace(hour=0) + 7 * DAY, 1, 0, 0),
    ]
    assert found.weeks[0].share == 1.0
    assert found.total is not None
    assert (found.total.judged, found.total.bad) == (3, 2)
    assert report([]).total is None
