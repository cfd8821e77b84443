"""A small year in forms that rules do not know, with a model that errs now and then."""

from pathlib import Path

import pytest

from benchmarks._frames import HELD_OUT
from benchmarks._lived import lived
from benchmarks._mistaken import mistaken
from hindsight_ray.adapters.models.hashed import HashedEmbedder


@pytest.mark.covers("write.judged", "write.unrelated")
async def test_a_judge_finds_what_rules_cannot_and_its_errors_stay_few(tmp_path: Path) -> None:
    with mistaken(0.05) as judge:
        seen = await lived(
            tmp_path / "home", HashedEmbedder(), writes=200, agents=2, spoken=HELD_OUT, judge=judge
        )
        assert judge.erred > 0
    assert seen.contradicted["plain"] > 3
    assert seen.both_active["plain"] <= 0.2 * seen.contradicted["plain"]
    assert seen.retired + seen.wrong_merges <= 0.01 * seen.writes
    assert seen.asked_in_vain == 0
