"""Do two statements give one thing two values, where only one can hold?

Read from the form of the language alone, with no list of subjects. A definite description ("the
owner of billing is Dana", "billing's port is 80", 负责人是…) presupposes that there is one such
thing, so another value of the same kind excludes the first. Where a form only suggests it ("is led
by", "is hosted in"), where the kinds differ or are open, or where places may lie in one another,
the answer is that they *may* exclude each other, and a person is asked. What happened ("release 41
failed", "Dana reviewed it"), what is one of several ("a problem of", "supports", "depends on"), and
what is hedged, bounded or said to come on top ("also") excludes nothing. A number after a noun
("release 41") names a thing; only a quantity ("3 replicas") is a value. Things whose names differ
by more than capitals, if only by a sign ("C", "C++"), are never certainly one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from hindsight_ray.core.forms import (
    BE,
    DETERMINERS,
    NO_YEAR,
    PAST,
    POINTING,
    RELATIONS,
    UNSURE,
    folded_away,
    is_han,
    marks,
    plain_text,
)
from hindsight_ray.core.kinds import BOUNDING, CLOSED, Value, number_of, value_of
from hindsight_ray.core.skim import lacks
from hindsight_ray.core.slots import Clash, in_one_slot, in_other_order, same_number
from hindsight_ray.core.words import listed, tokens

_OWN = listed("our my your")
_ARTICLES = listed("a an one some any each every another other all many several both either two")
_OPEN_ENDED = listed(
    # said of a definite one too, and yet there may be more of it
    "reason cause problem issue goal aim benefit advantage risk example part member user customer"
    " feature step fix solution way tip lesson dependency option result effect symptom bug event"
    " point idea thing downside drawback strength weakness topic task job friend colleague"
    " contributor reviewer participant skill hobby language interest tool plugin source sign"
    " 原因 问题 目标 风险 例子 成员 功能 步骤 办法 优点 缺点 依赖 结果 爱好 朋友 同事"
)
_SEVERAL = listed(
    # there may be two of them, though one is named
    "author coauthor editor translator contact parent child sibling brother sister son daughter"
    " cousin uncle aunt sponsor supplier vendor provider partner founder cofounder creator inventor"
    " winner speaker guest host mentor teacher coach translator developer designer engineer tester"
    " writer director witness ally language keyword category tag alias nickname"
    " 作者 编辑 译者 联系人 家长 父母 供应商 合伙人 创始人 赞助商 嘉宾 语言 老师"
)
_PLACES = listed(
    "region location city country site office address zone home place area 地区 城市 地点"
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

_STATEMENT_MAX = 400  # characters: what is longer says more than one thing of something
_SPELLING = re.compile("[,，]")

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
    called: str  # the subject as it is written, but for capitals
    signs: tuple[str, ...]  # of the value

    @property
    def about(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.attribute, self.subject

    @property
    def named(self) -> Iterator[str]:
        """Words of every text about the same thing; a number may be written otherwise."""
        return (word for word in self.subject if word.isascii() and word.isalpha())


def clash(new: str, kept: str) -> Clash | None:
    """How two statements exclude each other, or None if nothing says that they do."""
    for claim, other in _about_one(new, kept):
        return _doubted(_apart(claim, other), new, kept)
    return _doubted(in_one_slot(new, kept), new, kept) or in_other_order(new, kept)


def _doubted(found: Clash | None, new: str, kept: str) -> Clash | None:
    """The same, and not certain where a reading that folds signs has made the two more alike."""
    if found is None or not found.certain:
        return found
    return Clash(folded_away(new) == folded_away(kept))


def same_claim(new: str, kept: str) -> bool:
    """Whether the two say in two forms that one thing has one and the same value."""
    return any(
        claim.called == other.called and claim.value == other.value and claim.signs == other.signs
        for claim, other in _about_one(new, kept)
    )


def meet(new: str, kept: str) -> bool:
    """Whether the forms of the two speak of one thing at all: else neither of the above is so."""
    if any(True for _ in _about_one(new, kept)):
        return True
    return in_one_slot(new, kept) is not None or in_other_order(new, kept) is not None


def _about_one(new: str, kept: str) -> Iterator[tuple[Claim, Claim]]:
    """What the two say of the same attribute of the same thing, in order."""
    mine = claims(new)
    if all(lacks(kept, claim.named) for claim in mine):
        return
    theirs = claims(kept)
    for claim in mine:
        for other in theirs:
            if claim.about == other.about:
                yield claim, other


@lru_cache(maxsize=4_096)
def claims(text: str) -> tuple[Claim, ...]:
    """What the statement says of something that has one value, as its form can be read."""
    plain = plain_text(text)
    if len(plain) > _STATEMENT_MAX:
        return ()
    words = plain.casefold().split()
    if not words or words[0] in _ARTICLES | POINTING or UNSURE & {*words, *_han(plain)}:
        return ()
    begun = "!" if text.lstrip(" .。").startswith(("!", "！")) else ""
    ended = "!" if text.rstrip(" .。").endswith(("!", "！")) else ""
    found = tuple(dict.fromkeys(_claims(plain, begun, ended)))
    if found or _SPELLING.search(plain) is None:
        return found
    # A stray comma makes no other thing, but what is read so is not certain.
    loose = _claims(" ".join(_SPELLING.sub(" ", plain).split()), begun, ended)
    return tuple(dict.fromkeys(replace(claim, certain=False, called=plain) for claim in loose))


def _claims(plain: str, begun: str, ended: str) -> Iterator[Claim]:
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
        called = " ".join(word for word in found["s"].casefold().split() if word != "the")
        called = begun + called if found.start("s") == 0 else called
        called += ended if found.end("s") == len(plain) else ""
        yield Claim(attribute, subject, value, certain, called, marks(found["v"]))


def _attribute(said: str) -> tuple[str, ...] | None:
    words = [word.casefold() for word in tokens(said.replace("-", " "))]
    if not words or words[0] in _ARTICLES | DETERMINERS or "".join(words) in _OPEN_ENDED:
        return None
    if {words[-1], *words} & (BE | PAST) or words[-1] in _OPEN_ENDED:
        return None
    whole = "".join(words)
    if whole in _STATIVE:
        return (_STATIVE[whole],)
    if words[-1].endswith("s") and not words[-1].endswith("ss"):
        return None  # several of them, each with its own
    return _exactly(words)


def _names_a_value(words: Sequence[str]) -> bool:
    """Whether so few words name a value, rather than say more about it."""
    longest = 12 if all(map(is_han, words)) else 4
    folded = {word.casefold() for word in words}
    return 0 < len(words) <= longest and not folded & (
        _ARTICLES | DETERMINERS | BE | RELATIONS | PAST
    )


def _apart(new: Claim, kept: Claim) -> Clash | None:
    one, other = new.value, kept.value
    if {*one.said, *one.unit} <= {*other.said, *other.unit} or {*other.said, *other.unit} <= {
        *one.said,
        *one.unit,
    }:
        return None  # the same, or the same more fully
    if one.sort == other.sort == "date" and _one_day(*one.said, *other.said):
        return None
    certain = (
        (new.certain or kept.certain)
        and new.called == kept.called
        and one.sort == other.sort
        and one.unit == other.unit
        and one.sort != "word"
        and not BOUNDING & {*one.unit}
        and not (one.sort == "quantity" and same_number(one, other))
        and new.attribute[-1] not in _PLACES | _SEVERAL
    )
    return Clash(certain)


def _one_day(one: str, other: str) -> bool:
    """Whether the two are one day of the year, and one of them names no year."""
    return one[4:] == other[4:] and NO_YEAR in (one[:4], other[:4])


_HAN = re.compile(r"[\u3400-\u9fff]")


def _han(plain: str) -> Iterator[str]:
    starts = [found.start() for found in _HAN.finditer(plain)]
    for size in (1, 2):
        yield from (plain[at : at + size] for at in starts if at + size <= len(plain))


def _exactly(words: "Iterator[str] | Sequence[str]") -> tuple[str, ...]:
    """Words as they are, since what is nearly the same word may name another thing."""
    return tuple(number_of(word) or word.casefold() for word in words)
