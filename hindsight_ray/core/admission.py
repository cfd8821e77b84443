"""Whether a draft is worth keeping, in which parts, and with which secrets masked.

Rules only: a draft that is new is for `conflict` to say; here it is confidence and form.
"""

import re
from dataclasses import dataclass
from typing import Literal

from hindsight_ray.core.cleaning import masked
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.privacy import SECRETS_ALONE, Privacy
from hindsight_ray.domain.settings import Settings
from hindsight_ray.domain.text import CONTENT_CHARACTERS_MAX

# After these a sentence ends: CJK marks at once, Latin ones before a space or the end.
_SENTENCE_END = re.compile(r"[。！？…；]+[」』”）)]*|[.!?;]+[\"')\]]*(?=\s|$)|\n+")
_CLAUSE_END = re.compile(r"[，、,:：]+|\s+")


@dataclass(frozen=True, slots=True)
class Gate:
    """What the confidence gates say: keep as active, ask a person, or leave it."""

    verdict: Literal["keep", "pending", "drop"]
    why: str = ""


def gate(draft: Draft, settings: Settings) -> Gate:
    """Procedures need 0.7, everything else 0.6 by default; below, the setting decides."""
    procedure = draft.type == "procedure"
    least = settings.confidence_min_procedure if procedure else settings.confidence_min
    if draft.confidence >= least:
        return Gate("keep")
    why = f"confidence {draft.confidence:g} is below {least:g}"
    return Gate("drop" if settings.below_confidence == "drop" else "pending", why)


def without_secrets(draft: Draft, privacy: Privacy = SECRETS_ALONE) -> tuple[Draft, int]:
    """The draft with every secret in its texts masked, and how many there were."""
    return masked(draft, privacy)


def split(text: str, limit: int = CONTENT_CHARACTERS_MAX) -> tuple[str, ...]:
    """Cut a text into parts of at most `limit` characters at the ends of sentences.

    A sentence that is too long is cut at a comma or space; a word that is too long, anywhere.
    White space at the borders is dropped, nothing else is.
    """
    text = text.strip()
    if len(text) <= limit:
        return (text,)
    parts: list[str] = []
    held = ""
    for sentence in _pieces(text, limit):
        if held and len((held + sentence).strip()) > limit:
            parts.append(held.strip())
            held = ""
        held += sentence
    parts.append(held.strip())
    return tuple(part for part in parts if part)


def _pieces(text: str, limit: int) -> list[str]:
    """The text in order, cut so that no piece is longer than `limit` when stripped."""
    pieces: list[str] = []
    for sentence in _cut_after(text, _SENTENCE_END):
        if len(sentence.strip()) <= limit:
            pieces.append(sentence)
            continue
        for clause in _cut_after(sentence, _CLAUSE_END):
            rest = clause
            while len(rest.strip()) > limit:
                rest = rest.lstrip()
                pieces.append(rest[:limit])
                rest = rest[limit:]
            pieces.append(rest)
    return pieces


def _cut_after(text: str, border: re.Pattern[str]) -> list[str]:
    pieces: list[str] = []
    start = 0
    for mark in border.finditer(text):
        pieces.append(text[start : mark.end()])
        start = mark.end()
    pieces.append(text[start:])
    return [piece for piece in pieces if piece]
