"""Which words of a user are meant for good? The extraction that needs no model.

Only what is said outright: "from now on …", "always …", "请记住…", "以后都用…". A wish for the task
in hand ("I prefer the morning flight") is not lasting, a question is no wish, and what is quoted
was said by somebody else. So this finds little, and is right about it.
"""

import re
from collections.abc import Sequence

from hindsight_ray.core.steps import one_line
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.review import Finding
from hindsight_ray.domain.text import CONTENT_CHARACTERS_MAX

FINDINGS_MAX = 10
CONFIDENCE = 0.75  # said by a user, as an agent recorded it
_CHARACTERS_MIN = 8
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:\.(?!\s|\Z)[^.!?。！？\n]*)*[.!?。！？]?")
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|「[^」]*」|```.*?(?:```|\Z)", re.DOTALL)
_ASKED = re.compile(r"[?？]\s*\Z")
_ENGLISH = re.compile(
    r"\A(?:and |so |also,? |okay,? |ok,? |but )?(?:please,? )?"
    r"(?:from now on|from here on|going forward|in (?:the )?future|for next time|remember that"
    r"|always (?!a pleasure|been|was|happy)[a-z]+|never (?!mind|been|was|had|heard|again)[a-z]+)\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:please|use|write|send|call|give|do not|don't|i want|i prefer|i'd like)\b.*"
    r"\b(?:from now on|going forward|in (?:the )?future|every time|each time)\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?:从现在起|从今以后|从今往后|今后|以后|请记住|请你记住|记住[，,：:]|每次都)"
    r".{0,40}(?:请|要|都用|都要|不要|别|必须|用|按|给我|叫我)"
)


def standing_wishes(events: Sequence[Event]) -> tuple[Finding, ...]:
    """The preferences that users stated for good, each once, citing where they were said."""
    found: dict[str, Finding] = {}
    for event in events:
        if event.kind != "user" or event.truncated:
            continue
        for match in _SENTENCE.finditer(_QUOTED.sub(" ", event.summary.replace("’", "'"))):
            said = one_line(match.group())
            if not _CHARACTERS_MIN <= len(said) <= CONTENT_CHARACTERS_MAX or not _for_good(said):
                continue
            known = found.get(said.casefold())
            cited = (*(known.events if known else ()), event.event_id)
            found[said.casefold()] = Finding(
                type="preference",
                content=said,
                events=tuple(dict.fromkeys(cited)),
                importance=0.6,
                confidence=CONFIDENCE,
                why="a user said it outright, for later times too",
            )
    return tuple(found.values())[:FINDINGS_MAX]


def _for_good(said: str) -> bool:
    if _ASKED.search(said):
        return False
    return any(shape.search(said) for shape in (_ENGLISH, _LATER, _CHINESE))
