"""The hints that spare most texts the search for secrets hide nothing that a shape would find."""

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hindsight_ray.core import personal
from hindsight_ray.core.cleaning import clean_event
from hindsight_ray.core.redaction import (
    _MARKED,  # pyright: ignore[reportPrivateUsage]
    _PERSONAL_HINT,  # pyright: ignore[reportPrivateUsage]
    _SECRET_HINT,  # pyright: ignore[reportPrivateUsage]
    _SHAPES,  # pyright: ignore[reportPrivateUsage]
    _URL,  # pyright: ignore[reportPrivateUsage]
    _may_hold_personal,  # pyright: ignore[reportPrivateUsage]
    _may_hold_secrets,  # pyright: ignore[reportPrivateUsage]
    _without_personal,  # pyright: ignore[reportPrivateUsage]
    _without_secrets,  # pyright: ignore[reportPrivateUsage]
    redacted,
    spotless,
)
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.privacy import EVERYTHING, Handling, Privacy

_SECRETS = [*(shape for _, shape in _SHAPES), *(shape for shape, _ in _MARKED)]
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
    assert shape.search(text) is None or _may_hold_personal(text)


@given(st.from_regex(_URL))
def test_a_password_in_an_address_has_a_hint(text: str) -> None:
    assert _URL.search(text) is None or _may_hold_secrets(text)


def test_a_long_number_alone_is_let_through() -> None:
    assert redacted("Decide step 1234 of the plan") == ("Decide step 1234 of the plan", 0)


# Pieces of what hints look for, and of what surrounds it, so that drawn texts are near the border.
_PIECES = st.sampled_from((
    "key", "KEY", "tok", "en", "secret=", "pass", "word: hunter2!", "bearer ", "eyJ", "://", "a:b@",
    "-----BEGIN", "A", "z", "9", "_", "-", "0123456", "12", "GB82 WEST", "GB82", "@", "mail@x.org",
    " ", "\n", ".", "+49 30 1234567", "1 2 3 4 5 6 7", "ſ", "K", "密码", "é", "１２３４５６７", "𝟗",
    "abcdefghijklmno", "abcdefghijklmnop", "sk-abcdefghijklmnopqrst", "4111 1111 1111 1111",
))  # fmt: skip
_TEXTS = st.lists(_PIECES, max_size=8).map("".join)
_KINDS = st.sampled_from(("mask", "refuse", "keep"))


@settings(max_examples=200)
@example("abcdefghijklmno ")
@example(" abcdefghijklmnop")
@example("1 2 3 4 5 6")
@example("1 2 3 4 5 6 7")
@example("GB82 WEST")
@example("12---34---567")
@example("12----34---567")
@example("1A2bc3 4--5..6__7")
@given(_TEXTS)
def test_hints_over_ascii_say_what_the_patterns_say(text: str) -> None:
    assert _may_hold_secrets(text) == (_SECRET_HINT.search(text) is not None)
    assert _may_hold_personal(text) == (_PERSONAL_HINT.search(text) is not None)


@settings(max_examples=200)
@given(st.lists(_TEXTS, max_size=6), _KINDS, _KINDS)
def test_in_spotless_texts_there_is_nothing_to_mask(
    texts: list[str], secrets: Handling, personal_data: Handling
) -> None:
    privacy = Privacy(secrets=secrets, personal=personal_data)
    if not spotless(texts, privacy):
        return
    for text in texts:
        assert secrets == "keep" or _without_secrets(text) == (text, 0)
        assert personal_data == "keep" or _without_personal(text) == (text, 0)


@settings(max_examples=200)
@given(st.tuples(*[_TEXTS] * 6))
def test_an_event_is_masked_as_each_of_its_texts_would_be(texts: tuple[str, ...]) -> None:
    summary, error, kind, goal, subtask, said = texts
    event = Event.model_validate({
        "event_id": str(UUID(int=1)), "run_id": str(UUID(int=2)), "agent": "a", "incarnation": "0",
        "seq": 0, "timestamp": datetime(2026, 1, 1, tzinfo=UTC), "kind": "tool", "summary": summary,
        "tool": {"name": "call", "error_text": error, "error_type": kind},
        "snapshot": {"goal": goal, "subtask": subtask, "last_user_input": said},
    })  # fmt: skip
    clean = clean_event(event, EVERYTHING)
    assert clean.tool is not None
    assert clean.snapshot is not None
    assert event.tool is not None
    assert event.snapshot is not None
    before = (
        event.summary, event.tool.error_text, event.tool.error_type, event.snapshot.goal,
        event.snapshot.subtask, event.snapshot.last_user_input,
    )  # fmt: skip
    after = (
        clean.summary, clean.tool.error_text, clean.tool.error_type, clean.snapshot.goal,
        clean.snapshot.subtask, clean.snapshot.last_user_input,
    )  # fmt: skip
    assert after == tuple(_without_personal(_without_secrets(text)[0])[0] for text in before)
