"""What waits for a person, and what becomes of it once a person has decided.

Pending and quarantined memories alike: a person with `review` on the scope who may read the whole
audience sees them. To accept or correct one is to say it there, to reject one is to take it away:
each needs what that would need besides. Accepting says which of two contradicting values holds.
"""

from dataclasses import replace

from hindsight_ray.core.admission import split
from hindsight_ray.core.cleaning import no_refused
from hindsight_ray.core.redaction import redacted
from hindsight_ray.domain.access import Action, Revision
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import DecidePending, ListPending
from hindsight_ray.domain.memory import SOURCE_WEIGHTS, Memory, Status
from hindsight_ray.domain.privacy import Privacy
from hindsight_ray.domain.receipt import Receipt, WriteResult
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.domain.upkeep import Waiting
from hindsight_ray.errors import AccessDenied, InvalidInput, RevisionConflict
from hindsight_ray.ports import Unit
from hindsight_ray.service import commit, offered, once
from hindsight_ray.service.admit import Admitted, absent, admit, row_filter
from hindsight_ray.service.commit import Author
from hindsight_ray.service.contrary import contradicting
from hindsight_ray.service.offered import inherited
from hindsight_ray.service.privacy import known_privacy
from hindsight_ray.service.remarks import refuse_beside_memory
from hindsight_ray.service.seen import last_known, presentable, visible
from hindsight_ray.service.settle import changing
from hindsight_ray.service.unshown import reasons
from hindsight_ray.service.update import refuse_laundering, refuse_outside
from hindsight_ray.service.world import World
from hindsight_ray.service.write import source_kind

WAITING: frozenset[Status] = frozenset({"pending", "quarantined"})
_PAGE = 500
_SAYING: tuple[Action, ...] = ("write", "promote")  # any of these, for who accepts or edits
_TAKING: tuple[Action, ...] = ("forget", *_SAYING)  # and for who rejects


async def listed(world: World, caller: Caller, command: ListPending) -> tuple[Waiting, ...]:
    """What waits in scopes where the caller holds `review`, oldest first, with its conflicts.

    Raises `AccessDenied` for a scope that is named and not the caller's to review.
    """
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        if command.scope is not None:
            admitted.require("review", command.scope)
        rows = replace(await row_filter(world, unit, admitted), statuses=WAITING)
        if command.scope is not None:
            rows = replace(rows, scopes=frozenset({command.scope}))
        found: list[Memory] = []
        after = 0
        while len(found) < command.limit:
            page = await unit.upkeep.page(rows, after=after, limit=_PAGE)
            found += [memory for _, memory in page if _reviews(admitted, memory)]
            if len(page) < _PAGE:
                break
            after = page[-1][0]
        waiting = tuple([await _waiting(unit, admitted, one) for one in found[: command.limit]])
        shown = [memory for one in waiting for memory in (one.memory, *one.conflicts)]
        growth = await offered.showing_memories(unit, admitted, shown)
    await offered.grow(world, admitted, [growth])
    return waiting


def _reviews(admitted: Admitted, memory: Memory) -> bool:
    return admitted.access.may("review", memory.scope) and admitted.may_read(
        memory.audience, memory.labels
    )


async def _waiting(unit: Unit, admitted: Admitted, memory: Memory) -> Waiting:
    notes = await unit.memories.history(memory.tenant, memory.id)
    conflicts = [
        kept for kept in await contradicting(unit, memory, admitted.now) if _reviews(admitted, kept)
    ]
    shown = await presentable(unit, admitted, [memory, *conflicts])
    (why,) = await reasons(unit, admitted, [notes[-1].why], own=[memory.id])
    return Waiting(memory=shown[0], why=why, conflicts=tuple(shown[1:]))


async def decide(world: World, caller: Caller, command: DecidePending) -> Receipt:
    """Accept, reject or edit what waits. Needs `review` on its scope, and `write` or `promote`
    there (to reject, `forget` does too); of one's own quarantined text, `administer`.

    Accepting makes it `active` and notes who vouched (`source.reviewed_by`); what it is shown to
    contradict becomes `outdated`, whether it was active or waited too: who finds that both hold
    edits it to say so ("is also led by …"). Rejecting forgets it. An edit is an acceptance of the
    corrected text, whose author is the caller; it and `why` say nothing that the caller's open
    runs were shown for others, and an edit nothing from outside. Raises `NotFound`, `AccessDenied`,
    `InvalidInput`, `RevisionConflict` for what waits no longer.
    """
    content = _checked_content(command, known_privacy(world, caller.tenant))
    vector = None
    if content is not None:
        async with world.ledger.reading() as unit:
            await _waits(world, unit, caller, command)
        vector = (await world.embedder.embed([content], "passage"))[0]
    async with changing(world, command.command_id) as unit:
        admitted, memory, done = await _waits(world, unit, caller, command)
        if done is not None:
            return done
        if command.why:
            await refuse_beside_memory(unit, admitted, memory, "why")
        by = commit.author(admitted, "DecidePending", "review", memory.scope)
        why = "edited and accepted" if command.decision == "edit" else f"{command.decision}ed"
        why = f"{why}: {command.why}" if command.why else why
        if command.decision == "reject":
            await commit.forget(unit, memory, by, why)
            result: WriteResult = "forgotten"
        else:
            following = await _accepted(unit, admitted, memory, content)
            if vector is not None:
                model = world.embedder.space.model
                following = following.model_copy(update={"embedding_model": model})
            await commit.put(unit, following, vector, by, why)
            await unit.stats.verify(memory.tenant, [memory.id], admitted.now)  # it waited, unused
            retired = await _retire(unit, following, by)
            result = "superseded" if retired else "stored"
        receipt = Receipt(
            command_id=command.command_id,
            result=result,
            ids=(memory.id,),
            revision=Revision(admitted.revision),
            why=why,
        )
        await once.keep(unit, caller, command.command_id, command, receipt)
    return receipt


