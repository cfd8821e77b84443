"""What a person reads of a run's steps and of credit on a terminal: first what they must judge."""

import pytest
from rich.console import Console, RenderableType

from hindsight_ray.core.attribution.provenance import provenance
from hindsight_ray.entry.cli import show, show_credit
from tests.trajectories import Story


def text(picture: RenderableType) -> str:
    console = Console(width=300)
    with console.capture() as capture:
        console.print(picture)
    return capture.get()


@pytest.mark.parametrize(
    ("summary", "error", "told"),
    [
        ("flush() → ok", None, "ok  flush() → ok"),
        ("ok", None, "ok  flush → ok"),
        ("flush", None, "ok  flush"),
        ("", None, "ok  flush"),
        (
            "flush(at=eu) → no such region",
            "no such region",
            "failed  flush(at=eu) → no such region",
        ),
        ("we tried eu -> no", "no such region", "failed  flush: we tried eu → no such region"),
        ("flush of eu: no", "no", "failed  flush of eu: no"),
    ],
)
def test_a_call_is_told_with_its_name_once_and_with_what_came_back(
    summary: str, error: str | None, told: str
) -> None:
    story = Story()
    story.call("one", "flush", {}, summary=summary, error=error)
    assert show.step(story.events[0]).plain == told


def test_long_arguments_leave_room_for_what_came_back() -> None:
    story = Story()
    story.call("one", "pay", {}, summary="pay(" + "x" * 600 + ") → refused", error="refused: limit")
    told = show.step(story.events[0]).plain
    assert told.endswith(" → refused: limit")
    assert len(told) < 170


def test_the_most_credit_comes_first_what_is_nothing_is_one_line_and_steps_are_asked_for() -> None:
    story = Story(evidence="observed")
    for name in ("idle", "lazy"):
        story.decide(name)
    story.decide("choose", "roll back")
    story.call("act", "deploy", 41, causes=["choose"])
    run = story.trajectory(0.5)
    found = provenance(run, {})
    assert [round(one.value, 2) for one in found.credits] == [0.0, 0.0, 0.5]
    told = text(show_credit.attribution(found, run))
    first = next(line for line in told.splitlines() if "+0.50 " in line and "roll back" in line)
    assert told.index(first) < told.index("credit +0.00 to 2 more: #1, #2")
    assert "because of" not in told
    assert "because of" in text(show_credit.attribution(found, run, steps=True))
