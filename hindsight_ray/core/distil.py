"""What a checked review becomes: drafts of memories, each with its scope, readers and source.

An individual lesson goes to its agent's scope, a collaborative one to the run's; of an imported
run, whose agents are only labels, everything goes to the run's scope. Each review leaves one dated
episode in the run's scope. What was offered to the agents of the cited events decides with the
run's audience who may read it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_ray.core.audience import distilled_audience, union
from hindsight_ray.core.digest import digest
from hindsight_ray.core.redaction import redacted
from hindsight_ray.core.steps import agents_of, failed, shortened
from hindsight_ray.domain.caller import REVIEWER
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.ids import AgentName, CommandName, EventUuid, Label
from hindsight_ray.domain.memory import SOURCE_WEIGHTS, Scene, Sharing, Source, SourceKind
from hindsight_ray.domain.review import Finding, Lesson, Review
from hindsight_ray.domain.rows import Offered
from hindsight_ray.domain.run import Run, Trajectory
from hindsight_ray.domain.scope import ScopeName, agent_scope, user_scope
from hindsight_ray.domain.text import CONTENT_CHARACTERS_MAX, SUMMARY_CHARACTERS_MAX

_EPISODE_IMPORTANCE = 0.4
_EVENTS_CITED_MAX = 50
_COMMAND_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Distilling:
    """All that the drafts of one review follow from. `offered` is by agent."""

    trajectory: Trajectory
    review: Review
    digest: str  # of what was reviewed: the drafts' command ids follow from it
    offered: Mapping[str, Offered]
    at: datetime

    @property
    def run(self) -> Run:
        return self.trajectory.run


def distilled(job: Distilling) -> tuple[Draft, ...]:
    """The episode, a draft for each lesson and for each finding, in order; of no events, none."""
    if not job.trajectory.events:
        return ()
    lessons = [_lesson_draft(job, n, lesson) for n, lesson in enumerate(job.review.lessons, 1)]
    findings = [_finding_draft(job, finding) for finding in job.review.findings]
    return (_episode_draft(job), *_named_apart([*lessons, *findings]))


def _named_apart(drafts: Sequence[Draft]) -> list[Draft]:
    """Each draft under a command id of its own, by which it is kept.

    Of equal words the first has the id that the words give it, by which reviews of earlier releases
    are known; a further one that is somebody else's, or says more beside them, has one of all that.
    """
    first: dict[str, str] = {}
    named: list[Draft] = []
    for draft in drafts:
        scene = None if draft.scene is None else draft.scene.sharing
        whole = digest([draft.scope, sorted(draft.audience), draft.topic, [*draft.steps], scene])
        if first.setdefault(draft.command_id, whole) == whole:
            named.append(draft)
        else:
            name = CommandName(f"{draft.command_id}.{whole[:16]}")
            named.append(draft.model_copy(update={"command_id": name}))
    return named


def scopes_touched(run: Run, offered: Mapping[str, Offered]) -> frozenset[ScopeName]:
    """The scopes that a review of the run may read or write, and no others."""
    if run.imported:
        return frozenset(run.audience)
    own = [
        scope for scope in (_own_scope(run, name) for name in names_of(run)) if scope is not None
    ]
    inherited = [ScopeName(scope) for one in offered.values() for scope in one.audience]
    return frozenset([*run.audience, *own, *inherited])


def _lesson_draft(job: Distilling, number: int, lesson: Lesson) -> Draft:
    run = job.run
    own = None if lesson.agent is None or run.imported else _own_scope(run, lesson.agent)
    scope = own or run.scope
    sharing: Sharing = "individual" if own is not None else "collaborative"
    return _draft(
        job,
        _named(number, lesson.prompt, lesson.advice),
        scope=scope,
        sharing=sharing,
        agent=lesson.agent if own is not None else None,
        prompt=lesson.prompt,
        events=lesson.events,
        content=lesson.advice,
        importance=lesson.importance,
        confidence=lesson.confidence,
        scene=Scene(
            task_type=run.task_type,
            tools=tuple(lesson.tools) or run.tools,
            intent=run.intent or run.goal,
            applicability="scenario",
            sharing="collaborative" if lesson.agent is None else "individual",
        ),
    )


def _finding_draft(job: Distilling, finding: Finding) -> Draft:
    """A preference goes to the user who had it, where only one took part in what it cites."""
    run = job.run
    own = None if finding.agent is None or run.imported else _own_scope(run, finding.agent)
    users = {one.user for one in run.participants if one.user is not None}
    if finding.type == "preference" and len(users) == 1 and not run.imported:
        own = user_scope(next(iter(users)))
    sharing: Sharing = "individual" if own is not None else "collaborative"
    agent = finding.agent if own is not None and own == agent_scope(finding.agent or "") else None
    draft = _draft(
        job,
        _named(None, finding.prompt, f"{finding.type} {finding.content}"),
        scope=own or run.scope,
        sharing=sharing,
        agent=agent,
        events=finding.events,
        content=finding.content,
        importance=finding.importance,
        confidence=finding.confidence,
        scene=None,
        prompt=finding.prompt,
    )
    changes: dict[str, object] = {
        "type": finding.type,
        "layer": "semantic",
        "steps": tuple(
            shortened(redacted(step)[0], SUMMARY_CHARACTERS_MAX) for step in finding.steps
        ),
        "topic": finding.topic,
        "why": finding.why,
    }
    return Draft.model_validate(dict(draft) | changes)


def _named(number: int | None, prompt: str, text: str) -> str:
    """A draft's place in its review: a number for what rules teach, else what it says.

    So a model's second review of the same trajectory never takes the place of the rules' first.
    """
    if number is not None and not prompt:
        return str(number)
    return f"{'m' if prompt else 'f'}{digest([prompt, text])[:16]}"


def _episode_draft(job: Distilling) -> Draft:
    events = job.trajectory.events
    telling = [e.event_id for e in events if e.kind == "decision" or failed(e)]
    cited = tuple(telling or (event.event_id for event in events))[:_EVENTS_CITED_MAX]
    return _draft(
        job,
        "0",
        scope=job.run.scope,
        sharing="collaborative",
        agent=None,
        events=cited,
        content=episode_text(job),
        importance=_EPISODE_IMPORTANCE,
        confidence=1.0,
        scene=None,
    )


def episode_text(job: Distilling) -> str:
    """What happened, with its date, in one statement; of a log without times when it came."""
    events = job.trajectory.events
    began = job.run.started_at.date().isoformat()
    began = began if job.run.timed else f"imported {began}"
    agents = agents_of(events)
    who = ", ".join(agents[:3]) + (f" and {len(agents) - 3} more" if len(agents) > 3 else "")
    failures = sum(failed(event) for event in events)
    outcomes = sorted(job.trajectory.outcomes, key=lambda outcome: outcome.at)
    ended = f", outcome {outcomes[-1].value:g}" if outcomes else ""
    tail = f" ({shortened(who, 60)}: {len(events)} steps, {failures} failed calls{ended})"
    room = CONTENT_CHARACTERS_MAX - len(began) - 2 - len(tail)
    return f"{began}: {shortened(job.run.goal, room)}{tail}"


def _draft(
    job: Distilling,
    number: str,
    *,
    scope: ScopeName,
    sharing: Sharing,
    agent: str | None,
    events: Sequence[EventUuid],
    content: str,
    importance: float,
    confidence: float,
    scene: Scene | None,
    prompt: str = "",
) -> Draft:
    run = job.run
    # Labels are those of the run, whose goal every draft says. Of scopes and trust it is finer:
    # a model has read all events and what all agents were offered: what it says of one agent may
    # stem from any of that.
    offered = list(job.offered.values()) if prompt else _offered_to(job, events)
    untrusted = not run.trusted or any(one.untrusted for one in offered)
    # What rests on untrusted text stays out of answers in scopes that others share.
    apart = untrusted and (not run.trusted or sharing == "collaborative")
    return Draft(
        tenant=run.tenant,
        principal=agent_scope(REVIEWER),
        verb="review",
        command_id=CommandName(f"review.{job.digest[:_COMMAND_DIGITS]}.{number}"),
        scope=scope,
        audience=distilled_audience(
            scope,
            run.audience,
            [one.audience for one in offered],
            sharing=sharing,
            participants=[] if run.imported else [p.agent for p in run.participants if p.agent],
        ),
        labels=tuple(Label(one) for one in union(one.labels for one in job.offered.values())),
        content=shortened(redacted(content)[0], CONTENT_CHARACTERS_MAX),  # masks may be longer
        type="episode" if scene is None else "experience",
        layer="episodic" if scene is None else "semantic",
        scene=scene,
        confidence=confidence,
        importance=importance,
        project=run.project,
        source=_source(job, events, agent, trusted=not untrusted).model_copy(
            update={"prompt": prompt}
        ),
        status="quarantined" if apart else "active",
        derived_from=_used_by(job, events),
    )


def _source(
    job: Distilling, events: Sequence[EventUuid], agent: str | None, *, trusted: bool
) -> Source:
    """Whose it is: a lesson's agent, or for what the team learned the reviewer.

    Whoever imported a run as trusted vouches for what is learned from it.
    """
    run = job.run
    users = {p.user for p in run.participants if agent in (None, p.agent) and p.user is not None}
    kind: SourceKind = "agent" if run.trusted else "import"
    return Source(
        kind=kind,
        weight=SOURCE_WEIGHTS["agent" if trusted else "import"],
        trusted=trusted,
        agent=AgentName(agent or REVIEWER),
        user=users.pop() if len(users) == 1 else None,
        run=run.run_id,
        task=run.goal,
        events=tuple(events),
        reviewed_by=run.vouched_by,
    )


def _offered_to(job: Distilling, events: Sequence[str]) -> list[Offered]:
    """What the agents of these events were offered in the run."""
    cited = set(events)
    agents = {str(e.agent) for e in job.trajectory.events if e.event_id in cited}
    return [job.offered[agent] for agent in sorted(agents) if agent in job.offered]


def _used_by(job: Distilling, events: Sequence[str]) -> tuple[MemoryRef, ...]:
    cited = set(events)
    used = (ref for e in job.trajectory.events if e.event_id in cited for ref in e.used)
    return tuple(dict.fromkeys(used))


def _own_scope(run: Run, name: str) -> ScopeName | None:
    """The scope of the participant that records under this name; None for a mere label."""
    for participant in run.participants:
        if participant.agent == name:
            return agent_scope(name)
        if participant.agent is None and participant.user == name:
            return user_scope(name)
    return None


def names_of(run: Run) -> tuple[str, ...]:
    """The names under which the participants record."""
    names = (str(participant.agent or participant.user or "") for participant in run.participants)
    return tuple(dict.fromkeys(name for name in names if name))
