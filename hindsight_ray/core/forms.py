"""The words that make the form of a statement, whatever it is about: what two rules share."""

import re
import unicodedata
from functools import lru_cache

from hindsight_ray.core.words import listed, one_spelling, tokens

DETERMINERS = listed("the our my your their his her its this that")
# What these point at was said before, and differs from statement to statement.
POINTING = listed("it its they their this that these those he she his her there here")
UNSURE = listed(
    "maybe perhaps might could may can should would probably possibly likely seems seem sometimes"
    " usually often partly mostly also too besides additionally another either or not never no"
    " cannot if when unless until while except today yesterday tonight ago last once"
    " 可能 也许 大概 有时 通常 也 还 不 没 如果 除非 昨天 今天 曾 过 了"
)
BE = listed("is are be been being gets get")
PAST = listed(
    "was were had did took came went ran said saw made got lost found sent wrote left held fell"
    " rose grew began broke met gave knew felt kept told spent built"
)
RELATIONS = listed("of for with by from in on at to and as has have than 和 与 或 的")
_CLEFT = re.compile(r"(?P<v>[^,;]+?) is (?:what|where|who|when) (?P<rest>.+)", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_MONTHS = (
    "January|Jan", "February|Feb", "March|Mar", "April|Apr", "May", "June|Jun", "July|Jul",
    "August|Aug", "September|Sept|Sep", "October|Oct", "November|Nov", "December|Dec",
)  # fmt: skip
_MONTH = rf"(?P<m>{'|'.join(_MONTHS)})\b\.?"  # with its capital: "may" is another word
_MONTH_OF = {name: number for number, one in enumerate(_MONTHS, 1) for name in one.split("|")}
_DAY = r"(?P<d>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?:,? (?P<y>[12]\d{3}))?(?![\w-])"
_WRITTEN_DATES = (
    re.compile(rf"(?<![\w.-]){_DAY}(?: of)? {_MONTH}{_YEAR}"),
    re.compile(rf"(?<![\w.-]){_MONTH} {_DAY}{_YEAR}"),
    re.compile(r"(?<!\d)(?:(?P<y>[12]\d{3})年)?(?P<m>[01]?\d)月(?P<d>[0-3]?\d)[日号號]"),
)
_MONTH_SAID = re.compile(r"\d\D{0,6}(?:[JFMASOND]|月)|[JFMASOND][a-z]{2,8}\.? \d|\d月")
NO_YEAR = "0000"  # of a day whose year is not said
_HAN_WORD = re.compile(r"[\u3400-\u9fff]+")


@lru_cache(maxsize=4_096)
def said_words(text: str) -> tuple[str, ...]:
    """Its words in order."""
    return tuple(tokens(plain_text(text)))


def plain_text(text: str) -> str:
    """The statement without marks at its end, politeness and other spellings of one form: a day
    that is written out is one in digits."""
    folded = _THOUSANDS.sub("", one_spelling(text))
    if _MONTH_SAID.search(folded):  # few statements name one
        for written in _WRITTEN_DATES:
            folded = written.sub(_in_digits, folded)
    plain = " ".join(folded.split()).strip(" .!。！")
    plain = plain.removeprefix("Please ").removeprefix("please ")
    cleft = _CLEFT.fullmatch(plain)  # "Go is what it is written in" says "it is written in Go"
    return f"{cleft['rest']} {cleft['v']}" if cleft is not None else plain


def _in_digits(found: re.Match[str]) -> str:
    month = found["m"]
    number = int(month) if month.isdecimal() else _MONTH_OF[month]
    return f"{found['y'] or NO_YEAR}-{number:02}-{int(found['d']):02}"


def marks(text: str) -> tuple[str, ...]:
    """What is no letter, digit or space, in order: what words do not show."""
    return tuple(ch for ch in text if not ch.isalnum() and not ch.isspace())


def folded_away(text: str) -> tuple[str, ...]:
    """What `plain_text` makes equal though it may tell two things apart: x² and x2, 1,000 and
    1000. Full-width signs are mere spelling."""
    commas = tuple(_THOUSANDS.findall(text))
    if text.isascii():
        return commas
    other = (ch for ch in text if not "\uff00" <= ch <= "\uffef" and not ch.isspace())
    compared = (ch for ch in other if unicodedata.normalize("NFKC", ch) != ch)
    return (*commas, *compared)


def is_han(word: str) -> bool:
    """Whether it is Chinese signs alone."""
    return _HAN_WORD.fullmatch(word) is not None
