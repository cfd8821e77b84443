"""Which parts of a text are secrets or personal data: masked before anything is kept or shown.

Obvious forms only, each found by its own shape. Every pattern is linear in the text's length. A
text is read with all forms of a letter or digit as one and without what is not seen, so that wide
digits and signs hide nothing; what is masked is cut out of it as it was written. What is done with
either class is a tenant's to say; without being told, secrets are masked.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hindsight_ray.core import personal
from hindsight_ray.domain.privacy import SECRETS_ALONE, Privacy

_MASK = "[redacted:{}]"


def _shape(pattern: str) -> re.Pattern[str]:
    """A letter of another script is none of a key: in Chinese, nothing stands between them."""
    return re.compile(pattern, re.ASCII)


_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "private-key",
        _shape(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"
            r"(?:[^-]|-(?!----END))*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?"
        ),
    ),
    ("token", _shape(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?")),
    (
        "token",
        _shape(
            r"(?i)(?<=authorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:bearer|basic|token)\s+"
            r"[A-Za-z0-9._~+/-]{8,}=*"
        ),
    ),
    (  # beyond a header only what is no word: there are basic requirements
        "token",
        _shape(
            r"\b(?i:bearer|basic)\s+(?=[A-Za-z.-]{0,256}(?:[0-9_~+/=]|[a-z][A-Z]))"
            r"[A-Za-z0-9._~+/-]{8,}=*"
        ),
    ),
    ("api-key", _shape(r"\b(?:sk|pk|rk)[-_](?:[A-Za-z]{2,10}[-_]){0,3}[A-Za-z0-9_-]{16,}")),
    ("api-key", _shape(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\b(?:LTAI|AKID)[A-Za-z0-9]{12,40}\b")),
    ("api-key", _shape(r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}")),
    ("api-key", _shape(r"\bglpat-[A-Za-z0-9_-]{16,}|\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("api-key", _shape(r"\bAIza[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{20,}")),
    ("api-key", _shape(r"\b(?:SG\.[A-Za-z0-9_-]{16,}|ya29)\.[A-Za-z0-9_-]{16,}")),
    (
        "api-key",
        _shape(
            r"\b(?:npm|gsk|r8|whsec|rubygems|do[opr]_v1|shp(?:at|ca|pa|ss)|lsv2_(?:pt|sk))_"
            r"[A-Za-z0-9]{20,}"
        ),
    ),
    (
        "api-key",
        _shape(
            r"\b(?:xapp-\d-|pypi-AgE|dckr_pat_|glptt-|GOCSPX-|nvapi-|sq0(?:atp|csp)-)"
            r"[A-Za-z0-9_-]{16,}"
        ),
    ),
)
# A password may hold `@` and, where no port can be meant, `/`.
_URL = re.compile(r"(?<=://)[^\s/:@]{0,128}:(?:[^\s/]{1,256}|(?!\d{1,5}/)[^\s@]{1,256})(?=@)")
_NAMED = _shape(
    r"(?i)(?P<name>pass(?:word|wd|phrase)?|pwd|secret|token|credential"
    r"|(?:api|access|account|secret|private|auth|client)[_ -]?(?:key|token|secret)"
    r"|(?:signing|encryption|master|session|storage|deploy|license)[_ -]?key"
    r"|密码|密碼|口令|密钥|密鑰|パスワード)"
    r"(?P<joint>\\{0,4}[\"']?\s{0,4}(?:[:=：＝]{1,2}>?|\bis\b|是|为|為|は)\s{0,4})"
    r"(?P<value>\\{0,4}\"[^\"\n]{1,256}\"|\\{0,4}'[^'\n]{1,256}'|[^\s\"',;，。；]{3,256})"
)
_TAGGED = _shape(
    r"(?i)<[a-z0-9_.:-]{0,32}(?P<name>pass(?:word|wd|phrase)?|pwd|secret|token|(?:api|access)[_-]?key)"
    r"(?P<joint>>\s{0,4})(?P<value>[^<\s]{3,256})(?=\s{0,4}</)"
)
_COOKIE = _shape(
    r"(?i)\b(?:set-)?cookie[\"']?:\s{0,4}[\"']?(?P<value>[^\s=;\"']{1,64}=[^\n\"']{6,1024})"
)
# Where nothing stands between: in a command line, and in languages that put no sign there.
_FLAGGED = _shape(
    r"(?i)--(?:[a-z]{1,16}-){0,3}"
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|(?:api|access|secret|private|auth)-key)"
    r"\s{1,4}(?P<value>\"[^\"\n]{1,256}\"|'[^'\n]{1,256}'|(?!-)[^\s\"']{6,256})"
)
_TOLD = _shape(
    r"(?:密码|密碼|口令|密钥|密鑰|パスワード)\s{0,4}(?:是|为|為|は)?\s{0,4}"
    r"(?P<value>(?![:=\[])[^\s\"',;\u0080-\U0010ffff]{6,256})"
    r"|(?:验证码|驗證碼)\s{0,4}(?::|是|为|為)?\s{0,4}(?P<code>\d{4,8})(?!\d)"
)
_NAME_ALONE = _shape(
    r"(?i)passw(?:or)?d|passphrase|(?:\b|_)pass\b|pwd|secret|token(?!s)|credential|authorization|cookie"
    r"|(?:api|access|account|private|auth|client|signing|encryption|session)[_ -]?key"
    r"|密码|密碼|口令|密钥|密鑰|パスワード"
)
_PASSWORDS = ("pass", "pwd", "密码", "密碼", "口令", "パスワード")


# What the shapes need: most texts have none of it, and are done without trying each of them.
_WORDS = (
    "key", "token", "secret", "pass", "pwd", "credential", "bearer", "basic", "eyj", "xox", "://",
    "-----begin", "cookie",
)  # fmt: skip
_RUN_LENGTH = 16
_SECRET_HINT = re.compile(
    rf"(?i:{'|'.join(_WORDS)})|[A-Za-z0-9_-]{{{_RUN_LENGTH}}}"
    "|密码|密碼|口令|密钥|密鑰|パスワード|验证码|驗證碼"
)
_DIGITS_MIN = 7
_ACCOUNT_HINT = re.compile(r"[A-Z]{2}\d{2}[ -]?[A-Z0-9]{4}")
_PERSONAL_HINT = re.compile(rf"@|%40|\d(?:\D{{0,3}}\d){{6}}|{_ACCOUNT_HINT.pattern}")

# The same hints over ASCII: searches for constants, after kinds of characters have been made one.
_OF_RUNS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_RUNS = bytes(ord("x") if code in _OF_RUNS else ord(" ") for code in range(256))
_RUN = b"x" * _RUN_LENGTH
_KINDS = bytes(
    ord("9") if chr(code) in "0123456789" else ord("A") if 65 <= code <= 90 else ord(" ")
    for code in range(256)
)
_APART = b" " * 4  # digits with more than three characters between them are of two numbers


def redacted(text: str, privacy: Privacy = SECRETS_ALONE) -> tuple[str, int]:
    """Return `text` with what is not kept as `[redacted:<kind>]`, and how many there were."""
    count, seen = 0, _seen(text)
    if privacy.secrets != "keep" and _may_hold_secrets(seen):
        text, count = _without_secrets(text)
        seen = _seen(text) if count else seen
    if privacy.personal != "keep" and _may_hold_personal(seen):
        text, more = _without_personal(text)
        count += more
    return text, count


@lru_cache(maxsize=1_024)  # a tool's arguments have few names
def names_secret(name: str) -> bool:
    """Whether what stands under this name is a secret, whatever it looks like."""
    return _NAME_ALONE.search(name) is not None


def refused(text: str, privacy: Privacy) -> bool:
    """Whether the text holds anything that this tenant does not let in."""
    none = Privacy(secrets="keep", personal="keep")
    unwanted = none.model_copy(
        update={
            name: "refuse" if getattr(privacy, name) == "refuse" else "keep"
            for name in ("secrets", "personal")
        }
    )
    return unwanted != none and redacted(text, unwanted)[1] > 0


def spotless(texts: Iterable[str], privacy: Privacy) -> bool:
    """Whether nothing in these texts can be anything that is not kept. No is no more than a doubt.

    They are looked at as one: what hints at something in one of them does so in all together.
    """
    together = _seen("\n".join(texts))
    if privacy.secrets != "keep" and _may_hold_secrets(together):
        return False
    return privacy.personal == "keep" or not _may_hold_personal(together)


def _may_hold_secrets(text: str) -> bool:
    if not text.isascii():  # where letters of other alphabets count as these in another case
        return _SECRET_HINT.search(text) is not None
    lower = text.lower()
    for word in _WORDS:
        if word in lower:
            return True
    return _RUN in text.encode().translate(_RUNS)


def _may_hold_personal(text: str) -> bool:
    if not text.isascii():
        return _PERSONAL_HINT.search(text) is not None
    if "@" in text or "%40" in text:
        return True
    kinds = text.encode().translate(_KINDS)
    if b"AA99" in kinds and _ACCOUNT_HINT.search(text) is not None:
        return True
    if kinds.count(b"9") < _DIGITS_MIN:
        return False
    chains = kinds.replace(b"A", b" ").split(_APART)
    return any(chain.count(b"9") >= _DIGITS_MIN for chain in chains)


_COMMON = 0x1_0000  # what most texts are written in lies below


class _Forms(dict[int, str | int | None]):
    """What each character is read as: its plain form, itself, or nothing where it is not seen."""

    def __missing__(self, code: int) -> str | int | None:
        character = chr(code)
        if unicodedata.category(character) == "Cf":
            plain = None
        elif character.isdecimal():
            plain = str(unicodedata.decimal(character))
        else:
            plain = unicodedata.normalize("NFKC", character)
        known = code if plain == character else plain
        if known != code or code < _COMMON:  # so that no text makes it hold every character
            self[code] = known
        return known


_FORMS = _Forms()


def _seen(text: str) -> str:
    """The text as it is read."""
    return text if text.isascii() else text.translate(_FORMS)


@dataclass(frozen=True)
class _Reading:
    """A text as it was written and as it is read."""

    text: str

    @cached_property
    def seen(self) -> str:
        return _seen(self.text)

    @cached_property
    def _places(self) -> list[int]:
        """Of each character that is seen, where in the text it is written."""
        return [at for at, character in enumerate(self.text) for _ in _seen(character)]

    def masked(
        self, shape: re.Pattern[str], mark: Callable[[re.Match[str]], tuple[int, str] | None]
    ) -> tuple["_Reading", int]:
        """With a mark, where `mark` says from which place on and which, for what the shape finds;
        and how many."""
        pieces: list[str] = []
        end = 0
        for match in shape.finditer(self.seen):
            told = mark(match)
            if told is None:
                continue
            start, stop = told[0], match.end()
            if not self.text.isascii():
                start, stop = self._places[start], self._places[stop - 1] + 1
            pieces += (self.text[end:start], told[1])
            end = stop
        if not pieces:
            return self, 0
        return _Reading("".join(pieces) + self.text[end:]), len(pieces) // 2


def _without_personal(text: str) -> tuple[str, int]:
    reading, count = _Reading(text), 0
    for kind, shape, holds in personal.SHAPES:

        def mark(
            match: re.Match[str], kind: str = kind, holds: Callable[[str], bool] = holds
        ) -> tuple[int, str] | None:
            return (match.start(), _MASK.format(kind)) if holds(match.group()) else None

        reading, found = reading.masked(shape, mark)
        count += found
    return reading.text, count


def _without_secrets(text: str) -> tuple[str, int]:
    reading, count = _Reading(text), 0
    for kind, shape in (*_SHAPES, ("password", _URL)):
        told = _MASK.format(kind)
        reading, found = reading.masked(shape, lambda match, told=told: (match.start(), told))
        count += found
    for shape, mark in _MARKED:
        reading, found = reading.masked(shape, mark)
        count += found
    return reading.text, count


def _named(match: re.Match[str]) -> tuple[int, str] | None:
    value = match["value"].strip("\\\"'")
    if value.startswith("[redacted") or not _looks_secret(match["name"], value, match["joint"]):
        return None
    kind = "password" if _is_password(match["name"]) else "secret"
    return match.start("value"), _MASK.format(kind)


def _alone(match: re.Match[str]) -> tuple[int, str] | None:
    """A value that nothing but its place names: only one with a digit is no word."""
    which = match.lastgroup or "value"
    if not any(ch.isdigit() for ch in match[which]):
        return None
    return match.start(which), _MASK.format("password")


def _whole(match: re.Match[str]) -> tuple[int, str]:
    return match.start("value"), _MASK.format("token")


_MARKED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], tuple[int, str] | None]], ...] = (
    (_NAMED, _named), (_TAGGED, _named), (_COOKIE, _whole), (_FLAGGED, _alone), (_TOLD, _alone),
)  # fmt: skip


def _is_password(name: str) -> bool:
    return name.casefold().startswith(_PASSWORDS)


def _looks_secret(name: str, value: str, joint: str) -> bool:
    """Whether a named value is a secret rather than prose ("the token is refreshed")."""
    strange = any(ch.isdigit() or not ch.isalnum() for ch in value)
    signed = any(ch in "=:：＝>" for ch in joint)
    if _is_password(name) and signed:
        return True
    return strange and len(value) >= (6 if signed else 8)
