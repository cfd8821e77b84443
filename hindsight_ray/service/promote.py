"""Copy a memory to another scope on purpose, with that scope alone as its audience.

The one way in which scopes are dropped from an audience, so it needs `read` on all of it and
`promote` on the target, held by the ticket's own principal; and it says who did it.
"""

from dataclasses import replace

from hindsight_ray.core.admission import gate
from hindsight_ray.core.opinion import Opinions
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Promote
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import Memory, Source
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.scope import checked_audience
from hindsight_ray.ports import Unit
from hindsight_ray.service import once
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.commit import author
from hindsight_ray.service.judging import Undecided, judged
from hindsight_ray.service.keep import Prepared, commit_draft, prepare
from hindsight_ray.service.seen import visible
from hindsight_ray.service.settle import changing
from hindsight_ray.service.world import World
from hindsight_ray.service.write import told


async def promote(world: World, caller: Caller, command: Promote) -> Receipt:
    """Promote a memory to `scope`: a copy that names what it was derived from and who vouched.

    Raises `AccessDenied` without `promote` on the target, `NotFound` for what the caller may not
    read. Labels stay. The same statement there already is accepted instead of copied.
    """
    async with world.ledger.reading() as unit:
        _, memory, done = await _admitted_source(world, unit, caller, command)
    if done is not None:
        return done
    prepared = await prepare(world, _draft(caller, command, memory))

    async def attempt(opinions: Opinions) -> Receipt | Undecided:
        ready = replace(prepared, opinions=opinions)
        return await _promoted(world, caller, command, memory, ready)

    return await judged(world, attempt)


async def _promoted(
    world: World, caller: Caller, command: Promote, memory: Memory, prepared: Prepared
) -> Receipt | Undecided:
    async with changing(world, command.command_id) as unit:
        admitted, now_memory, done = await _admitted_source(world, unit, caller, command)
        if done is not None:
            return done
        if now_memory.content != memory.content:
            # Edited meanwhile: rare, and its author waits for one embedding within the lock.
            opinions = prepared.opinions
            prepared = await prepare(world, _draft(caller, command, now_memory))
            prepared = replace(prepared, opinions=opinions)
        prepared = _without_doubts(prepared.redrafted(_draft(caller, command, now_memory)), world)
        by = author(admitted, "Promote", "promote", command.scope)
        receipt = await commit_draft(world, unit, prepared, by, reader=admitted)
        if isinstance(receipt, Undecided):
            return receipt
        if receipt.result in ("duplicate", "merged"):
            receipt = await _with_approval(unit, caller, receipt)
        await once.keep(unit, caller, command.command_id, command, receipt)
    return receipt


async def _with_approval(unit: Unit, caller: Caller, receipt: Receipt) -> Receipt:
    """The same, which says that what was there already counts as approved from now on, if so."""
    kept = await unit.memories.current(caller.tenant, receipt.ids)
    if not kept or not all(one.source.reviewed_by for one in kept.values()):
        return receipt
    return receipt.model_copy(update={"why": f"{receipt.why}; it is approved now"})


async def _admitted_source(
    world: World, unit: Unit, caller: Caller, command: Promote
) -> tuple[Admitted, Memory, Receipt | None]:
    admitted = await admit(world, unit, caller)
    admitted.require("promote", command.scope)
    memory = await visible(unit, admitted, command.memory_id)
    done = await once.replayed(unit, caller, command.command_id, command, Receipt)
    if done is not None:
        done = told(world, admitted, _draft(caller, command, memory), done)
    return admitted, memory, done


def _without_doubts(prepared: Prepared, world: World) -> Prepared:
    """Whoever promotes has decided: a low confidence no longer makes it wait."""
    sure = prepared.draft.model_copy(update={"confidence": 1.0})
    return replace(prepared, gate=gate(sure, world.settings))


def _draft(caller: Caller, command: Promote, memory: Memory) -> Draft:
    derived = (MemoryRef(id=memory.id, revision=memory.revision), *memory.derived_from)
    return Draft(
        tenant=caller.tenant,
        principal=caller.principal,
        acting_scope=caller.acting_scope,
        verb="promote",
        command_id=command.command_id,
        scope=command.scope,
        audience=checked_audience([command.scope]),
        labels=memory.labels,
        content=memory.content,
        type=memory.type,
        layer=memory.layer,
        steps=memory.steps,
        scene=memory.scene,
        topic=memory.topic,
        confidence=memory.confidence,
        importance=memory.importance,
        tags=memory.tags,
        project=memory.project,
        expires_at=memory.expires_at,
        source=_source(caller, memory),
        status="active",
        derived_from=tuple(dict.fromkeys(derived)),
    )


def _source(caller: Caller, memory: Memory) -> Source:
    """Who said it and who vouched. User, session, run and events stay with the original, whose
    readers they concern: `explain` finds them there for those who may read it."""
    return Source(
        kind=memory.source.kind,
        weight=memory.source.weight,
        agent=memory.source.agent,
        reviewed_by=caller.principal,
    )
