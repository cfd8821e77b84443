"""Credit that a client found by replaying: hand out what a replay needs, take in what came out.

Environments are the user's own code, so replays run with the client; what it submits is checked
against the record and kept under its name. `review` on the run's scope lets one submit. Utility
moves only if the ruling outcome is by an evaluator who took no part, and if whoever submits could
have asserted it: holds `evaluate` there and took no part either.
"""

from collections.abc import Iterable, Mapping

from hindsight_ray.core.attribution.players import LABEL, event_target
from hindsight_ray.core.attribution.provenance import provenance, ruling_outcome
from hindsight_ray.core.steps import shortened
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import (
    CreditsKept,
    ReadCredits,
    ReadForReplay,
    ReplayRecord,
    SeenMemory,
    SubmitCredits,
)
from hindsight_ray.domain.credit import METHODS_MAX, Attribution, Credit, Credited, Target
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.errors import InvalidInput, OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service import feedback, offered
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.outcome import took_part
from hindsight_ray.service.remarks import refuse_beside_run
from hindsight_ray.service.seen import shows
from hindsight_ray.service.texts import readable_texts, shown
from hindsight_ray.service.trajectory import reviewable, told_of
from hindsight_ray.service.world import World

_SUBMITTED = ("replayed", "structural", "opinion")
_VALUE_MAX = 2.0 + 1e-9  # the outcome reaches from -1 to 1
_SAME = 1e-9


