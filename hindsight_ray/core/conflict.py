"""Whether two statements say the same, and which of two that disagree stays.

The rule-based judge. Embeddings put "release 41" beside "release 42", "before" beside "after" and
"A reports to B" beside "B reports to A" (see the calibration pairs), so a high similarity alone
never makes a duplicate: the words have to agree as well. It is exact about what it decides, and
keeps apart whatever it is not sure of.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Literal

from hindsight_ray.core.denials import apart_in, denied_in_han, excludes
from hindsight_ray.core.keywords import stem
from hindsight_ray.core.kinds import HAN_NUMBERS, NUMBER_WORDS
from hindsight_ray.core.skim import lacks
from hindsight_ray.core.words import PUNCTUATION, listed, one_spelling, singular, tokens
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import EmbeddingSpace

Likeness = Literal["same", "fuller", "briefer", "opposite", "different", "unsure"]
"""How a new statement stands to a kept one.

`same`: nothing is lost by keeping either. `fuller`, `briefer`: the new one says the same and goes
on, or stops before the kept one does. `opposite`: the same words, turned by a negation or an
opposed word. `different`: other numbers, names, conditions or words. `unsure`: alike, and rules
cannot tell.
"""


_FILLERS = listed(
    "a an the please kindly you your get gets got being been also just really simply "
    "的 请 請 就 也 都 在 于 於 是 为 為 之 时 時 当 當 を に は が の です ます"
)
_NEGATIONS = listed(
    "not no never none without cannot nor neither n't isn't aren't wasn't don't "
    "doesn't didn't won't can't shouldn't mustn't couldn't wouldn't unable 不 没 沒 無 无 "
    "未 非 别 勿 禁 莫 ない ません なし ぬ"
)
_CONDITIONS = listed(
    "when if unless except only until while after before always sometimes rarely hardly seldom "
    "barely scarcely almost nearly few little occasionally partly mostly usually 如果 若 除非 除 "
    "只 仅 僅 直到 总 有时 几乎 很少 难得 未必"
)
# Words that change what a statement says, though they come after it.
_CHANGING = listed(
    "may might can could should must would will shall was were had did used former previous next "
    "last future old new fake alleged supposed supposedly planned proposed some many most all any "
    "each every both several half least than more less under over above below about around "
    "roughly approximately often generally normally typically possibly probably perhap maybe "
    "once again too enough fail fails failed stop stops stopped refuse refuses avoid avoids "
    "曾 将 可 能 应 半 难 少 多 前 后 假 或 约 常 再 已 过"
)
_OPPOSED: tuple[tuple[str, str], ...] = (
    ("enable", "disable"), ("enabled", "disabled"), ("on", "off"), ("before", "after"),
    ("allow", "deny"), ("allowed", "denied"), ("allowed", "forbidden"), ("start", "stop"),
    ("increase", "decrease"), ("open", "close"), ("accept", "reject"), ("include", "exclude"),
    ("true", "false"), ("always", "never"), ("above", "below"), ("more", "less"),
    ("first", "last"), ("min", "max"), ("minimum", "maximum"), ("like", "dislike"),
    ("likes", "dislikes"), ("up", "down"), ("add", "remove"), ("success", "failure"),
    ("前", "后"), ("前", "後"), ("开", "关"), ("開", "關"), ("上", "下"), ("增", "减"),
    ("大", "小"),     ("多", "少"),
    ("允", "禁"),
)  # fmt: skip
_OPPOSITES = {pair for one, other in _OPPOSED for pair in ((one, other), (other, one))}
_CONTRACTED = {
    "cannot": "can", "can't": "can", "won't": "will", "shan't": "shall", "ain't": "is",
}  # fmt: skip
_CARRIED = frozenset({"do", "does", "did", "to"})
# Words that say that a thing has a value, and nothing about which.
_SAYING = listed(
    "is are was were be been has have had its their this that it as for to of in on at by with and "
    "will use uses used using choose chose chosen pick picked set sets "
    "call called name named make made go goes went now currently today always prefer prefers "
    "preferred want wants like likes 用 使 设 設 置 定 选 選 由 成 把 被 要 想 喜 欢 歡 使用"
)
_SAID_OF_ALL = frozenset(map(stem, _SAYING)) | _SAYING
_SAYING_FORMS = frozenset(map(singular, _SAYING)) | _SAYING
_COMMON_MIN = 2
_MAY_DIFFER = frozenset({"always"})

_CLAUSE_WORDS = 4  # a shorter one may be the beginning of anything
_GOES_ON = re.compile(r", and |; (?:and )?|[,;] ?(?:并且|而且|并)|;(?=[\u3400-\u9fff])")
_MARKS = frozenset(PUNCTUATION + "・ \t\r\n\u3000")


@dataclass(frozen=True)
class Reading:
    """A statement as the rules see it: its words in order, and what must not differ. The rest is
    found out when it is first asked for: the words alone tell most statements apart."""

    plain: str
    tokens: tuple[str, ...]
    words: tuple[str, ...]  # folded, without fillers or punctuation

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """To find what is alike."""
        return tuple(map(stem, self.words))

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """To find what is the same: singular, and otherwise as they are."""
        return tuple(map(singular, self.words))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        return tuple(number for word in self.words if (number := _number(word)) is not None)

    @cached_property
    def names(self) -> frozenset[str]:
        """Codes, and words written with capitals that are not a sentence's first."""
        return frozenset(_names(self.tokens))

    @cached_property
    def negations(self) -> int:
        return sum(word in _NEGATIONS or word.endswith("n't") for word in self.words)

    @cached_property
    def conditions(self) -> frozenset[str]:
        return _CONDITIONS.intersection(self.words)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        text = self.plain
        return tuple(ch for ch in text if not ch.isalnum() and ch not in _MARKS and ch != "_")

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Of the words that an opposite has too, what stands in each of their forms."""
        return tuple(form[:-1] for form in _without(self.words))


@lru_cache(maxsize=4_096)
def read(text: str) -> Reading:
    """Take a statement apart. The same kept ones are read by write after write."""
    plain = one_spelling(text)
    found = tokens(plain)
    folded = [token.casefold() for token in found]
    return Reading(plain, tuple(found), tuple(word for word in folded if word not in _FILLERS))


def likeness(new: Reading, kept: Reading, similarity: float, space: EmbeddingSpace) -> Likeness:
    """How the new statement stands to the kept one, `similarity` being their cosine."""
    if new.words == kept.words and new.symbols == kept.symbols and _names_agree(new, kept):
        return "same"
    if _opposite(new, kept):
        return "opposite"
    if _particulars_differ(new, kept):
        return "different"
    if similarity >= space.merge_at:
        if _goes_on(new, kept):
            return "fuller"
        if _goes_on(kept, new):
            return "briefer"
    if similarity < space.duplicate_at:
        return "unsure"
    if new.forms == kept.forms:
        return "same"
    return "unsure" if Counter(new.forms) == Counter(kept.forms) else "different"


def unlike(new: Reading, kept: str) -> bool:
    """Whether the kept text is certainly neither `same` nor `opposite`, told without taking it
    apart: of those one word at most may be another. What is less alike is not looked for."""
    return lacks(kept, new.parts, beyond=1)


def same_particulars(new: Reading, kept: Reading) -> bool:
    """Whether numbers, names, signs, negations and conditions agree: only then may a judge say
    that two statements are the same."""
    return not _particulars_differ(new, kept) and not _opposite(new, kept)


def same_value(new: Reading, kept: Reading, topic: str) -> bool:
    """Whether two statements give one topic, which has one value at a time, the same value.

    They do if the same words in the same order are left without the topic's own and those that
    only say that there is a value; numbers, signs, negations and conditions agree besides.
    """
    if new.symbols != kept.symbols or new.negations != kept.negations:
        return False
    if new.conditions - _MAY_DIFFER != kept.conditions - _MAY_DIFFER:
        return False
    own = {*read(topic.replace("_", " ")).forms, *_SAYING_FORMS}
    value = [word for word in new.forms if word not in own]
    if not _names_agree(new, kept):
        return False
    return bool(value) and value == [word for word in kept.forms if word not in own]


def of_one_subject(new: Reading, kept: Reading) -> bool:
    """Whether two statements name the same thing: a number or name in common, and at least half of
    what the shorter one says."""
    mine = {word for word in new.stems if word not in _SAID_OF_ALL}
    theirs = {word for word in kept.stems if word not in _SAID_OF_ALL}
    common = mine & theirs
    if 2 * len(common) < min(len(mine), len(theirs)):
        return False
    named = {*new.numbers, *new.names} & {*kept.numbers, *kept.names}
    return bool(named) and len(common) >= _COMMON_MIN


def denies(new: Reading, kept: Reading) -> bool:
    """Whether the two are the same words, and one of them denies what the other says: by a
    negation, or by a word that leaves no room for its opposite. ("Before" and "after" do.)"""
    if new.symbols != kept.symbols:
        return False
    if (new.negations + kept.negations) % 2 == 1 and _without(new.words) == _without(kept.words):
        return True
    if excludes(new.words, kept.words):
        return True
    return denied_in_han(new.plain, kept.plain, lambda text: read(text).words)


def distinguishing(new: Reading, kept: Reading) -> tuple[str, ...]:
    """What sets the new statement apart from the kept one, as tags: at most four, in order."""
    known = set(kept.words)
    apart = [
        word
        for word in new.words
        if word not in known
        and (_number(word) is not None or word in new.names or word in _NEGATIONS)
    ]
    return tuple(dict.fromkeys(apart))[:4]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of two values that cannot both hold."""

    verdict: Literal["both pending", "new wins", "new pending"]
    why: str


