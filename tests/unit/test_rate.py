"""The allowance of searches: bursts up to the rate, nothing queued, each ticket for itself."""

import pytest

from hindsight_ray.entry import rate
from hindsight_ray.errors import RateLimited


def _taken(allowance: rate.Allowance, ticket: str, now_s: float) -> bool:
    try:
        allowance.take(ticket, now_s)
    except RateLimited:
        return False
    return True


def test_ten_searches_pass_at_once_and_the_eleventh_is_refused() -> None:
    allowance = rate.Allowance(10)
    assert [_taken(allowance, "t", 5.0) for _ in range(11)] == [True] * 10 + [False]


def test_a_refusal_says_when_to_come_back_and_is_right_about_it() -> None:
    allowance = rate.Allowance(3)
    for _ in range(3):
        allowance.take("t", 0.0)
    with pytest.raises(RateLimited) as refused:
        allowance.take("t", 0.1)
    wait_s = refused.value.details["retry_after_s"]
    assert 0 < wait_s < 1
    assert not _taken(allowance, "t", 0.1 + wait_s / 2)
    assert _taken(allowance, "t", 0.1 + wait_s)


def test_one_ticket_does_not_use_up_the_allowance_of_another() -> None:
    allowance = rate.Allowance(1)
    assert [_taken(allowance, ticket, 0.0) for ticket in ("a", "a", "b")] == [True, False, True]


def test_over_a_minute_no_more_pass_than_the_rate_and_one_burst() -> None:
    allowance = rate.Allowance(10)
    assert sum(_taken(allowance, "t", step / 100) for step in range(6_000)) in (609, 610)


def test_a_rate_below_one_still_lets_a_first_search_pass() -> None:
    allowance = rate.Allowance(0.5)
    assert [_taken(allowance, "t", now_s) for now_s in (0.0, 1.0, 2.0)] == [True, False, True]


def test_the_number_of_tickets_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "TICKETS_REMEMBERED_MAX", 3)
    allowance = rate.Allowance(1)
    for ticket in "abcdef":
        allowance.take(ticket, 0.0)
    assert not _taken(allowance, "f", 0.0)
    assert _taken(allowance, "a", 0.0)  # forgotten, and so begins anew


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    allowance = rate.Allowance(1)
    assert [_taken(allowance, "t", now_s) for now_s in (10.0, 9.0, 10.0)] == [True, False, False]
