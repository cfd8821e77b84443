"""What a model filled in, as a review: citations resolved, owners told, rules for what it left out.

Nothing a model says is taken further than this without its events: a claim that cites a name it was
not shown is rejected whole, with its reason.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hindsight_ray.core.answers import Names
from hindsight_ray.core.lessons import CLAIMS_MAX, LESSONS_MAX
from hindsight_ray.core.shapes import ExtractAnswer, ReviewAnswer, SaidClaim, SaidItem, SaidLesson
from hindsight_ray.core.steps import shortened
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.ids import EventUuid
from hindsight_ray.domain.review import Claim, Finding, Lesson, Review
from hindsight_ray.domain.text import (
    CONTENT_CHARACTERS_MAX,
    STEPS_MAX,
    SUMMARY_CHARACTERS_MAX,
    cut_text,
)

_RULE = "a model's reading of the events"
_PARTS = ("effective", "ineffective", "decisions", "improvements")


@dataclass(slots=True)
class Filling:
    """A review on its way, part of a run by part, and what was left out of it."""

    agents: dict[str, str]  # event id to the agent that recorded it
    prompt: str = ""  # the mark of the prompt whose answers are being read
    path: list[str] = field(default_factory=list)
    claims: dict[str, list[Claim]] = field(default_factory=lambda: {part: [] for part in _PARTS})
    lessons: list[Lesson] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[Event]) -> "Filling":
        return cls({event.event_id: str(event.agent) for event in events})

    def reviewed(self, answer: ReviewAnswer, names: Names, prompt: str) -> None:
        """Add what a part's review says."""
        self.prompt = prompt
        if answer.path.strip():
            self.path.append(shortened(answer.path, SUMMARY_CHARACTERS_MAX))
        said = (answer.effective, answer.ineffective, answer.decisions, answer.improvements)
        for part, claims in zip(_PARTS, said, strict=True):
            for claim in claims:
                self._claim(part, claim, names)
        for lesson in answer.lessons:
            self._lesson(lesson, names)

    def extracted(self, answer: ExtractAnswer, names: Names, prompt: str) -> None:
        """Add what a part taught. The write decision is made here: new, actionable, lasting."""
        self.prompt = prompt
        for item in answer.items:
            self._item(item, names)

    def _claim(self, part: str, said: SaidClaim, names: Names) -> None:
        events = self._cited(said.events, names, f"{part}: {said.text!r}")
        text = shortened(said.text, SUMMARY_CHARACTERS_MAX)
        if events and text:
            self.claims[part].append(Claim(text=text, events=events))

    def _lesson(self, said: SaidLesson, names: Names) -> None:
        events = self._cited(said.events, names, f"lesson {said.advice!r}")
        advice = " ".join(said.advice.split())
        if not events or not advice:
            return
        self.lessons.append(
            Lesson(
                advice=cut_text(advice, SUMMARY_CHARACTERS_MAX)[0],
                events=events,
                tools=tuple(tool for one in said.tools if (tool := shortened(one, 100))),
                agent=self._owner(said.agent, events),
                rule=_RULE,
                importance=said.importance,
                confidence=said.confidence,
                prompt=self.prompt,
            )
        )

    def _item(self, said: SaidItem, names: Names) -> None:
        name = f"{said.type} {said.content!r}"
        events = self._cited(said.events, names, name)
        content, reason = " ".join(said.content.split()), " ".join(said.reason.split())
        if not events or not content:
            return
        lacking = [word for word in ("new", "actionable", "lasting") if not getattr(said, word)]
        if lacking:
            self.rejected.append(f"{name} is not {lacking[0]}: {shortened(reason, 200)}")
            return
        if len(content) > CONTENT_CHARACTERS_MAX:
            self.rejected.append(f"{name} is longer than {CONTENT_CHARACTERS_MAX} characters")
            return
        steps = tuple(step for one in said.steps if (step := shortened(one, 400)))[:STEPS_MAX]
        if said.type == "procedure" and not steps:
            self.rejected.append(f"{name} has no steps")
            return
        topic = shortened(said.topic, 80) if said.topic and said.type != "procedure" else ""
        self.findings.append(
            Finding(
                type=said.type,
                content=content,
                steps=steps if said.type == "procedure" else (),
                topic=topic or None,
                events=events,
                agent=self._owner(said.agent, events),
                importance=said.importance,
                confidence=said.confidence,
                why=shortened(f"new, actionable and lasting: {reason}", 400),
                prompt=self.prompt,
            )
        )

    def _cited(self, said: Sequence[str], names: Names, what: str) -> tuple[EventUuid, ...]:
        ids, unknown = names.of(list(said))
        if unknown is not None:
            self.rejected.append(f"{what} cites the unknown event {cut_text(unknown, 80)[0]}")
            return ()
        return tuple(EventUuid(one) for one in ids)

    def _owner(self, said: str | None, events: Sequence[str]) -> str | None:
        """Whose experience it is: of one agent's own events that agent's, whatever was said.

        Of several agents' it is one's only if that one is named and took part.
        """
        who = set(dict.fromkeys(self.agents[one] for one in events))
        if len(who) == 1:
            return who.pop() if said is not None else None
        return said if said in who else None


def combined(filled: Filling, ruled: Review, reviewer: str) -> Review:
    """The model's review, with the rules' word wherever it left a part empty.

    What rules prove is a lesson whatever the model thinks of it, and comes first, so that the
    same trajectory names it the same with and without a model. What is beyond a review's room is
    noted among what `filled` rejects.
    """
    changes: dict[str, object] = {
        part: tuple(claims[:CLAIMS_MAX]) for part, claims in filled.claims.items() if claims
    }
    if filled.path:
        changes["path"] = shortened(" ".join(filled.path), SUMMARY_CHARACTERS_MAX)
    room = max(0, 2 * LESSONS_MAX - len(ruled.lessons))
    many = [f"lesson {one.advice!r}" for one in filled.lessons[room:]]
    many += [f"{one.type} {one.content!r}" for one in filled.findings[LESSONS_MAX:]]
    filled.rejected += [f"{name} is more than one review keeps" for name in many]
    changes["lessons"] = (*ruled.lessons, *filled.lessons[:room])
    changes["findings"] = (*ruled.findings, *filled.findings[:LESSONS_MAX])
    changes["reviewer"] = reviewer
    return ruled.model_copy(update=changes)
