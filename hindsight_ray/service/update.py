"""Change a memory in place: its readers stay who they are.

So nothing may be written into it that asks more of a reader than it does: what an agent learned
with one user, or was offered in a run, goes to a record of its own. Nor does `write` alone take
away what others said: an earlier end needs `forget`, another text or a later end for a heavier word
`review`, and to say that somebody else's word counts for less needs more than a word of the same
weight.
"""

from hindsight_ray.core.admission import split
from hindsight_ray.core.audience import contained, doubted, written_audience
from hindsight_ray.core.cleaning import masked
from hindsight_ray.domain.access import Revision
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Update
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import SOURCE_WEIGHTS, Memory, Source
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.rows import Offered
from hindsight_ray.errors import AccessDenied, InvalidInput, RevisionConflict
from hindsight_ray.ports import Unit
from hindsight_ray.service import commit, once
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.commit import Author
from hindsight_ray.service.offered import inherited
from hindsight_ray.service.outside import set_apart
from hindsight_ray.service.privacy import known_privacy
from hindsight_ray.service.seen import visible
from hindsight_ray.service.settle import changing
from hindsight_ray.service.world import World
from hindsight_ray.service.write import source_kind


async def update(world: World, caller: Caller, command: Update) -> Receipt:
    """Change what the command names; needs `read` on the audience and `write` on the scope.

    To end it sooner needs `forget` too; `review`, to change what is said in a record that somebody
    else said with more weight, or that was accepted, or to let that last longer; and, to lower the
    confidence or importance of what somebody else said, a heavier word, `review` or `promote`. What
    a run showed from outside goes into no record that somebody said or accepted.

    Raises `NotFound`, `AccessDenied`, `RevisionConflict` if `if_revision` is not the current one,
    `InvalidInput`, `CommandReused`.
    """
    async with world.ledger.reading() as unit:
        await _may_update(unit, await admit(world, unit, caller), command)
        done = await once.replayed(unit, caller, command.command_id, command, Receipt)
    if done is not None:
        return done
    privacy = known_privacy(world, caller.tenant)
    said, marks = masked(command, privacy)
    content = _one_part(said.content)
    vector = None
    if content is not None:
        vector = (await world.embedder.embed([content], "passage"))[0]
    async with changing(world, command.command_id) as unit:
        admitted = await admit(world, unit, caller)
        memory = await _may_update(unit, admitted, command)
        done = await once.replayed(unit, caller, command.command_id, command, Receipt)
        if done is not None:
            return done
        admitted.require_ahead("expires_at", command.expires_at)
        _check_revision(memory, command)
        if content == memory.content:  # who says it as it is takes nobody's place
            content = vector = None
        await _require_more(unit, admitted, memory, command)
        taken_over = await inherited(unit, admitted, None)
        following = _following(admitted, memory, said, content, taken_over)
        doubted = content is not None and not following.source.trusted
        if doubted and await set_apart(world, unit, admitted, memory.scope):
            following = following.model_copy(update={"status": "quarantined"})
        if vector is not None:
            model = world.embedder.space.model
            following = following.model_copy(update={"embedding_model": model})
        by = commit.author(admitted, "Update", "write", memory.scope)
        await commit.put(unit, following, vector, by, "updated")
        await unit.stats.verify(memory.tenant, [memory.id], admitted.now)  # what is changed is used
        receipt = _receipt(command, following, by)
        if marks:
            receipt = receipt.model_copy(update={"why": f"secrets masked: {marks}"})
        await once.keep(unit, caller, command.command_id, command, receipt)
    return receipt


async def _may_update(unit: Unit, admitted: Admitted, command: Update) -> Memory:
    memory = await visible(unit, admitted, command.memory_id)
    admitted.require("write", memory.scope)
    return memory


async def _require_more(unit: Unit, admitted: Admitted, memory: Memory, command: Update) -> None:
    """Raise `AccessDenied` where the change takes away what `write` alone may not."""
    end, kept_end = command.expires_at, memory.expires_at
    longer = end is not None and kept_end is not None and end > kept_end
    if end is not None and (kept_end is None or end < kept_end):
        admitted.require("forget", memory.scope)
    own = SOURCE_WEIGHTS[source_kind(admitted)]
    said = (command.content, command.confidence, command.importance, command.tags)
    says = longer or any(one is not None for one in said)
    others = says and not _speaks_for(admitted.caller, memory.source)
    if others and (memory.source.weight > own or memory.source.reviewed_by is not None):
        admitted.require("review", memory.scope)
    if _lowers(memory, command) and not await _alone_said(unit, admitted.caller, memory, own):
        admitted.require_any(("review", "promote"), memory.scope)


