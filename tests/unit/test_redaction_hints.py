"""The hints that spare most texts the search for secrets hide nothing that a shape would find."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core import personal
from hindsight_ray.core.redaction import (
    _NAMED,  # pyright: ignore[reportPrivateUsage]
    _PERSONAL_HINT,  # pyright: ignore[reportPrivateUsage]
    _SHAPES,  # pyright: ignore[reportPrivateUsage]
    _URL,  # pyright: ignore[reportPrivateUsage]
    _may_hold_secrets,  # pyright: ignore[reportPrivateUsage]
    redacted,
)

_SECRETS = [*(shape for _, shape in _SHAPES), _NAMED]
_PERSONAL = [shape for _, shape, _ in personal.SHAPES]


@pytest.mark.parametrize("shape", _SECRETS, ids=lambda shape: shape.pattern[:30])
@settings(max_examples=60)
@given(data=st.data())
def test_whatever_a_secret_shape_finds_has_a_hint(
    shape: re.Pattern[str], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(shape))
    assert shape.search(text) is None or _may_hold_secrets(text)


@pytest.mark.parametrize("shape", _PERSONAL, ids=lambda shape: shape.pattern[:30])
@settings(max_examples=60)
@given(data=st.data())
def test_whatever_a_personal_shape_finds_has_a_hint(
    shape: re.Pattern[str], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(shape))
    assert shape.search(text) is None or _PERSONAL_HINT.search(text) is not None


@given(st.from_regex(_URL))
def test_a_password_in_an_address_has_a_hint(text: str) -> None:
    assert _URL.search(text) is None or _may_hold_secrets(text)


def test_a_long_number_alone_is_let_through() -> None:
    assert redacted("Decide step 1234 of the plan") == ("Decide step 1234 of the plan", 0)
