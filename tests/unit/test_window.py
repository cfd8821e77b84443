"""The short-term window: bounded, summarised when full, nothing left out of the count."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_ray.core.window import foldable, summary_of
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.settings import Settings
from hindsight_ray.domain.text import SUMMARY_CHARACTERS_MAX
from hindsight_ray.service import layers
from tests.worlds import world


@given(st.lists(st.text(min_size=1, max_size=400), min_size=1, max_size=60))
def test_a_summary_is_one_bounded_line_that_counts_its_notes(notes: list[str]) -> None:
    summary = summary_of(notes)
    assert len(summary) <= SUMMARY_CHARACTERS_MAX
    assert summary.startswith(f"Earlier ({len(notes)} notes): ")
    again = summary_of([summary, *notes])
    assert again.startswith(f"Earlier ({2 * len(notes)} notes): ")


def test_half_of_a_window_stays_when_the_rest_is_summarised() -> None:
    assert [foldable(["x"] * n, 10) for n in (9, 10, 11, 20)] == [0, 0, 6, 15]


def test_what_a_model_said_stands_in_place_of_the_notes() -> None:
    summary = summary_of(["Earlier (7 notes): old", "a", "b"], "All is well")
    assert summary == "Earlier (9 notes): All is well"


@pytest.mark.covers("record.window")
async def test_a_full_window_keeps_its_newest_notes_and_one_line_for_the_rest(
    tmp_path: Path,
) -> None:
    settings = Settings(lock_wait_s=5.0, short_term_lines=10)
    async with world(tmp_path / "home", settings=settings) as home:
        alice = await home.caller(user="alice", session="s1")
        for n in range(1, 38):
            window = await layers.note(home.world, alice, c.Note(text=f"note {n}"))
            assert len(window.lines) <= 10
        assert window.lines[-1] == "note 37"
        told = sum(line.startswith("note") for line in window.lines)
        assert window.lines[0].startswith(f"Earlier ({37 - told} notes): ")
        other = await home.caller(user="alice", session="s2")
        assert (await layers.window(home.world, other, c.Window())).lines == ()
