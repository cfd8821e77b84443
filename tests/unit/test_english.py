"""The stemmer that is loaded alone is the package's own."""

import subprocess
import sys

import pytest
import snowballstemmer  # pyright: ignore[reportMissingTypeStubs]
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.english import new_stemmer

_WORDS = (
    "deploying", "deployed", "rollbacks", "generously", "running", "skies", "dying", "news",
    "inning", "proceed", "exceed", "sky", "yellow", "happily", "relational", "conditional",
    "queued", "retries", "databases", "authorisation",
)  # fmt: skip
_package = vars(snowballstemmer)["stemmer"]


@pytest.mark.parametrize("word", _WORDS)
def test_a_word_has_the_stem_that_the_package_gives(word: str) -> None:
    assert new_stemmer().stemWord(word) == _package("english").stemWord(word)


@settings(max_examples=200)
@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=14))
def test_any_word_has_the_stem_that_the_package_gives(word: str) -> None:
    assert new_stemmer().stemWord(word) == _package("english").stemWord(word)


def test_no_other_language_is_loaded() -> None:
    code = "import hindsight_ray.core.keywords, sys; print(*sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in said if name.endswith("_stemmer")] == [
        "hindsight_ray_stemming.english_stemmer"
    ]
