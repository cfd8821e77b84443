"""What led to the outcome, as far as the recorded edges say? The first and weakest form of credit.

The outcome hangs on the run's *ends*: tool calls that worked, messages and decisions that no
further step of an agent cites and that nobody took back. What a user answered to one, or a state
that was noted after it, does not make it less of an end. An event without any edge is none: it
consumed nothing and fed nothing. A failed call that nobody cites had no effect, unless
the whole run ends in nothing else.
Every end counts, not the last alone, since of two agents who finish side by side both may have
mattered: the slice is rather too wide than too narrow. The slice is the ends and their ancestors.

Credit divides the outcome equally over the decisions of the slice. That is a statement about
structure, not about causes, so every interval reaches from nothing to the whole outcome; of an
outcome of exactly 0 there is nothing to divide, and a row of zeros would say nothing. A decision
outside the slice gets exactly zero only if every edge was observed and nothing is missing;
otherwise it stays a player, since an edge that nobody recorded may lead from it to an end.
"""

from collections.abc import Iterable, Mapping

from hindsight_ray.core.attribution.shares import equal_shares
from hindsight_ray.core.steps import Steps, failed, shortened
from hindsight_ray.domain.credit import Abstained, Attribution, Coverage, Credit, Target
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.run import Outcome, Trajectory

METHOD = "provenance"
NO_OUTCOME = "no outcome of this run is known; `outcome` records one"  # the verb of every door
NOTHING_TO_SHARE = (
    "an outcome of 0 leaves nothing to share out; `--method blame` says which decisions the run's"
    " failures point at"
)
_END_KINDS = ("tool", "message", "decision")
_WATCHED = ("user", "state")  # what is seen of a run's end, and no step of an agent


def provenance(trajectory: Trajectory, memories: Mapping[MemoryRef, str]) -> Attribution:
    """Credit by structure, or an abstention with its reason.

    `memories` are the texts of the memories that the reader may read; others are left out.
    """
    steps = Steps(trajectory.events)
    outcome = ruling_outcome(trajectory.outcomes)
    value = outcome.value if outcome is not None else None
    cyclic = steps.has_cycle()
    behind = frozenset[str]() if cyclic else steps.ancestors(_ends(steps))
    coverage = _coverage(trajectory, steps, len(behind))
    suspects = () if cyclic else _suspects(trajectory, steps)
    decisions = [event for event in steps.events if event.kind == "decision"]
    unled = coverage.complete and not any(event.event_id in behind for event in decisions)
    reason = _why_not(value, steps, cyclic=cyclic, unled=unled)
    base = Attribution(
        run_id=trajectory.run.run_id,
        outcome=value,
        method=METHOD,
        coverage=coverage,
        suspects=suspects,
        memories=_memories(steps, behind, memories),
    )
    if reason is not None or value is None:
        abstained = Abstained(method=METHOD, reason=reason or "no outcome is known")
        return base.model_copy(update={"abstained": abstained})
    shares = _credits(value, decisions, behind, complete=coverage.complete)
    return base.model_copy(update={"credits": shares})


def may_have_led(trajectory: Trajectory) -> tuple[Event, ...]:
    """The decisions that may have led to the outcome: those of the slice, or every one where an
    edge may be missing or the causes run in a circle."""
    steps = Steps(trajectory.events)
    decisions = tuple(event for event in steps.events if event.kind == "decision")
    if steps.has_cycle():
        return decisions
    behind = steps.ancestors(_ends(steps))
    if not _coverage(trajectory, steps, len(behind)).complete:
        return decisions
    return tuple(event for event in decisions if event.event_id in behind)


def ruling_outcome(outcomes: tuple[Outcome, ...]) -> Outcome | None:
    """The outcome that counts: the latest by an evaluator who took no part, else the latest."""
    latest = sorted(outcomes, key=lambda outcome: outcome.at)
    outside = [outcome for outcome in latest if outcome.evaluates and not outcome.participant]
    return (outside or latest or [None])[-1]


def went_badly(outcomes: tuple[Outcome, ...]) -> bool:
    """Whether the outcome that counts is known, and not above nothing."""
    outcome = ruling_outcome(outcomes)
    return outcome is not None and outcome.value <= 0


