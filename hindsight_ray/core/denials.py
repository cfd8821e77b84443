"""Words of which one leaves no room for the other: where they part two statements, one denies the
other.

Only where they are said of a thing. "Forbidden files are scanned" and "allowed files are scanned"
may both hold, and so may what it takes to allow and to forbid something.
"""

import re
from collections.abc import Callable, Sequence

from hindsight_ray.core.words import listed

# Of these no thing is both, where they are said of it and do not describe it ("forbidden files").
_EXCLUDING = (
    ("enabled", "disabled"), ("allowed", "denied"), ("allowed", "forbidden"),
    ("permitted", "forbidden"), ("true", "false"),
)  # fmt: skip
_EXCLUSIVE = {pair for one, other in _EXCLUDING for pair in ((one, other), (other, one))}
_GAP = " | "
_SAYS = listed("is are be was were 's remain remains stay stays")
_ALWAYS = {("always", "never"), ("never", "always")}
_DENIED_IN_HAN = (
    ("可以", "不能"), ("应该", "不该"), ("必须", "不必"), ("需要", "无需"), ("要", "别"),
    ("总是", "从不"), ("總是", "從不"), ("應該", "不該"), ("必須", "不必"), ("需要", "無需"),
)  # fmt: skip
_FORBIDDEN_IN_HAN = (
    ("允许", "禁止"), ("启用", "禁用"), ("开启", "禁用"), ("允許", "禁止"), ("啟用", "禁用"),
)  # fmt: skip
# After a verb that may as well be what is spoken of ("to forbid it needs an approval").
_SPEAKS_OF = re.compile("[的是要需会會能将將由]|可以|导致|導致")


def apart_in(one: Sequence[str], other: Sequence[str]) -> tuple[str, str] | None:
    """The one pair of words in which the two differ."""
    if len(one) != len(other):
        return None
    apart = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return apart[0] if len(apart) == 1 else None


def excludes(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one word apart says of the same thing what it cannot be as well."""
    apart = apart_in(one, other)
    if apart not in _EXCLUSIVE:
        return apart in _ALWAYS
    at = list(one).index(apart[0])
    return at + 1 == len(one) or (at > 0 and one[at - 1] in _SAYS)


def denied_in_han(new: str, kept: str, words: Callable[[str], Sequence[str]]) -> bool:
    """Whether the two are one text but for a pair of words of which one denies the other."""
    if new.isascii() or kept.isascii():
        return False
    return any(
        _same_around(one, said, other, denied, words)
        for one, other in ((new, kept), (kept, new))
        for said, denied in (*_DENIED_IN_HAN, *_FORBIDDEN_IN_HAN)
        if said in one
        and denied in other
        and ((said, denied) in _DENIED_IN_HAN or not _SPEAKS_OF.search(one.split(said, 1)[1]))
    )


def _same_around(
    one: str, said: str, other: str, denied: str, words: Callable[[str], Sequence[str]]
) -> bool:
    first, second = one.replace(said, _GAP, 1), other.replace(denied, _GAP, 1)
    return words(first) == words(second)
