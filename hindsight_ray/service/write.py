"""Keep a statement: authorise, mask, gate, split, embed, compare with its like, decide, commit.

What the caller was offered in its runs comes along: a record that its author may have learned from
others asks of its readers whatever those asked.
"""

from dataclasses import replace

from hindsight_ray.core.admission import split, without_secrets
from hindsight_ray.core.audience import union, written_audience
from hindsight_ray.core.opinion import Opinions
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Write
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.ids import Label
from hindsight_ray.domain.memory import SOURCE_WEIGHTS, Source, SourceKind
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.rows import Offered
from hindsight_ray.domain.scope import ScopeName, checked_audience
from hindsight_ray.domain.text import TAGS_MAX
from hindsight_ray.errors import InvalidInput
from hindsight_ray.ports import Unit
from hindsight_ray.service import once
from hindsight_ray.service.admit import Admitted, admit
from hindsight_ray.service.commit import author
from hindsight_ray.service.judging import Undecided, judged
from hindsight_ray.service.keep import Prepared, commit_draft, keep, own_ids, prepare
from hindsight_ray.service.offered import inherited
from hindsight_ray.service.outside import OUTSIDE, set_apart
from hindsight_ray.service.privacy import known_privacy
from hindsight_ray.service.settle import changing
from hindsight_ray.service.world import World

__all__ = ["default_scope", "keep", "source_kind", "told", "write"]


async def write(world: World, caller: Caller, command: Write) -> Receipt:
    """Keep what the command says in a scope that the caller may write.

    Raises `AccessDenied`, `CommandReused`, `NotFound` (for a run the caller takes no part in and
    may not read), `InvalidInput`, `OverQuota`, `ModelFailed`, `Busy`.
    """
    scope = command.scope or default_scope(caller)
    async with world.ledger.reading() as unit:
        _, draft, done = await _admitted_draft(world, unit, caller, command, scope)
    if done is not None:
        return done
    prepared = await prepare(world, draft)

    async def attempt(opinions: Opinions) -> Receipt | Undecided:
        return await _written(world, caller, command, replace(prepared, opinions=opinions))

    return await judged(world, attempt)


async def _written(
    world: World, caller: Caller, command: Write, prepared: Prepared
) -> Receipt | Undecided:
    scope = command.scope or default_scope(caller)
    async with changing(world, command.command_id) as unit:
        # Decided again with the rows it changes: a revoke or an offer may have come meanwhile.
        admitted, draft, done = await _admitted_draft(world, unit, caller, command, scope)
        if done is not None:
            return done
        prepared = prepared.redrafted(draft)
        by = author(admitted, "Write", "write", scope)
        receipt = await commit_draft(world, unit, prepared, by, reader=admitted)
        if isinstance(receipt, Undecided):
            return receipt
        await once.keep(unit, caller, command.command_id, command, receipt)
    return told(world, admitted, draft, receipt)


async def _admitted_draft(
    world: World, unit: Unit, caller: Caller, command: Write, scope: ScopeName
) -> tuple[Admitted, Draft, Receipt | None]:
    """The caller as admitted now, the draft as it would be now, the receipt if it is done."""
    admitted = await admit(world, unit, caller)
    admitted.require("write", scope)
    taken_over = await inherited(unit, admitted, command.run_id)
    draft = _draft(admitted, command, scope, taken_over)
    if not draft.source.trusted and await set_apart(world, unit, admitted, scope):
        draft = draft.model_copy(update={"status": "quarantined"})
    done = await once.replayed(unit, caller, command.command_id, command, Receipt)
    if done is not None:
        done = told(world, admitted, draft, done)
    else:
        admitted.require_ahead("expires_at", command.expires_at)
    return admitted, draft, done


def told(world: World, admitted: Admitted, draft: Draft, receipt: Receipt) -> Receipt:
    """The receipt as far as its caller may know it: without `read`, that it was stored."""
    if admitted.may_read(draft.audience, draft.labels):
        return receipt
    parts = len(split(without_secrets(draft, known_privacy(world, draft.tenant))[0].content))
    return receipt.model_copy(update={"result": "stored", "ids": own_ids(draft, parts), "why": ""})


def default_scope(caller: Caller) -> ScopeName:
    """Where a statement goes that names no scope: the acting user's, else the caller's own."""
    return caller.acting_scope or caller.principal


def source_kind(admitted: Admitted, said_by: SourceKind = "agent") -> SourceKind:
    """Whose word it is. An agent may quote a user only if its ticket names one."""
    if admitted.access.may("administer", "global"):
        return "operator"
    if admitted.caller.agent is None:
        return "user"
    if said_by == "user" and admitted.caller.user is None:
        raise InvalidInput(
            "`source` `user` needs a ticket that names the user; this one names an agent alone",
            field="source",
        )
    return said_by


def _draft(admitted: Admitted, command: Write, scope: ScopeName, taken_over: Offered) -> Draft:
    caller = admitted.caller
    kind = source_kind(admitted, command.source)
    labels = tuple(Label(name) for name in union([command.labels, taken_over.labels]))
    if len(labels) > TAGS_MAX:
        raise InvalidInput(
            f"`labels` would be {len(labels)}, with those of what was offered; at most {TAGS_MAX}",
            field="labels",
        )
    return Draft(
        tenant=caller.tenant,
        principal=caller.principal,
        acting_scope=caller.acting_scope,
        verb="write",
        command_id=command.command_id,
        scope=scope,
        audience=checked_audience([*written_audience(scope, caller), *taken_over.audience]),
        labels=labels,
        content=command.content,
        type=command.type,
        layer=command.layer,
        steps=command.steps,
        scene=command.scene,
        topic=command.topic,
        confidence=command.confidence,
        importance=command.importance,
        tags=command.tags,
        project=command.project,
        expires_at=command.expires_at,
        source=Source(
            kind=kind,
            weight=SOURCE_WEIGHTS["import"] if taken_over.untrusted else SOURCE_WEIGHTS[kind],
            trusted=not taken_over.untrusted and kind not in OUTSIDE,
            agent=caller.agent,
            user=caller.user,
            session=caller.session,
            run=command.run_id,
        ),
    )