def rule_on_topic(
    weight: float,
    user: str | None,
    kept: Memory,
    now: datetime,
    window_s: float,
    *,
    what: str | None = None,
    reviewed: bool = False,
) -> Ruling:
    """Another value for a topic that allows one. The heavier source stays; of equal ones what
    somebody accepted, unless the new one (`reviewed`) was accepted too. Else both wait for a
    person within the window and for one user, and the newer stays."""
    ruling = rule_on_weight(weight, kept, reviewed=reviewed)
    age_s = (now - kept.updated_at).total_seconds()
    equal = ruling.verdict == "new wins" and weight == kept.source.weight
    if equal and user is not None and user == kept.source.user and age_s < window_s:
        named = what or f"topic {kept.topic!r}"
        why = f"{named} was given two values for one user within {window_s:g} s"
        return Ruling("both pending", why)
    return ruling


def rule_on_weight(weight: float, kept: Memory, *, reviewed: bool = True) -> Ruling:
    """The heavier source stays; of equal ones what was accepted, unless both were; then the
    newer."""
    if weight < kept.source.weight:
        return Ruling(
            "new pending", f"its source weighs {weight:g}, that of {kept.id} {kept.source.weight:g}"
        )
    if weight == kept.source.weight and kept.source.reviewed_by is not None and not reviewed:
        return Ruling("new pending", f"{kept.id} was accepted by somebody, and it was not")
    return Ruling("new wins", f"{kept.id} is outdated by it")