async def read_for_replay(world: World, caller: Caller, command: ReadForReplay) -> ReplayRecord:
    """The trajectory, and the texts of memories at the revisions seen that the caller may read."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        trajectory = await reviewable(unit, admitted, command.run_id)
        readable = await readable_texts(unit, admitted, trajectory.events)
        growth = await offered.showing_memories(unit, admitted, readable.memories, [trajectory.run])
    await offered.grow(world, admitted, [growth])
    texts = readable.texts
    memories = tuple(SeenMemory(ref=ref, content=text) for ref, text in texts.items())
    return ReplayRecord(trajectory=shown(trajectory, texts), memories=memories)


async def submit(world: World, caller: Caller, command: SubmitCredits) -> CreditsKept:
    """Keep an attribution in place of the caller's earlier one by the same method.

    Raises `OverQuota` for one by a further method where the caller has many there already.
    """
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        trajectory = await reviewable(unit, admitted, command.run_id)
        await refuse_beside_run(unit, admitted, trajectory.run, "attribution", "review")
        readable = await readable_texts(unit, admitted, trajectory.events)
        texts = readable.texts
        _check(trajectory, command.attribution, {str(ref.id) for ref in texts})
        await _refuse_many(unit, caller, command)
        why_not = _why_not(admitted, trajectory, command.attribution)
        credited = Credited(
            group=command.run_id,
            by=caller.principal,
            at=admitted.now,
            counts=why_not is None,
            why_not=why_not or "",
            attribution=_as_recorded(trajectory, command.attribution, texts),
        )
        await unit.credits.put(caller.tenant, credited, owner=caller.receipt_owner)
        moved = await feedback.rate(unit, caller.tenant, command.attribution)
        run = trajectory.run
        await note_done(
            unit, admitted, verb="SubmitCredits", action="review", scope=run.scope, name=run.run_id
        )
        growth = await offered.showing_memories(unit, admitted, readable.memories, [run])
        await offered.grow_within(unit, admitted, [growth])
    return CreditsKept(credited=credited, rated=moved if why_not is None else ())


async def listed(world: World, caller: Caller, command: ReadCredits) -> tuple[Credited, ...]:
    """A page of what was found about a run, without memories that this reader may not read."""
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        run = (await reviewable(unit, admitted, command.run_id)).run
        kept = await unit.credits.of_run(caller.tenant, command.run_id)
        kept, others = await told_of(unit, admitted, run, kept)
        end = max(0, len(kept) - command.skip)  # of what this reader is told
        kept = kept[max(0, end - command.limit) : end]
        named = sorted({name for one in kept for name in _memories_in(one.attribution)})
        current = await unit.memories.current(caller.tenant, named)
        readable = [one for one in current.values() if shows(admitted, one)]
        growth = await offered.showing_memories(unit, admitted, readable, [run, *others])
    await offered.grow(world, admitted, [growth])
    texts = {str(memory.id): memory.content for memory in readable}
    return tuple(
        one.model_copy(update={"attribution": relabelled(one.attribution, texts)}) for one in kept
    )


async def _refuse_many(unit: Unit, caller: Caller, command: SubmitCredits) -> None:
    method, run_id = command.attribution.method, command.run_id
    known = await unit.credits.methods(caller.tenant, run_id, owner=caller.receipt_owner)
    if method not in known and len(known) >= METHODS_MAX:
        raise OverQuota(
            f"of run {run_id!r} there is credit by {len(known)} methods from you, and at most"
            f" {METHODS_MAX} are kept; submit under one of their names, in its place",
            object=run_id,
        )


def relabelled(attribution: Attribution, texts: Mapping[str, str]) -> Attribution:
    """With these texts as the labels of memories, and without the memories that have none here.

    The ledger keeps no text of a memory in a credit, so that erasing one leaves nothing behind.
    """

    def kept(targets: Iterable[Target]) -> tuple[Target, ...]:
        return tuple(
            one.model_copy(update={"label": shortened(texts[one.id], LABEL)})
            for one in targets
            if one.id in texts
        )

    def told(credits_: Iterable[Credit]) -> tuple[Credit, ...]:
        return tuple(
            one
            if one.target.kind != "memory"
            else one.model_copy(update={"target": kept([one.target])[0]})
            for one in credits_
            if one.target.kind != "memory" or one.target.id in texts
        )

    return attribution.model_copy(
        update={
            "credits": told(attribution.credits),
            "beside": told(attribution.beside),
            "memories": kept(attribution.memories),
        }
    )


def _as_recorded(
    trajectory: Trajectory, attribution: Attribution, texts: dict[MemoryRef, str]
) -> Attribution:
    """The submitted numbers; labels, coverage and suspects are what the record itself says."""
    by_id = {str(event.event_id): event for event in trajectory.events}
    structure = provenance(shown(trajectory, texts), texts)

    def told(credits_: Iterable[Credit]) -> tuple[Credit, ...]:
        return tuple(one.model_copy(update={"target": label(one.target)}) for one in credits_)

    def label(target: Target) -> Target:
        if target.kind == "event":
            return event_target(by_id[target.id])
        return Target(kind=target.kind, id=target.id, label=target.id)

    found = attribution.model_copy(
        update={
            "credits": told(attribution.credits),
            "beside": told(attribution.beside),
            "coverage": structure.coverage,
            "suspects": structure.suspects,
            "memories": structure.memories,
        }
    )
    return relabelled(found, dict.fromkeys(_memories_in(found), ""))


def _memories_in(attribution: Attribution) -> set[str]:
    found = {
        one.target.id
        for one in (*attribution.credits, *attribution.beside)
        if one.target.kind == "memory"
    }
    return found | {target.id for target in attribution.memories}


def _check(trajectory: Trajectory, attribution: Attribution, memories: set[str]) -> None:
    """Raise `InvalidInput` unless the attribution is about this run as it is recorded now."""
    if attribution.run_id != trajectory.run.run_id:
        raise InvalidInput(
            f"`attribution` is of run {attribution.run_id!r}, not of {trajectory.run.run_id!r}",
            field="attribution",
        )
    outcome = ruling_outcome(trajectory.outcomes)
    if (outcome.value if outcome is not None else None) != attribution.outcome:
        raise InvalidInput(
            "`attribution` is of an outcome that rules no longer; attribute the run again",
            field="attribution",
        )
    targets = {
        "event": {str(event.event_id) for event in trajectory.events},
        "agent": {str(event.agent) for event in trajectory.events},
        "memory": memories,
    }
    for credit in (*attribution.credits, *attribution.beside):
        if credit.evidence not in _SUBMITTED:
            raise InvalidInput(
                f"`evidence` {credit.evidence!r} is found here by comparing, never submitted",
                field="evidence",
            )
        if credit.target.id not in targets[credit.target.kind]:
            raise InvalidInput(
                f"`target` {credit.target.kind} {credit.target.id!r} is not in this run",
                field="target",
            )
        if not (
            credit.low - _SAME <= credit.value <= credit.high + _SAME
            and abs(credit.value) <= _VALUE_MAX
        ):
            raise InvalidInput(
                f"`value` {credit.value!r} of {credit.target.id!r} is beyond its interval, or"
                " beyond what an outcome from -1 to 1 leaves to share",
                field="value",
            )


def _why_not(admitted: Admitted, trajectory: Trajectory, attribution: Attribution) -> str | None:
    """Why this moves no memory's utility, or None."""
    outcome = ruling_outcome(trajectory.outcomes)
    if attribution.abstained is not None and not attribution.beside:
        return "it abstains"
    if outcome is None or not feedback.by_evaluator(outcome):
        return "no outcome of this run is by an evaluator who took no part"
    if took_part(trajectory.run, admitted.caller):
        return "whoever submitted it took part in the run"
    if not admitted.access.may("evaluate", trajectory.run.scope):
        return "whoever submitted it may not evaluate the run"
    return None
