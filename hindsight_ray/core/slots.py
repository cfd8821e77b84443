"""Do two statements say the same but for one value of a closed kind, where one holds at a time?

In one order, or otherwise put. Only what is so, or is to be, is compared: past events, bounds and
what is said of a thing that a number names exclude nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from hindsight_ray.core.forms import (
    BE,
    DETERMINERS,
    PAST,
    POINTING,
    RELATIONS,
    UNSURE,
    is_han,
    plain_text,
    said_words,
)
from hindsight_ray.core.keywords import stem
from hindsight_ray.core.kinds import (
    CURRENCIES,
    HAN_UNITS,
    UNITS,
    Value,
    may_begin_a_closed_one,
    value_of,
)
from hindsight_ray.core.skim import lacks
from hindsight_ray.core.words import listed

_WORDS_MAX = 80  # of a statement that is taken for one
_VALUE_MAX = 2  # words that name a value
_BOUNDS = listed("least most up over under above below than about around roughly almost nearly to")
_COUNTING = listed("is are has have needs need takes take every after only exactly costs lasts")
_STRUCTURE = BE | RELATIONS | listed("the a an we i when what where every each per do")
_DATED = ("day", "time", "date", "month")
_MEASURING = (
    _COUNTING
    | _BOUNDS
    | listed(
        "for in within of by at wait keep use sleep hold allow give show run send read cost last"
    )
)
_ADVERBS = listed("every after within")
_VERBS = BE | listed("has have needs need takes take costs cost lasts can may must should")
# With these a day or time is when a thing is, rather than one of the times when it happens.
_SCHEDULING = BE | listed(
    "weekly daily monthly every each starts start begins begin ends end opens open closes close"
    " leaves finishes meets meet"
)


@dataclass(frozen=True, slots=True)
class Clash:
    """Two values for one thing; `certain` if only one can hold, else a person has to say."""

    certain: bool


def in_one_slot(new: str, kept: str) -> Clash | None:
    """Two statements in the same words but for one value of a closed kind. Where other marks part
    them besides ("room (a)", "room a"), it is never certain."""
    mine, folded = said_words(new), _folded(new)
    if not mine or len(mine) > _WORDS_MAX or folded[0] in POINTING:
        return None
    if lacks(kept, folded, beyond=_VALUE_MAX):
        return None
    theirs = said_words(kept)
    if abs(len(mine) - len(theirs)) > 1:
        return None
    found = _in_one_slot(mine, theirs)
    if found is None or not found[0].certain:
        return None if found is None else found[0]
    _, a, b = found
    one, other = plain_text(new).casefold(), plain_text(kept).casefold()
    start = _common(one, other)
    end = _common(one[start:][::-1], other[start:][::-1])
    return Clash(
        _is_of(one[start : len(one) - end], a) and _is_of(other[start : len(other) - end], b)
    )


@lru_cache(maxsize=4_096)
def _folded(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in said_words(text))


def _is_of(written: str, value: Sequence[str]) -> bool:
    """Whether nothing but (a part of) the value is written there, marks included."""
    return "".join(written.split()) in "".join(value).casefold()


def _in_one_slot(
    mine: Sequence[str], theirs: Sequence[str]
) -> tuple[Clash, Sequence[str], Sequence[str]] | None:
    start = _common(mine, theirs)
    end = _common(mine[start:][::-1], theirs[start:][::-1])
    a, b = mine[start : len(mine) - end], theirs[start : len(theirs) - end]
    if not (0 < len(a) <= _VALUE_MAX and 0 < len(b) <= _VALUE_MAX) or start + end < 2:
        return None
    before, after = mine[:start], mine[len(mine) - end :]
    rest = {word.casefold() for word in (*before, *after)}
    if rest & UNSURE or _tells_the_past([*before, "\0", *after]):
        return None
    found = _in_slot(before, after, rest, value_of(a), value_of(b))
    return None if found is None else (found, a, b)


def _in_slot(
    before: Sequence[str], after: Sequence[str], rest: set[str], one: Value, other: Value
) -> Clash | None:
    if one.sort != other.sort or one == other:
        return None
    if one.sort == "quantity" and _counts(before, after):
        bounded = bool(before) and before[-1].casefold() in _BOUNDS
        bounded = bounded or same_number(one, other)
        return Clash(not bounded and one.unit == other.unit)
    if one.sort in _DATED and rest & _SCHEDULING:
        return Clash(_is_said_to_be(before, after))
    if one.sort in ("colour", "switch") and before and before[-1].casefold() in BE:
        return Clash(before[0].casefold() in DETERMINERS)
    return None


def same_number(one: Value, other: Value) -> bool:
    """Whether two quantities may be one number in two spellings (5, +5, 5.0)."""
    try:
        return float(one.said[0].strip("%")) == float(other.said[0].strip("%"))
    except ValueError:
        return one.said[0].lstrip("+") == other.said[0].lstrip("+")


def in_other_order(new: str, kept: str) -> Clash | None:
    """The same words otherwise put, with two quantities, days or times."""
    mine = _measured(new)
    theirs = None if mine is None else _measured(kept)
    if mine is None or theirs is None or mine.words != theirs.words:
        return None
    one, other = mine.value, theirs.value
    if one.sort in _DATED and not (mine.scheduled and theirs.scheduled):
        return None
    return Clash(False) if one.sort == other.sort and one != other else None


@dataclass(frozen=True, slots=True)
class _Measured:
    """A statement with one quantity, day or time, and the words that are left, in no order."""

    value: Value
    words: tuple[str, ...]
    scheduled: bool


@lru_cache(maxsize=4_096)
def _measured(text: str) -> _Measured | None:
    words = said_words(text)
    if len(words) > _WORDS_MAX:
        return None
    folded = {word.casefold() for word in words}
    if folded & UNSURE or _tells_the_past(words) or folded & POINTING:
        return None
    found: list[tuple[int, int, Value]] = []
    place = 0
    while place < len(words):
        size, value = _value_at(words, place)
        if value is not None:
            found.append((place, size, value))
        place += size
    if len(found) != 1:
        return None
    (start, size, value) = found[0]
    left = [word.casefold() for word in (*words[:start], *words[start + size :])]
    said = sorted(stem(word) for word in left if word not in _STRUCTURE and word != value.sort)
    scheduled = bool(folded & _SCHEDULING)
    return _Measured(value, tuple(said), scheduled) if len(said) > 1 else None


def _value_at(words: Sequence[str], place: int) -> tuple[int, Value | None]:
    if not may_begin_a_closed_one(words[place]):
        return 1, None
    for size in (2, 1):
        span = words[place : place + size]
        value = value_of(span)
        if value.sort in _DATED or value.sort == "colour":
            return len(span), value
    before, after = words[:place], words[place + 1 :]
    counted = value_of(words[place : place + 1])
    if counted.sort == "quantity" and _counts(before, after):
        return 1, counted
    return 1, None


def _counts(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether the number between counts or measures, rather than names what stands before it."""
    if before and before[-1] in CURRENCIES:
        before = before[:-1]
    last = before[-1].casefold() if before else ""
    following = after[0].casefold() if after else ""
    if last in DETERMINERS or last in ("第", "号"):
        return False
    first = len(before) == 1 and last in _ADVERBS  # "every 30 days the keys are changed"
    if not first and _goes_on(after):
        return False
    measured = following in UNITS and (last in _MEASURING or last.endswith("s"))
    return (
        measured
        or (is_han(following) and following in HAN_UNITS)
        or (last in _COUNTING and (following != "" or last in BE))
    )


def _goes_on(after: Sequence[str]) -> bool:
    """Whether a verb follows, so that what came before it is the subject: a number names it."""
    words = [word.casefold() for word in after]
    return any(word in _VERBS for word in words) or any(w.endswith("s") for w in words[1:2])


def _is_said_to_be(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether the day or time is what a definite thing is said to be on, and no more is said."""
    said = [word.casefold() for word in before[-2:]]
    return not after and bool(before) and before[0].casefold() in DETERMINERS and bool(BE & {*said})


def _tells_the_past(words: Sequence[str]) -> bool:
    previous = ""
    for word in words:
        folded = word.casefold()
        if folded in PAST or (
            folded.endswith("ed") and len(folded) > 4 and previous not in BE | DETERMINERS
        ):
            return True
        previous = folded
    return False


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a.casefold() != b.casefold():
            break
        count += 1
    return count
