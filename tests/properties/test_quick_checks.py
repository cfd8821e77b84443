"""The quick checks let in nothing that the full ones would refuse or change."""

import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, cast, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter, ValidationError

from hindsight_ray.domain.ids import AgentId, EventId, MemoryId, RunId
from hindsight_ray.domain.quick import Quick
from hindsight_ray.domain.text import Moment, Short, Summary, checked_time
from hindsight_ray.errors import InvalidInput

pytestmark = pytest.mark.covers("G9.texts")

_QUICK: dict[str, Any] = {
    "agent": AgentId, "event": EventId, "run": RunId, "memory": MemoryId, "summary": Summary,
    "short": Short,
}  # fmt: skip
_TEXTS: dict[str, Any] = {"summary": Summary, "short": Short}


def _check(kind: Any) -> Quick:
    (found,) = [one for one in get_args(kind) if isinstance(one, Quick)]
    return found


def _pattern(quick: Quick) -> TypeAdapter[str]:
    """The quick check alone."""
    fields = Field(pattern=quick.pattern, max_length=quick.limit)
    alone: Any = Annotated[str, fields]
    return TypeAdapter(cast("type[str]", alone))


def _admits(pattern: TypeAdapter[str], text: str) -> bool:
    try:
        return pattern.validate_python(text) == text
    except ValidationError:
        return False


def _answer(check: Any, text: str) -> str:
    try:
        return f"as {check(text)!r}"
    except (InvalidInput, ValidationError) as error:
        return f"{type(error).__name__}: {error}"


_UUIDS = st.uuids().map(str)
_NEAR = st.one_of(
    _UUIDS,
    _UUIDS.map(str.upper),
    _UUIDS.map(lambda text: text + "\n"),
    _UUIDS.map(lambda text: text.replace("-", "")),
    st.text(alphabet="aZ9._@- \n\x00é中e\u0301", max_size=6),
    st.text(max_size=20),
    st.integers(120, 1_001).map(lambda length: "a" * length),
)


@pytest.mark.parametrize("name", _QUICK)
@settings(max_examples=200)
@example("")
@example("a\n")
@example("e\u0301")
@example("\ud800")
@example("a" * 128)
@example("a" * 129)
@example("a" * 200)
@example("a" * 201)
@example("a" * 1_000)
@example("a" * 1_001)
@given(text=_NEAR)
def test_what_a_quick_check_says_is_what_the_full_one_says(name: str, text: str) -> None:
    kind = _QUICK[name]
    full = _check(kind).full
    assert _answer(TypeAdapter(kind).validate_python, text) == _answer(full, text)


@pytest.mark.parametrize("name", _TEXTS)
def test_every_character_let_in_stays_as_it_is_beside_any_other(name: str) -> None:
    quick = _check(_TEXTS[name])
    pattern = _pattern(quick)
    letters = [chr(code) for code in range(0x10000) if not 0xD800 <= code <= 0xDFFF]
    let_in = [letter for letter in letters if _admits(pattern, "a" + letter)]
    seconds = _that_compose()
    assert len(let_in) > 20_000
    for letter in let_in:
        assert unicodedata.normalize("NFC", letter) == letter
        assert unicodedata.combining(letter) == 0
        assert letter not in seconds
    for start in range(0, len(let_in), 150):  # the full check takes them together, too
        text = "a" + "".join(let_in[start : start + 150])
        assert quick.full(text) == text
    firsts = [letter for letter in letters if _admits(pattern, letter)]
    assert all(quick.full(letter) == letter for letter in firsts)


@pytest.mark.parametrize("code", [0x10000, 0x1D15F, 0x1F600, 0x2F800, 0xE0001, 0x10FFFF])
def test_characters_beyond_the_first_plane_are_for_the_full_check(code: int) -> None:
    assert not _admits(_pattern(_check(Summary)), chr(code))


def _that_compose() -> set[str]:
    """Characters that NFC may join with what stands before them."""
    hangul = {chr(code) for code in range(0x1161, 0x11C3)}  # vowels and finals
    decomposed = (unicodedata.decomposition(chr(code)) for code in range(0x110000))
    pairs = (text.split() for text in decomposed if text and not text.startswith("<"))
    return hangul | {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2}


_ZONES = st.one_of(
    st.just(UTC),
    st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone),
)


@settings(max_examples=200)
@given(st.datetimes(timezones=_ZONES), st.sampled_from((0, 1)))
def test_a_time_in_utc_is_what_converting_it_gives(moment: datetime, fold: int) -> None:
    given_time = moment.replace(fold=fold)
    try:
        expected = given_time.astimezone(UTC)
    except OverflowError:
        with pytest.raises(InvalidInput):
            checked_time(given_time)
        return
    found = checked_time(given_time)
    assert (found, found.tzinfo, found.fold) == (expected, UTC, 0)


@pytest.mark.parametrize("text", ["0", "1764502527", " 1764502527.5", "1e9", "-1", "+1.5", ""])
def test_a_number_says_no_zone_be_it_written_out_or_not(text: str) -> None:
    moments: TypeAdapter[datetime] = TypeAdapter(Moment)
    for number in (text, *([float(text)] if text else [])):
        with pytest.raises(InvalidInput, match="zone"):
            moments.validate_python(number)