def by_agent(shares: Iterable[Credit], events: Iterable[Event]) -> tuple[Credit, ...]:
    """Credits of decisions summed for each agent, in order of appearance. They sum the same."""
    agent_of = {str(event.event_id): str(event.agent) for event in events}
    sums: dict[str, list[Credit]] = {}
    for credit in shares:
        if credit.target.kind == "event" and credit.target.id in agent_of:
            sums.setdefault(agent_of[credit.target.id], []).append(credit)
    return tuple(
        Credit(
            target=Target(kind="agent", id=agent, label=agent),
            value=sum(credit.value for credit in own),
            low=min(credit.low for credit in own),
            high=max(credit.high for credit in own),
            method=own[0].method,
            evidence=own[0].evidence,
        )
        for agent, own in sums.items()
    )


def _ends(steps: Steps) -> list[str]:
    """What worked, if anything did; else the failed calls that the run broke off with."""
    last = [
        event
        for event in steps.events
        if event.kind in _END_KINDS
        and (steps.causes[event.event_id] or steps.effects[event.event_id])
        and all(steps.by_id[one].kind in _WATCHED for one in steps.effects[event.event_id])
        and event.event_id not in steps.retracted
    ]
    return [event.event_id for event in last if not failed(event)] or [e.event_id for e in last]


def _coverage(trajectory: Trajectory, steps: Steps, in_slice: int) -> Coverage:
    edges = {"observed": 0, "declared": 0, "inferred": 0}
    for event in steps.events:
        edges[event.edge_evidence] += len(steps.causes[event.event_id])
    dangling = sum(
        len({cause for cause in event.causes if cause not in steps.by_id}) for event in steps.events
    )
    return Coverage(
        events=len(steps.events),
        in_slice=in_slice,
        observed_edges=edges["observed"],
        declared_edges=edges["declared"],
        inferred_edges=edges["inferred"],
        dangling=dangling,
        gaps=sum(gap.last - gap.first + 1 for gap in trajectory.gaps),
    )


def _why_not(value: float | None, steps: Steps, *, cyclic: bool, unled: bool) -> str | None:
    if value is None:
        return NO_OUTCOME
    if not any(event.kind == "decision" for event in steps.events):
        return "no decision was recorded, so there is nobody to credit"
    if value == 0:
        return NOTHING_TO_SHARE
    if cyclic:
        return "the recorded causes run in a circle, so nothing can be said to come first"
    if not any(steps.causes.values()):
        return "no event names a cause, so nothing leads to the outcome"
    return "no decision led to what the run ended with" if unled else None


def _credits(
    value: float, decisions: list[Event], behind: frozenset[str], *, complete: bool
) -> tuple[Credit, ...]:
    players = [event for event in decisions if not complete or event.event_id in behind]
    shares = dict(
        zip((e.event_id for e in players), equal_shares(value, len(players)), strict=True)
    )
    low, high = min(0.0, value), max(0.0, value)
    return tuple(
        Credit(
            target=_target(event),
            value=shares.get(event.event_id, 0.0),
            low=low if event.event_id in shares else 0.0,
            high=high if event.event_id in shares else 0.0,
            method=METHOD,
            evidence="structural",
        )
        for event in decisions
    )


def _suspects(trajectory: Trajectory, steps: Steps) -> tuple[Target, ...]:
    """Steps that failed, were taken back or cite what nobody recorded, and none such before."""
    dangling = set(trajectory.dangling)
    flagged = {
        event.event_id
        for event in steps.events
        if failed(event)
        or event.event_id in steps.retracted
        or event.event_id in dangling
        or any(cause not in steps.by_id for cause in event.causes)
    }
    tainted: set[str] = set()  # events with a flagged ancestor or flagged themselves
    first: set[str] = set()
    for one in _causes_first(steps):
        behind = any(cause in tainted for cause in steps.causes[one])
        if one in flagged and not behind:
            first.add(one)
        if behind or one in flagged:
            tainted.add(one)
    return tuple(_target(event) for event in steps.events if event.event_id in first)


def _causes_first(steps: Steps) -> list[str]:
    """Event ids such that each comes after its causes (there is no cycle)."""
    missing = {one: len(causes) for one, causes in steps.causes.items()}
    order = [one for one, count in missing.items() if count == 0]
    for one in order:
        for effect in steps.effects[one]:
            missing[effect] -= 1
            if missing[effect] == 0:
                order.append(effect)
    return order


def _memories(
    steps: Steps, behind: frozenset[str], memories: Mapping[MemoryRef, str]
) -> tuple[Target, ...]:
    used = dict.fromkeys(
        ref for event in steps.events if event.event_id in behind for ref in event.used
    )
    return tuple(
        Target(kind="memory", id=ref.id, label=shortened(memories[ref], 120))
        for ref in used
        if ref in memories
    )


def _target(event: Event) -> Target:
    text = shortened(event.summary, 120) or event.kind
    return Target(kind="event", id=event.event_id, label=f"{event.agent}: {text}")
