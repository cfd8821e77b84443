"""A small synthetic year, lived by rules alone; `benchmarks/lifecycle.py` lives the large one."""

from pathlib import Path

import pytest

from benchmarks._frames import HELD_OUT
from benchmarks._lived import lived
from benchmarks._year import letters_apart, sayings
from hindsight_ray.adapters.models.hashed import HashedEmbedder


@pytest.mark.covers("life.year")
async def test_a_year_keeps_each_fact_once_and_lets_nothing_go_unarchived(tmp_path: Path) -> None:
    seen = await lived(tmp_path / "home", HashedEmbedder(), writes=500, agents=2)
    assert seen.said_again["duplicate"] > 50
    assert seen.stored_again["duplicate"] == 0
    assert seen.wrong_merges == 0
    assert seen.contradicted["contradiction"] > 10
    assert seen.both_active["contradiction"] == 0
    assert seen.both_active["negation"] == 0
    assert seen.contradicted["plain"] > 3
    assert seen.both_active["plain"] == 0
    assert (seen.retired, seen.asked_in_vain) == (0, 0)
    assert seen.pending <= 0.2 * seen.writes
    distinct, online = seen.growth[-1]
    assert online <= distinct
    assert seen.archived > 0
    assert seen.deleted > 0
    assert seen.deleted_unarchived == 0


@pytest.mark.covers("life.year", "write.unrelated")
async def test_in_forms_that_no_rule_was_written_for_nothing_unrelated_is_touched(
    tmp_path: Path,
) -> None:
    seen = await lived(tmp_path / "home", HashedEmbedder(), writes=500, agents=2, spoken=HELD_OUT)
    assert seen.results["beside", "stored"] > 10
    assert (seen.retired, seen.wrong_merges, seen.asked_in_vain) == (0, 0, 0)
    assert seen.both_active["plain"] < 0.5 * seen.contradicted["plain"]
    assert seen.pending <= 0.2 * seen.writes


def test_a_seed_tells_the_same_year_and_labels_what_is_the_same() -> None:
    one, other = list(sayings(300, 3)), list(sayings(300, 3))
    assert one == other
    first = {saying.label: saying for saying in one if saying.kind == "new"}
    again = [saying for saying in one if saying.kind == "duplicate" and saying.label in first]
    assert again
    for saying in again:
        assert letters_apart(saying.content) == letters_apart(first[saying.label].content)
