"""Which words of a user are meant for good? The extraction that needs no model.

Only what is said outright. Wishes: "from now on …", "always …", "I prefer short answers",
"请记住…", "以后都用…". Facts, in forms that give a thing of theirs its one value: "our time
zone is CET", "we use NATS for the queue of billing", "我们的时区是…". A wish for the task in
hand ("I want the morning flight") is not lasting, what is mine may be of this case alone ("my
reservation number is …") unless it is of a kind that stays, a question states nothing, and what is
quoted was said by somebody else. So this finds little, and is right about it.
"""

import re
from collections.abc import Iterator, Sequence

from hindsight_ray.core.claims import Claim, claims
from hindsight_ray.core.steps import one_line, shortened
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.review import Finding
from hindsight_ray.domain.text import CONTENT_CHARACTERS_MAX

FINDINGS_MAX = 10
_GENERIC_CONFIDENCE = 0.65  # "I prefer …": meant in general by its form alone
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


_PREFERS = re.compile(
    r"\A(?:and |so |also,? )?(?:i|we) (?:(?:always|generally|usually|really|strongly) )?prefer "
    r"(?!(?:to|the|a|an|this|that|these|those|my|your|our|it|not|one|if|something|either|any)\b)"
    r"(?:[a-z-]+ ){0,3}[a-z-]*[a-rt-z]s"
    r"(?= (?:over|to|rather than|instead of|in general)\b|[.!]?\Z)",
    re.IGNORECASE,
)
_PREFERS_CHINESE = re.compile(
    r"\A(?:我|我们)(?:一直|总是|一般|通常|平时|更|比较)(?:喜欢|偏好|习惯)"
)
_NOW = re.compile(
    r"\b(?:today|tomorrow|tonight|yesterday|this|these|currently|for now|flight|order|reservation"
    r"|booking)\b|今天|明天|昨天|这次|這次|目前|现在",
    re.IGNORECASE,
)
_OURS = re.compile(r"\A(?:and |so |also,? )?(?:our .+ is |we use )", re.IGNORECASE)
_MINE = re.compile(
    r"\Amy (?:time ?zone|preferred [a-z]+|native language|language|locale|currency|job title|role"
    r"|team|manager|editor|pronouns|working hours|home town|hometown|city) is ",
    re.IGNORECASE,
)
_OURS_CHINESE = re.compile(
    r"\A我们(?:团队|公司|组|项目)?的.{1,12}(?:是|在|为)|\A我的(?:时区|语言|职位|团队|城市|母语|币种)是"
)


def stated_for_good(events: Sequence[Event]) -> tuple[Finding, ...]:
    """The facts that users stated in fixed forms, each once, citing where they were said."""
    found: dict[str, Finding] = {}
    for event, said in _sentences(events):
        claim = _fact(said)
        if claim is None:
            continue
        known = found.get(said.casefold())
        cited = (*(known.events if known else ()), event.event_id)
        found[said.casefold()] = Finding(
            type="fact",
            content=said,
            topic=_topic(claim, said),
            events=tuple(dict.fromkeys(cited)),
            importance=0.6,
            confidence=CONFIDENCE,
            why="a user stated it outright, of something that has one value",
        )
    return tuple(found.values())[:FINDINGS_MAX]


def _fact(said: str) -> Claim | None:
    """What is claimed of a thing of theirs, or None."""
    if _ASKED.search(said) or _NOW.search(said):
        return None
    if not any(form.search(said) for form in (_OURS, _MINE, _OURS_CHINESE)):
        return None
    return next(iter(claims(said)), None)


def _topic(claim: Claim, said: str) -> str | None:
    """A topic where the form names whose it is and which: one's own attribute."""
    if len(claim.subject) != 1 or claim.subject[0] not in ("our", "my"):
        return None
    named = re.match(r"(?:and |so |also,? )?(our|my) (.+?) is ", said, re.IGNORECASE)
    return shortened("_".join(named[2].casefold().split()), 80) if named else None


def _sentences(events: Sequence[Event]) -> Iterator[tuple[Event, str]]:
    """What users said, sentence by sentence, without what they quoted."""
    for event in events:
        if event.kind != "user" or event.truncated:
            continue
        for match in _SENTENCE.finditer(_QUOTED.sub(" ", event.summary.replace("’", "'"))):
            said = one_line(match.group())
            if _CHARACTERS_MIN <= len(said) <= CONTENT_CHARACTERS_MAX:
                yield event, said


def standing_wishes(events: Sequence[Event]) -> tuple[Finding, ...]:
    """The preferences that users stated for good, each once, citing where they were said."""
    found: dict[str, Finding] = {}
    for event, said in _sentences(events):
        general = _in_general(said)
        if not general and not _for_good(said):
            continue
        known = found.get(said.casefold())
        cited = (*(known.events if known else ()), event.event_id)
        found[said.casefold()] = Finding(
            type="preference",
            content=said,
            events=tuple(dict.fromkeys(cited)),
            importance=0.6,
            confidence=_GENERIC_CONFIDENCE if general else CONFIDENCE,
            why="a user said it outright, for later times too",
        )
    return tuple(found.values())[:FINDINGS_MAX]


def _for_good(said: str) -> bool:
    if _ASKED.search(said):
        return False
    return any(shape.search(said) for shape in (_ENGLISH, _LATER, _CHINESE))


def _in_general(said: str) -> bool:
    """Whether a preference is for a kind of thing rather than for one that is at hand."""
    if _ASKED.search(said) or _NOW.search(said):
        return False
    return bool(_PREFERS.search(said) or _PREFERS_CHINESE.search(said))
