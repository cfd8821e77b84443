"""Do two statements give one thing two values, where only one can hold?

Read from the form of the language alone, with no list of subjects. A definite description ("the
owner of billing is Dana", "billing's port is 80", 负责人是…) presupposes that there is one such
thing, so another value of the same kind excludes the first. Where a form only suggests it ("is led
by", "is hosted in"), where the kinds differ or are open, or where places may lie in one another,
the answer is that they *may* exclude each other, and a person is asked. What happened ("release 41
failed", "Dana reviewed it"), what is one of several ("a problem of", "supports", "depends on"), and
what is hedged, bounded or said to come on top ("also") excludes nothing. A number after a noun
("release 41") names a thing; only a quantity ("3 replicas") is a value.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hindsight_ray.core.keywords import stem
from hindsight_ray.core.kinds import (
    CLOSED,
    HAN_UNITS,
    UNITS,
    Value,
    may_begin_a_closed_one,
    number_of,
    value_of,
)
from hindsight_ray.core.words import listed, tokens

_DETERMINERS = listed("the our my your their his her its this that")
_OWN = listed("our my your")
# What these point at was said before, and differs from statement to statement.
_POINTING = listed("it its they their this that these those he she his her there here")
_ARTICLES = listed("a an one some any each every another other all many several both either two")
_OPEN_ENDED = listed(
    # said of a definite one too, and yet there may be more of it
    "reason cause problem issue goal aim benefit advantage risk example part member user customer"
    " feature step fix solution way tip lesson dependency option result effect symptom bug event"
    " point idea thing downside drawback strength weakness topic task job friend colleague"
    " contributor reviewer participant skill hobby language interest tool plugin source sign"
    " 原因 问题 目标 风险 例子 成员 功能 步骤 办法 优点 缺点 依赖 结果 爱好 朋友 同事"
)
_PLACES = listed(
    "region location city country site office address zone home place area 地区 城市 地点"
)
_UNSURE = listed(
    "maybe perhaps might could may can should would probably possibly likely seems seem sometimes"
    " usually often partly mostly also too besides additionally another either or not never no"
    " cannot if when unless until while except today yesterday tonight ago last once"
    " 可能 也许 大概 有时 通常 也 还 不 没 如果 除非 昨天 今天 曾 过 了"
)
_BOUNDS = listed("least most up over under above below than about around roughly almost nearly to")
_BE = listed("is are be been being gets get")
_PAST = listed(
    "was were had did took came went ran said saw made got lost found sent wrote left held fell"
    " rose grew began broke met gave knew felt kept told spent built"
)
_COUNTING = listed(
    "is are has have needs need takes take with every after only exactly costs lasts"
)
_RELATIONS = listed("of for with by from in on at to and as has have than 和 与 或 的")
_STRUCTURE = _BE | _RELATIONS | listed("the a an we i when what where every each per do")
_DATED = ("day", "time", "date", "month")
_MEASURING = (
    _COUNTING
    | _BOUNDS
    | listed(
        "for in within of by at wait keep use sleep hold allow give show run send read cost last"
    )
)
_VERBS = _BE | listed("has have needs need takes take costs cost lasts can may must should")
# With these a day or time is when a thing is, rather than one of the times when it happens.
_SCHEDULING = _BE | listed(
    "weekly daily monthly every each starts start begins begin ends end opens open closes close"
    " leaves finishes meets meet"
)
_STATIVE = {
    "led": "lead", "leads": "lead", "owned": "own", "owns": "own", "headed": "head",
    "heads": "head", "managed": "manage", "manages": "manage", "maintained": "maintain",
    "maintains": "maintain", "operated": "operate", "operates": "operate", "run": "run",
    "hosted": "host", "hosts": "host", "located": "locate", "based": "base", "stored": "store",
    "kept": "keep", "written": "write", "built": "build", "approved": "approve",
    "administered": "administer", "owner": "own", "leader": "lead", "lead": "lead", "head": "head",
    "manager": "manage", "maintainer": "maintain", "operator": "operate", "host": "host",
    "approver": "approve", "administrator": "administer", "负责人": "负责", "负责": "负责",
    "维护": "维护", "维护人": "维护", "管理": "管理", "管理人": "管理", "管理员": "管理",
}  # fmt: skip

_A = r"(?P<a>[^\s,;:.]+(?:\s[^\s,;:.]+){0,3}?)"
_S = r"(?P<s>[^,;:]+?)"
_V = r"(?P<v>[^,;]+?)"
_NOW = r"(?:now |currently |set to |called |named |at |on |in )?"
_ARE = rf"(?: is| =|:) {_NOW}"
_CHOSEN = r"(?:was|is|has been) (?:chosen|picked|set|used|selected|named)"
_DONE = "|".join(word for word in _STATIVE if word.endswith(("d", "n", "t")))
_DOES = "|".join(word for word in _STATIVE if word.endswith("s"))
_SURE = (
    rf"(?:the )?{_A} (?:of|for) {_S}{_ARE}{_V}",
    rf"{_S}'s {_A}{_ARE}{_V}",
    rf"{_S} (?:has|uses) {_V} as (?:its|the|their|his|her) {_A}",
    rf"for {_S}, {_V} {_CHOSEN} as (?:(?:its|the) )?{_A}",
    rf"{_V} is the {_A} (?:of|for) {_S}",
    rf"{_S} has an? {_A} of {_V}",
    rf"{_S} (?:is on|(?:now )?runs|uses) (?P<a>version) {_V}",
    rf"(?P<s>[^,，的]+?)的(?P<a>[^,，的]+?)(?:现在)?(?:是|为|定在|定为|设为|改为|改成){_V}",
)
_SUGGESTED = (
    rf"{_S} is (?P<a>{_DONE}) (?:by|in|on|at|with) {_V}",
    rf"(?P<v>[^\s,;]+(?: [^\s,;]+)?) (?P<a>{_DOES}) (?P<s>(?:the|our|my|your) [^,;:]+)",
    rf"{_V} is (?P<a>on.call) for {_S}",
    rf"{_S} (?:listens on|runs on|uses|is on) (?P<a>port) {_V}",
    rf"(?:we |i )?use {_V} for the {_A} (?:of|for) {_S}",
    rf"(?:we |i )?(?P<a>use) {_V} for (?P<s>(?:the|our|my|your) [^,;:]+)",
    rf"(?P<s>(?:our|my|your)) {_A} is {_NOW}{_V}",
    rf"(?P<s>[^,，]+?)由{_V}(?P<a>负责|维护|管理)",
    rf"(?P<s>[^,，]+?)使用(?P<a>端口){_V}",
)
_CLEFT = re.compile(r"(?P<v>[^,;]+?) is (?:what|where|who|when) (?P<rest>.+)", re.IGNORECASE)
_FRAMES = [(re.compile(form, re.IGNORECASE), True) for form in _SURE] + [
    (re.compile(form, re.IGNORECASE), False) for form in _SUGGESTED
]


@dataclass(frozen=True, slots=True)
class Claim:
    """That something has a value: of what, which, and whether its form says that it is the one."""

    attribute: tuple[str, ...]
    subject: tuple[str, ...]
    value: Value
    certain: bool

    @property
    def about(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.attribute, self.subject


@dataclass(frozen=True, slots=True)
class Clash:
    """Two values for one thing; `certain` if only one can hold, else a person has to say."""

    certain: bool


def clash(new: str, kept: str) -> Clash | None:
    """How two statements exclude each other, or None if nothing says that they do."""
    mine, theirs = claims(new), claims(kept)
    for claim in mine:
        for other in theirs:
            if claim.about == other.about:
                return _apart(claim, other)
    return _one_slot(new, kept) or _reworded(new, kept)


def same_claim(new: str, kept: str) -> bool:
    """Whether the two say in two forms that one thing has one and the same value."""
    theirs = claims(kept)
    return any(
        claim.about == other.about and claim.value == other.value
        for claim in claims(new)
        for other in theirs
    )


@lru_cache(maxsize=4_096)
def claims(text: str) -> tuple[Claim, ...]:
    """What the statement says of something that has one value, as its form can be read."""
    plain = _plain(text)
    words = plain.casefold().split()
    if not words or words[0] in _ARTICLES | _POINTING or _UNSURE & {*words, *_han(plain)}:
        return ()
    return tuple(dict.fromkeys(_claims(plain)))


def _claims(plain: str) -> Iterator[Claim]:
    for form, sure in _FRAMES:
        found = form.fullmatch(plain)
        if found is None:
            continue
        attribute = _attribute(found["a"])
        # "my team" and "your team" are two, so of determiners only "the" says nothing.
        subject = _exactly(word for word in tokens(found["s"]) if word.casefold() != "the")
        certain, own = sure, found["s"].casefold() in _OWN
        words = tokens(found["v"])
        if attribute is None or not (subject or own) or not _names_a_value(words):
            continue
        value = value_of(words)
        if own:
            subject = (found["s"].casefold(),)
            if value.sort == "word":
                continue  # "my sister is tall" says a property, and there may be more of them
            certain = value.sort in CLOSED
        yield Claim(attribute, subject, value, certain)


def _attribute(said: str) -> tuple[str, ...] | None:
    words = [word.casefold() for word in tokens(said.replace("-", " "))]
    if not words or words[0] in _ARTICLES | _DETERMINERS or "".join(words) in _OPEN_ENDED:
        return None
    if {words[-1], *words} & (_BE | _PAST) or words[-1] in _OPEN_ENDED:
        return None
    whole = "".join(words)
    if whole in _STATIVE:
        return (_STATIVE[whole],)
    if words[-1].endswith("s") and not words[-1].endswith("ss"):
        return None  # several of them, each with its own
    return _exactly(words)


def _names_a_value(words: Sequence[str]) -> bool:
    """Whether so few words name a value, rather than say more about it."""
    longest = 12 if all(map(_is_han, words)) else 4
    folded = {word.casefold() for word in words}
    return 0 < len(words) <= longest and not folded & (
        _ARTICLES | _DETERMINERS | _BE | _RELATIONS | _PAST
    )


def _apart(new: Claim, kept: Claim) -> Clash | None:
    one, other = new.value, kept.value
    if {*one.said, *one.unit} <= {*other.said, *other.unit} or {*other.said, *other.unit} <= {
        *one.said,
        *one.unit,
    }:
        return None  # the same, or the same more fully
    certain = (
        (new.certain or kept.certain)
        and one.sort == other.sort
        and one.unit == other.unit
        and one.sort != "word"
        and new.attribute[-1] not in _PLACES
    )
    return Clash(certain)


def _one_slot(new: str, kept: str) -> Clash | None:
    """Two statements in the same words but for one value of a closed kind."""
    mine, theirs = _words(new), _words(kept)
    if abs(len(mine) - len(theirs)) > 1 or not mine or mine[0].casefold() in _POINTING:
        return None
    start = _common(mine, theirs)
    end = _common(mine[start:][::-1], theirs[start:][::-1])
    a, b = mine[start : len(mine) - end], theirs[start : len(theirs) - end]
    if not (0 < len(a) <= 2 and 0 < len(b) <= 2) or start + end < 2:
        return None
    before, after = mine[:start], mine[len(mine) - end :]
    rest = {word.casefold() for word in (*before, *after)}
    if rest & _UNSURE or _tells_the_past([*before, "\0", *after]):
        return None
    one, other = value_of(a), value_of(b)
    if one.sort != other.sort or one == other:
        return None
    if one.sort == "quantity" and _counts(before, after):
        bounded = bool(before) and before[-1].casefold() in _BOUNDS
        return Clash(not bounded and one.unit == other.unit)
    if one.sort in _DATED and rest & _SCHEDULING:
        return Clash(_is_said_to_be(before, after))
    if one.sort in ("colour", "switch") and before and before[-1].casefold() in _BE:
        return Clash(before[0].casefold() in _DETERMINERS)
    return None


def _reworded(new: str, kept: str) -> Clash | None:
    """The same words otherwise put, with two quantities, days or times."""
    mine, theirs = _measured(new), _measured(kept)
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
    words = _words(text)
    folded = {word.casefold() for word in words}
    if folded & _UNSURE or _tells_the_past(words) or folded & _POINTING:
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
    last = before[-1].casefold() if before else ""
    following = after[0].casefold() if after else ""
    if last in _DETERMINERS or last in ("第", "号") or _goes_on(after):
        return False
    measured = following in UNITS and (last in _MEASURING or last.endswith("s"))
    return (
        measured
        or (_is_han(following) and following in HAN_UNITS)
        or (last in _COUNTING and (following != "" or last in _BE))
    )


def _goes_on(after: Sequence[str]) -> bool:
    """Whether a verb follows, so that what came before it is the subject: a number names it."""
    words = [word.casefold() for word in after]
    return any(word in _VERBS for word in words) or any(w.endswith("s") for w in words[1:2])


def _is_said_to_be(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether the day or time is what a definite thing is said to be on, and no more is said."""
    said = [word.casefold() for word in before[-2:]]
    return (
        not after and bool(before) and before[0].casefold() in _DETERMINERS and bool(_BE & {*said})
    )


