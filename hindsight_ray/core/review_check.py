"""Which claims of a review may stand? Strict about every review, whoever filled it in.

A claim that cites an event which is not in the trajectory, praise without content, advice that is
not said to "you", and text that came out of memory are rejected, each with its reason.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hindsight_ray.core.steps import overlap, words
from hindsight_ray.domain.review import Claim, Finding, Lesson, Review
from hindsight_ray.domain.text import CONTENT_CHARACTERS_MAX

ECHO_MIN = 0.9  # words shared with a memory from which a text counts as taken from it
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|yourself)\b|[你您]", re.IGNORECASE)
_DIRECTS = re.compile(
    r"\b(?:should|must|can|need|have to|ought|avoid|never|always|do not|don't|instead|first|use|try"
    r"|check|ask|when|before|after)\b|应|要|请|可以|必须|不要|避免|先|时",
    re.IGNORECASE,
)
_PRAISE = frozenset({
    "good", "great", "excellent", "well", "nice", "perfect", "perfectly", "awesome", "amazing",
    "fantastic", "wonderful", "superb", "brilliant", "outstanding", "solid", "impressive",
    "effective", "effectively", "efficient", "efficiently", "successful", "successfully", "smooth",
    "smoothly", "properly", "correctly", "done", "job", "work", "working", "worked", "performance",
    "performed", "perform", "handled", "handling", "did", "do", "does", "doing", "keep", "up",
    "continue", "really", "very", "so", "quite", "overall", "all", "everything", "everyone", "team",
    "agent", "agents", "assistant", "you", "your", "the", "a", "an", "it", "this", "that", "these",
    "those", "they", "we", "i", "was", "were", "is", "are", "be", "been", "have", "has", "had",
    "went", "goes", "go", "and", "or", "of", "to", "in", "on", "at", "with", "for", "as", "by",
    "job's", "task", "tasks", "run", "step", "steps", "result", "results", "way", "manner",
    "approach", "going", "communication", "collaboration", "teamwork", "effort", "efforts",
    "attitude", "helpful", "polite", "politely", "friendly", "professional", "professionally",
    "clear", "clearly", "strong", "thorough", "thoroughly", "satisfied", "happy", "pleased",
    "success", "nicely", "highly",
})  # fmt: skip
# What is praised, and says nothing beside praise; alone it may yet be said of something.
_PRAISED = frozenset({
    "user", "users", "customer", "outcome", "process", "execution", "executed", "coordination",
    "coordinated", "collaborated", "cooperated", "communicated", "together", "between", "each",
    "other", "response", "responses", "conversation", "interaction",
})  # fmt: skip
_PRAISE_CHINESE = re.compile(
    r"(?:做得|干得|表现|完成|处理|执行|配合|非常|十分|整体|任务|步骤|团队|大家|工作|很|太|真|都|得|的|了|地"
    r"|好|棒|优秀|出色|完美|漂亮|不错|成功|顺利|有效|高效|到位|满意|给力|继续|保持|你|您|我们|他们|是|在)"
)
_PRAISED_CHINESE = re.compile(
    r"(?:合作|协作|沟通|清晰|默契|效率|高|整个|过程|代理|之间|用户|客户|结果|感到|态度|认真|专业|友好|礼貌|耐心|及时|回复|对话|对)"
)
_PRAISES = re.compile(
    r"\b(?:good|great|excellent|well|nice|perfect|effective|efficient|success|smooth|helpful|polite"
    r"|strong|clear|satisfied|happy|pleased|professional|thorough|friendly)"
    r"|好|棒|优秀|出色|完美|不错|成功|顺利|有效|满意|清晰|默契|高效|效率|专业|友好|耐心",
    re.IGNORECASE,
)
_CONTENT_WORDS_MIN = 2
_ECHO_WORDS_MIN = 4


@dataclass(frozen=True, slots=True)
class Checked:
    """The review with what may stand, and why the rest may not."""

    review: Review
    rejected: tuple[str, ...] = ()


@dataclass(slots=True)
class _Bench:
    known: frozenset[str]
    remembered: Sequence[str]
    rejected: list[str] = field(default_factory=list)

    def claims(self, claims: tuple[Claim, ...], part: str) -> tuple[Claim, ...]:
        return tuple(claim for claim in claims if self._stands(claim, f"{part}: {claim.text!r}"))

    def lessons(self, lessons: tuple[Lesson, ...]) -> tuple[Lesson, ...]:
        return tuple(lesson for lesson in lessons if self._teaches(lesson))

    def findings(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(finding for finding in findings if self._holds(finding))

    def _holds(self, finding: Finding) -> bool:
        name = f"{finding.type} {finding.content!r}"
        if not self._stands(Claim(text=finding.content, events=finding.events), name):
            return False
        if len(finding.content) > CONTENT_CHARACTERS_MAX:
            return self._reject(name, f"is longer than {CONTENT_CHARACTERS_MAX} characters")
        if any(from_memory(finding.content, text) for text in self.remembered):
            return self._reject(name, "came out of memory, so it is nothing new")
        return True

    def _stands(self, claim: Claim, name: str) -> bool:
        unknown = [one for one in claim.events if one not in self.known]
        if unknown:
            return self._reject(name, f"cites the unknown event {unknown[0]}")
        if empty_praise(claim.text):
            return self._reject(name, "is praise without content")
        return True

    def _teaches(self, lesson: Lesson) -> bool:
        name = f"lesson {lesson.advice!r}"
        if not self._stands(Claim(text=lesson.advice, events=lesson.events), name):
            return False
        if len(lesson.advice) > CONTENT_CHARACTERS_MAX:
            return self._reject(name, f"is longer than {CONTENT_CHARACTERS_MAX} characters")
        if not second_person(lesson.advice):
            return self._reject(name, 'is not advice in the second person ("you should …")')
        if any(from_memory(lesson.advice, text) for text in self.remembered):
            return self._reject(name, "came out of memory, so it is nothing new")
        return True

    def _reject(self, name: str, why: str) -> bool:
        self.rejected.append(f"{name} {why}")
        return False


def checked_review(
    review: Review, known_events: Iterable[str], *, remembered: Sequence[str] = ()
) -> Checked:
    """Return what may stand of `review`; `remembered` are texts offered to the run's agents."""
    bench = _Bench(frozenset(known_events), remembered)
    kept = review.model_copy(
        update={
            "effective": bench.claims(review.effective, "effective step"),
            "ineffective": bench.claims(review.ineffective, "ineffective step"),
            "decisions": bench.claims(review.decisions, "decision point"),
            "improvements": bench.claims(review.improvements, "improvement"),
            "lessons": bench.lessons(review.lessons),
            "findings": bench.findings(review.findings),
        }
    )
    return Checked(kept, tuple(bench.rejected))


def second_person(advice: str) -> bool:
    """Whether the text speaks to "you" and says what to do."""
    return bool(_SECOND_PERSON.search(advice)) and bool(_DIRECTS.search(advice))


def empty_praise(text: str) -> bool:
    """Whether nothing is left once praise, what is praised and filler words are taken out."""
    bare = _PRAISE_CHINESE.sub("", text)
    if len(_left(bare, _PRAISE)) < _CONTENT_WORDS_MIN:
        return True
    named = _left(_PRAISED_CHINESE.sub("", bare), _PRAISE | _PRAISED)
    return not named and _PRAISES.search(text) is not None


def _left(text: str, without: frozenset[str]) -> list[str]:
    said = (word.strip(".-_") for word in words(text))
    return [word for word in said if word and word not in without]


def from_memory(text: str, memory: str) -> bool:
    """Whether the text only says again what the memory said, with the same numbers and codes."""
    one, other = words(text), words(memory)
    if one == other:
        return True
    alike = len(one) >= _ECHO_WORDS_MIN and overlap(text, memory) >= ECHO_MIN
    return alike and _codes(one) == _codes(other)


def _codes(said: list[str]) -> set[str]:
    return {word for word in said if any(character.isdigit() for character in word)}
