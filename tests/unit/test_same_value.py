"""One value for a topic in two wordings, and what is another value after all."""

import pytest

from hindsight_ray.core.conflict import negated, read, same_value


@pytest.mark.covers("write.conflict")
@pytest.mark.parametrize(
    ("new", "kept", "topic", "same"),
    [
        (
            "The owner of job 3 is Farid",
            "For job 3, Farid was chosen as owner",
            "job 3 owner",
            True,
        ),
        (
            "The owner of job 3 is Farid",
            "For job 3, Dana was chosen as owner",
            "job 3 owner",
            False,
        ),
        ("Dates as YYYY-MM-DD", "Use YYYY-MM-DD for dates", "date_format", True),
        ("Dates as YYYY-MM-DD", "Dates as DD.MM.YYYY", "date_format", False),
        ("Dates as YYYY-MM-DD", "Dates as YYYY-MM-DD except on bills", "date_format", False),
        ("The retry limit is 5", "The retry limit is 5 for admins", "retry_limit", False),
        ("Amara reports to Bruno", "Bruno reports to Amara", "reports", False),
        ("Use tabs", "Tabs are used", "indent", True),
        ("Use tabs", "Do not use tabs", "indent", False),
        ("Always answer in German", "Answer in German", "language", True),
        ("Only answer in German", "Answer in German", "language", False),
        ("It is so", "It is", "state", False),
        ("Lights on", "Lights off", "lights", False),
    ],
)
def test_wordings_of_one_value_are_told_from_other_values(
    new: str, kept: str, topic: str, *, same: bool
) -> None:
    assert same_value(read(new), read(kept), topic) is same
    assert same_value(read(kept), read(new), topic) is same


def test_a_denial_is_told_from_opposed_words() -> None:
    assert negated(read("You may deploy on Friday"), read("You may not deploy on Friday"))
    assert not negated(read("Lint before deploying"), read("Lint after deploying"))