def _tells_the_past(words: Sequence[str]) -> bool:
    previous = ""
    for word in words:
        folded = word.casefold()
        if folded in _PAST or (
            folded.endswith("ed") and len(folded) > 4 and previous not in _BE | _DETERMINERS
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


@lru_cache(maxsize=4_096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(tokens(_plain(text)))


_HAN = re.compile(r"[\u3400-\u9fff]")
_HAN_WORD = re.compile(r"[\u3400-\u9fff]+")


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    folded = re.sub(r"(?<=\d),(?=\d{3})", "", folded)
    plain = " ".join(folded.split()).strip(" .!。！")
    plain = plain.removeprefix("Please ").removeprefix("please ")
    cleft = _CLEFT.fullmatch(plain)  # "Go is what it is written in" says "it is written in Go"
    return f"{cleft['rest']} {cleft['v']}" if cleft is not None else plain


def _han(plain: str) -> Iterator[str]:
    starts = [found.start() for found in _HAN.finditer(plain)]
    for size in (1, 2):
        yield from (plain[at : at + size] for at in starts if at + size <= len(plain))


def _is_han(word: str) -> bool:
    return _HAN_WORD.fullmatch(word) is not None


def _exactly(words: "Iterator[str] | Sequence[str]") -> tuple[str, ...]:
    """Words as they are, since what is nearly the same word may name another thing."""
    return tuple(number_of(word) or word.casefold() for word in words)
