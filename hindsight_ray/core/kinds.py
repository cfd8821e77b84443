"""What kind of value do these words name: a quantity, a day, a colour, somebody's name?

Closed kinds are known by their words; what is left is a code, a name (by its capital) or a word.
Two values of one closed kind differ if their words do, but for quantities in other units.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from hindsight_ray.core.keywords import stem
from hindsight_ray.core.words import listed

Sort = Literal[
    "quantity", "day", "month", "time", "date", "colour", "switch", "code", "name", "word"
]
CLOSED: frozenset[Sort] = frozenset(
    {"quantity", "day", "month", "time", "date", "colour", "switch", "code"}
)

_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_COUNTED)} | {
    "eleven": "11",
    "twelve": "12",
    "once": "1",
    "twice": "2",
}
HAN_NUMBERS = frozenset("零〇一二三四五六七八九十百千万萬亿億两兩")
_HAN_DIGITS = {sign: str(number) for number, sign in enumerate("零一二三四五六七八九十")}
UNITS = listed(
    "milliseconds seconds minutes hours days weeks months years times ms s sec min h % percent"
    " euros dollars pounds yen eur usd gbp kb mb gb tb kib mib gib bytes tokens requests items"
    " rows retries attempts replicas nodes workers copies instances people users seats pages"
    " words characters lines degrees metres meters km cm kg per"
)
HAN_UNITS = frozenset("天次个個小分秒元台份周年月人条條页頁倍%")
_DAYS = listed(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays"
    " fridays saturdays sundays mon tue tues wed thu thur thurs fri sat sun weekdays weekends"
    " today tomorrow"
)
_MONTHS = listed(
    "january february march april june july august september october november december"
)
_COLOURS = listed(
    "red green blue yellow orange purple pink black white grey gray amber brown cyan magenta"
    " violet turquoise beige navy teal gold silver 红色 绿色 蓝色 黄色 黑色 白色 灰色 紫色"
)
_SWITCHES = listed(
    "on off yes no true false enabled disabled up down open closed active inactive allowed"
    " forbidden running stopped online offline locked unlocked public private green-lit blocked"
    " 开 关 是 否 开启 关闭 启用 禁用"
)
_CLOCK = re.compile(r"\d{1,2}[:.h]\d{2}(?:[:.]\d{2})?|\d{1,2}\s*(?:am|pm|o'clock|uhr|点|點|时)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}(?:/\d{2,4})?")
_HAN_DAY = re.compile(r"(?:星期|周|週|礼拜)[一二三四五六日天末]")
_PLAIN_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*%?")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+")
_HAN = re.compile(r"[\u3400-\u9fff]")
# Before a number: in what it is counted, and of what it is the bound.
CURRENCIES = frozenset("$€£¥₹₽₩")
BOUNDING = frozenset("<>≤≥~≈±=")
# Capitalised, and said of somebody or something rather than its name.
_ADJECTIVE_ENDINGS = ("ish", "ese", "ian", "ean", "ican")
_ADJECTIVES = listed(
    "swiss french dutch german greek thai czech welsh icelandic iraqi israeli pakistani saudi"
    " bangladeshi nepali qatari kuwaiti omani yemeni afghan uzbek kazakh slovak serb croat african"
    " moroccan tibetan cuban roman catholic muslim hindu buddhist gothic arabic celtic nordic"
    " slavic baltic asian"
)


_CLOSED_WORDS = _DAYS | _MONTHS | _COLOURS | _SWITCHES | frozenset(NUMBER_WORDS)


def may_begin_a_closed_one(word: str) -> bool:
    """Whether a value of a closed kind, other than a Chinese one, may begin with this word."""
    if not word[:1].isalpha() or not word.isascii():
        return True  # times, dates, numbers and their signs begin so
    return word.casefold() in _CLOSED_WORDS


@dataclass(frozen=True, slots=True)
class Value:
    """Some words that name a value, and of what kind it is; a quantity's unit is its own."""

    sort: Sort
    said: tuple[str, ...]  # words without capitals, numbers as digits
    unit: tuple[str, ...] = ()


def number_of(word: str) -> str | None:
    """The number that a word is, as its digits or signs, or None."""
    folded = word.casefold()
    if folded in NUMBER_WORDS:
        return NUMBER_WORDS[folded]
    if folded in HAN_NUMBERS:
        return _HAN_DIGITS.get(folded, folded)
    if _THOUSANDS.fullmatch(folded):
        return folded.replace(",", "")
    return folded if _PLAIN_NUMBER.fullmatch(folded) else None


def value_of(words: Sequence[str]) -> Value:
    """The value that some words name, as they are written in the statement."""
    return _value_of(tuple(words))


# Statements of one memory share their words, and each new one is compared with twenty kept ones.
@lru_cache(maxsize=16_384)
def _value_of(words: tuple[str, ...]) -> Value:
    text = " ".join(words).casefold()
    joined = "".join(words).casefold()
    exact = tuple(word.casefold() for word in words)
    closed: tuple[tuple[Sort, bool], ...] = (
        ("time", _CLOCK.fullmatch(text) is not None),
        ("date", _DATE.fullmatch(text) is not None),
        ("day", text in _DAYS or _HAN_DAY.fullmatch(joined) is not None),
        ("month", text in _MONTHS),
        ("colour", text in _COLOURS or joined in _COLOURS),
        ("switch", text in _SWITCHES or joined in _SWITCHES),
    )
    for sort, holds in closed:
        if holds:
            said = tuple(stem(word) for word in exact) if sort == "day" else exact
            return Value(sort, (joined,) if _HAN.search(joined) else said)
    signs = 0
    while signs < len(words) - 1 and words[signs] in CURRENCIES | BOUNDING | {"-"}:
        signs += 1
    number = number_of(words[signs])
    if number is not None:
        minus = "-" if "-" in words[:signs] else ""
        unit = tuple(sign for sign in words[:signs] if sign != "-")
        return Value("quantity", (minus + number,), (*unit, *exact[signs + 1 :]))
    if any(ch.isdigit() for ch in joined):
        return Value("code", exact)
    if any(ch.isupper() for word in words for ch in word) and not _is_adjective(exact):
        return Value("name", exact)
    return Value("word", (joined,) if _HAN.search(joined) else exact)


def _is_adjective(words: Sequence[str]) -> bool:
    last = words[-1]
    return last in _ADJECTIVES or (len(last) > 4 and last.endswith(_ADJECTIVE_ENDINGS))