def _opposite(new: Reading, kept: Reading) -> bool:
    """Whether only a negation or one pair of opposed words sets the two apart."""
    if denies(new, kept):
        return True
    return apart_in(new.words, kept.words) in _OPPOSITES and new.symbols == kept.symbols


def _without(words: Iterable[str]) -> list[str]:
    """Words without negations and the verbs that carry them in English."""
    found = (_CONTRACTED.get(word, word.removesuffix("n't")) for word in words)
    return [singular(w) for w in found if w not in _NEGATIONS and w not in _CARRIED]


def _particulars_differ(new: Reading, kept: Reading) -> bool:
    if new.symbols != kept.symbols or new.negations != kept.negations:
        return True
    if new.conditions != kept.conditions or Counter(new.numbers) != Counter(kept.numbers):
        return True
    if not _names_agree(new, kept):
        return True
    if Counter(new.forms) == Counter(kept.forms):
        return new.forms != kept.forms  # the same words in another order: who does what to whom
    return False


def _goes_on(longer: Reading, shorter: Reading) -> bool:
    """Whether the longer one says all of the shorter, word for word, and then something more.

    A word within it would not do: the owner of the legacy service is not that of the service.
    """
    said, more = _bare(shorter), _bare(longer)
    if len(shorter.forms) < _CLAUSE_WORDS or not more.startswith(said):
        return False
    joint = _GOES_ON.match(more, len(said))
    if joint is None:
        return False
    rest = read(more[joint.end() :]).forms
    return len(rest) > 1 and not any(map(_changes, rest))


def _bare(reading: Reading) -> str:
    return " ".join(reading.plain.casefold().split()).rstrip(" .!。！")


def _changes(form: str) -> bool:
    """Whether the word may turn what is said, as most adverbs of English may ("formerly")."""
    return form in _CHANGING or form.endswith("ly")


def _names_agree(new: Reading, kept: Reading) -> bool:
    """Whether neither names what the other does not. A capital makes a name of what may be a
    filler otherwise: "team A" is not "team", though "Please The" is "the"."""
    fillers = _FILLERS - {"a"}
    mine, theirs = new.names - fillers, kept.names - fillers
    return mine <= {*kept.words, *kept.names} and theirs <= {*new.words, *new.names}


def _number(word: str) -> str | None:
    if word in NUMBER_WORDS:
        return NUMBER_WORDS[word]
    if word in HAN_NUMBERS or any(ch.isdigit() for ch in word):
        return word
    return None


def _names(said: Sequence[str]) -> Iterable[str]:
    """Codes and capitalised words. The first word is none: every sentence has a capital there."""
    for position, token in enumerate(said):
        joined = any(ch in "-_./:@" for ch in token)
        capitals = sum(ch.isupper() for ch in token)
        first = position == 0
        if (
            joined
            or any(ch.isdigit() for ch in token)
            or capitals > 1
            or (capitals == 1 and not first)
        ):
            yield token.casefold()
