"""What is passed over without a look names no value that statements are compared by."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hindsight_ray.core.kinds import may_begin_a_closed_one, value_of

_OPEN = frozenset({"word", "name", "code"})
_WORDS = st.one_of(
    st.text("0123456789:.,/-+%hapmo'cl", min_size=1, max_size=6),
    st.text("abcdeADk19-²٣五", min_size=1, max_size=5),
    st.sampled_from(
        ("monday", "May", "RED", "on", "off", "three", "am", "o'clock", "light", "blue")
    ),
)


@pytest.mark.covers("write.claims")
@settings(max_examples=200)
@example(["word12"])
@example(["-5"])
@example(["+3", "days"])
@given(st.lists(_WORDS, min_size=1, max_size=2))
def test_a_value_of_a_closed_kind_begins_with_a_word_that_is_looked_at(words: list[str]) -> None:
    if not may_begin_a_closed_one(words[0]):
        assert value_of(words).sort in _OPEN


@pytest.mark.covers("write.claims")
@settings(max_examples=100)
@given(st.lists(_WORDS, min_size=1, max_size=2))
def test_words_seen_before_name_the_same_value(words: list[str]) -> None:
    assert value_of(words) == value_of(list(words)) == value_of(tuple(words))
