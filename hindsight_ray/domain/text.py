"""Texts, times and vectors that come from outside, checked once where they enter."""

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from hindsight_ray.domain.quick import Quick
from hindsight_ray.errors import InvalidInput, InvalidVector

CONTENT_CHARACTERS_MAX = 200
SUMMARY_CHARACTERS_MAX = 1_000
QUERY_CHARACTERS_MAX = 2_000
LONG_TEXT_CHARACTERS_MAX = 20_000
STEPS_MAX = 50
TAGS_MAX = 32
TOOLS_MAX = 200

_NUMBER = re.compile(r"\s*[-+]?\d*\.?\d*(?:[eE][-+]?\d+)?\s*\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # Cc without tab and line ends


def checked_text(text: str, *, name: str, limit: int, empty: bool = False) -> str:
    """Return `text` in NFC, or raise `InvalidInput`.

    Refused: lone surrogates, NUL and other control characters (tab and newline are kept), more
    than `limit` characters, and what shows nothing (white space, unseen signs) unless `empty`.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"`{name}` must be text, not {type(text).__name__}", field=name)
    if not text.isprintable():  # the scans below run only over what may need them
        _refuse_unfit(text, name)
    normal = unicodedata.normalize("NFC", text)
    if len(normal) > limit:
        raise InvalidInput(
            f"`{name}` has {len(normal)} characters; at most {limit} are kept", field=name
        )
    if not empty and not normal.strip():
        raise InvalidInput(f"`{name}` is empty", field=name)
    if not (empty or normal.isprintable() or any(map(_shows, normal))):
        raise InvalidInput(f"`{name}` shows nothing: no character of it is seen", field=name)
    return normal


def _refuse_unfit(text: str, name: str) -> None:
    if _SURROGATE.search(text):
        raise InvalidInput(f"`{name}` holds a lone surrogate, which is no character", field=name)
    if _CONTROL.search(text):
        raise InvalidInput(f"`{name}` holds a control character (NUL or the like)", field=name)


def _shows(character: str) -> bool:
    return character.isprintable() and not character.isspace()


def cut_text(text: str, limit: int) -> tuple[str, bool]:
    """Return `text` made fit for storing within `limit` characters, and whether it was cut.

    For text that a tool or a log produced and nobody can be asked to correct: control characters
    and lone surrogates become `\ufffd`.
    """
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text, False  # as most are
    head = text[: limit * 2 + 64]
    clean = _CONTROL.sub("\ufffd", _SURROGATE.sub("\ufffd", head))
    normal = unicodedata.normalize("NFC", clean)
    if len(normal) <= limit and len(text) <= limit * 2 + 64:
        return normal, False
    return normal[: limit - 1] + "…", True


def checked_time(moment: datetime) -> datetime:
    """Return `moment` in UTC; `InvalidInput` if it has no time zone or UTC has no such year."""
    if moment.tzinfo is UTC and not moment.fold:  # as nearly all are, and it is asked for each
        return moment
    away = moment.utcoffset()
    if away is None:
        raise InvalidInput(f"`time` {moment.isoformat()} has no time zone", field="time")
    if not away:
        return moment.replace(tzinfo=UTC, fold=0)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(
            f"`time` {moment.isoformat()} is before year 1 or after year 9999 in UTC", field="time"
        ) from None


def checked_vector(vector: Sequence[float], *, dimension: int) -> tuple[float, ...]:
    """Return `vector` if it is `dimension` finite numbers, not all zero; else `InvalidVector`."""
    if len(vector) != dimension:
        raise InvalidVector(
            f"`vector` has {len(vector)} numbers; this space has {dimension}", dimension=dimension
        )
    if not all(math.isfinite(x) for x in vector):
        raise InvalidVector("`vector` holds NaN or infinity")
    if not any(vector):
        raise InvalidVector("`vector` is zero, so it has no direction")
    return tuple(vector)


def _aware(value: object) -> object:
    """A moment as it was given: a number says no zone, be it written out or not."""
    if isinstance(value, datetime):
        return checked_time(value)
    if isinstance(value, str):
        number = ":" not in value and _NUMBER.match(value) is not None
    else:
        number = isinstance(value, int | float)
    if number:
        raise InvalidInput("`time` must have its zone, as 2026-03-01T10:00:00+00:00 has")
    return value


def _summary(text: str) -> str:
    return checked_text(text, name="summary", limit=SUMMARY_CHARACTERS_MAX, empty=True)


def _content(text: str) -> str:
    return checked_text(text, name="content", limit=CONTENT_CHARACTERS_MAX)


def _line(text: str) -> str:
    return checked_text(text, name="text", limit=SUMMARY_CHARACTERS_MAX)


def _short(text: str) -> str:
    return checked_text(text, name="name", limit=CONTENT_CHARACTERS_MAX)


def _long(text: str) -> str:
    return checked_text(text, name="content", limit=LONG_TEXT_CHARACTERS_MAX)


def _query(text: str) -> str:
    return checked_text(text, name="query", limit=QUERY_CHARACTERS_MAX)


# Characters that stay as they are beside any others of them, and are no controls: ASCII, letters
# and marks of Europe, Chinese and Japanese with their punctuation, an arrow; others go to Python.
_LETTERS = "!-~\u00a1-\u00ac\u00ae-\u02ff\u4e00-\u9fff\u3041-\u3096\u30a1-\u30fa\uff01-\uff5e"
_MORE = " \t\n\r\u2192\u2010-\u2027\u3001-\u3029\u30fb-\u30fe"
_PLAIN = f"^[{_LETTERS}{_MORE}]*$"
_PLAIN_AND_SOME = f"^[{_LETTERS}][{_LETTERS}{_MORE}]*$"

Moment = Annotated[datetime, BeforeValidator(_aware), AfterValidator(checked_time)]
Text = Annotated[str, Field(strict=True)]  # bytes are no text, whatever they would decode to
Summary = Annotated[
    str, Quick(_PLAIN, _summary, SUMMARY_CHARACTERS_MAX)
]  # up to 1,000 characters, may be empty
Content = Annotated[Text, AfterValidator(_content)]  # 1 to 200 characters: one memory
Line = Annotated[Text, AfterValidator(_line)]  # 1 to 1,000 characters: a goal, a step, a reason
Short = Annotated[
    str, Quick(_PLAIN_AND_SOME, _short, CONTENT_CHARACTERS_MAX)
]  # 1 to 200 characters: a tool's or task's name
LongText = Annotated[Text, AfterValidator(_long)]  # 1 to 20,000 characters: a draft, to be split
Query = Annotated[Text, AfterValidator(_query)]  # 1 to 2,000 characters