def _checked_content(command: DecidePending, privacy: Privacy) -> str | None:
    if (command.decision == "edit") != (command.content is not None):
        raise InvalidInput("`content` belongs to an edit, and an edit needs it", field="content")
    if command.content is None:
        return None
    no_refused(privacy, "content", command.content)
    parts = split(redacted(command.content, privacy)[0])
    if len(parts) != 1:
        raise InvalidInput("`content` is longer than one memory", field="content")
    return parts[0]


async def _waits(
    world: World, unit: Unit, caller: Caller, command: DecidePending
) -> tuple[Admitted, Memory, Receipt | None]:
    """The memory that waits, or the receipt of the decision on it, for who may decide it still."""
    admitted = await admit(world, unit, caller)
    done = await once.replayed(unit, caller, command.command_id, command, Receipt)
    if done is not None and done.result == "forgotten":
        gone = await _last(unit, admitted, command.memory_id)
        _require(admitted, command, gone)
        return admitted, gone, done
    memory = await visible(unit, admitted, command.memory_id)
    _require(admitted, command, memory)
    if done is not None:
        return admitted, memory, done
    if memory.status not in WAITING:
        raise RevisionConflict(
            f"`memory` {memory.id!r} is {memory.status!r} and waits for nobody",
            id=memory.id,
            current=memory.revision,
            offered=memory.revision,
        )
    if memory.status == "quarantined":
        _refuse_own(admitted, memory)
    return admitted, memory, None


def _require(admitted: Admitted, command: DecidePending, memory: Memory) -> None:
    """Raise `AccessDenied` unless the caller may do to the scope what the decision does to it."""
    admitted.require("review", memory.scope)
    admitted.require_any(_TAKING if command.decision == "reject" else _SAYING, memory.scope)


def _refuse_own(admitted: Admitted, memory: Memory) -> None:
    """Raise `AccessDenied` for text that is set apart to be looked at by somebody else."""
    if not _authored(admitted.caller, memory) or admitted.access.may("administer", GLOBAL):
        return
    raise AccessDenied(
        f"`memory` {memory.id!r} is quarantined, and `{admitted.caller.principal}` wrote it; it is"
        " for somebody else to decide",
        action="review",
        object=memory.scope,
        revision=admitted.revision,
    )


def _authored(caller: Caller, memory: Memory) -> bool:
    """Whether the caller wrote it: its agent did, or the user whose word it brings."""
    source = memory.source
    if source.agent is not None:
        return source.agent == caller.agent
    return source.kind == "user" and source.user is not None and source.user == caller.user


async def _last(unit: Unit, admitted: Admitted, memory_id: str) -> Memory:
    found = await last_known(unit, admitted.caller.tenant, memory_id)
    if found is None or not admitted.may_read(found.audience, found.labels):
        raise absent("memory", memory_id)
    return found


async def _accepted(unit: Unit, admitted: Admitted, memory: Memory, content: str | None) -> Memory:
    """The next revision, as accepted. New text is the caller's word, under the same readers."""
    source = memory.source.model_copy(update={"reviewed_by": admitted.caller.principal})
    changes: dict[str, object] = {
        "status": "active",
        "revision": memory.revision + 1,
        "updated_at": admitted.now,
        "superseded_by": None,
    }
    if content is not None:
        taken_over = await inherited(unit, admitted, None)
        refuse_laundering(admitted, memory, taken_over)
        what, instead = "`content` would be accepted as said", f"decide on {memory.id!r} as it is"
        refuse_outside(admitted, memory, taken_over, what, instead)
        kind = source_kind(admitted)
        said = {
            "kind": kind,
            "weight": SOURCE_WEIGHTS[kind],
            "agent": admitted.caller.agent,
            "user": admitted.caller.user,
        }
        source = source.model_copy(update=said)
        changes["content"] = content
    return Memory.model_validate(dict(memory) | changes | {"source": source})


async def _retire(unit: Unit, accepted: Memory, by: Author) -> int:
    """What the accepted value contradicts is outdated by it."""
    others = await contradicting(unit, accepted, by.now)
    for kept in others:
        changes = {
            "status": "outdated",
            "superseded_by": accepted.id,
            "revision": kept.revision + 1,
            "updated_at": by.now,
        }
        why = f"a person decided for {accepted.id}"
        await commit.put(unit, kept.model_copy(update=changes), None, by, why)
    return len(others)