async def _alone_said(unit: Unit, caller: Caller, memory: Memory, own: float) -> bool:
    """Whether nobody but the caller has ever said it with as much weight: who rewords what others
    said, however little, would else have it to sink."""
    earlier = [MemoryRef(id=memory.id, revision=n) for n in range(1, memory.revision)]
    before = (await unit.memories.at(memory.tenant, earlier)).values() if earlier else ()
    sources = (memory.source, *(one.source for one in before))
    return all(source.weight < own or _speaks_for(caller, source) for source in sources)


def _lowers(memory: Memory, command: Update) -> bool:
    """Whether it says that the record counts for less, by which it is found and kept less."""
    named = ((command.confidence, memory.confidence), (command.importance, memory.importance))
    return any(now is not None and now < before for now, before in named)


def _speaks_for(caller: Caller, source: Source) -> bool:
    """Whether the caller said it, or comes with the user whose word it is."""
    if caller.user is not None and caller.user == source.user:
        return True
    return source.agent is not None and source.agent == caller.agent


def _one_part(content: str | None) -> str | None:
    if content is None:
        return None
    parts = split(content)
    if len(parts) != 1:
        raise InvalidInput(
            "`content` is longer than one memory; write the parts and forget this one",
            field="content",
        )
    return parts[0]


def _check_revision(memory: Memory, command: Update) -> None:
    if command.if_revision is not None and command.if_revision != memory.revision:
        raise RevisionConflict(
            f"`memory` {memory.id!r} is at revision {memory.revision}, not"
            f" {command.if_revision}; read it again and decide anew",
            id=memory.id,
            current=memory.revision,
            offered=command.if_revision,
        )


def _following(
    admitted: Admitted,
    memory: Memory,
    command: Update,
    content: str | None,
    taken_over: Offered,
) -> Memory:
    """The next revision. New text makes the caller its author: it is no longer what was reviewed,
    and weighs as much as the caller's word."""
    given = {
        "content": content,
        "importance": command.importance,
        "confidence": command.confidence,
        "tags": command.tags,
        "expires_at": command.expires_at,
    }
    changes: dict[str, object] = {
        field: value for field, value in given.items() if value is not None
    }
    if content is not None or command.tags is not None:
        refuse_laundering(admitted, memory, taken_over)
        if not doubted(memory):
            what = f"`memory` {memory.id!r} is somebody's word"
            refuse_outside(admitted, memory, taken_over, what, "write a statement of its own")
    if content is not None:
        changes["source"] = _source(admitted, memory, taken_over)
    changes |= {"revision": memory.revision + 1, "updated_at": admitted.now}
    return Memory.model_validate(dict(memory) | changes)


def refuse_laundering(admitted: Admitted, memory: Memory, taken_over: Offered) -> None:
    """Raise `AccessDenied` if the memory's readers may not read all that its author may know."""
    needed = {*written_audience(memory.scope, admitted.caller), *taken_over.audience}
    if contained(needed, memory.audience) and contained(taken_over.labels, memory.labels):
        return
    raise AccessDenied(
        f"`memory` {memory.id!r} has readers who may not read what `{admitted.caller.principal}`"
        " may have learned elsewhere; write a memory of its own instead",
        action="write",
        object=memory.scope,
        revision=admitted.revision,
    )


def refuse_outside(
    admitted: Admitted, memory: Memory, taken_over: Offered, what: str, instead: str
) -> None:
    """Raise `AccessDenied` where text from outside might get into what somebody stands by."""
    if not taken_over.untrusted:
        return
    raise AccessDenied(
        f"{what}, and `{admitted.caller.principal}` was shown text from outside in a run that is"
        f" open; {instead}, or end the run",
        action="write",
        object=memory.scope,
        revision=admitted.revision,
    )


def _source(admitted: Admitted, memory: Memory, taken_over: Offered) -> Source:
    caller = admitted.caller
    kind = source_kind(admitted)
    return memory.source.model_copy(
        update={
            "kind": kind,
            "weight": SOURCE_WEIGHTS["import" if taken_over.untrusted else kind],
            "trusted": not taken_over.untrusted,
            "agent": caller.agent,
            "user": caller.user,
            "session": caller.session,
            "reviewed_by": None,
        }
    )


def _receipt(command: Update, following: Memory, by: Author) -> Receipt:
    return Receipt(
        command_id=command.command_id,
        result="pending" if following.status == "quarantined" else "stored",
        ids=(following.id,),
        revision=Revision(by.revision),
    )
