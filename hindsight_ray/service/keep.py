"""How a draft becomes a memory: masked, gated, split, embedded, compared, committed.

`keep` is the entry for whatever stores what somebody else decided (reviews); `write` and `promote`
use its two halves, `prepare` outside any transaction and `commit_draft` within one:

    receipt = await keep(world, draft, reader=None)

The draft says everything (scope, audience, labels, source, scene, status); whoever makes it has
authorised it. `reader` is the admitted caller who will see the receipt: if they may not read the
draft's audience, nothing is compared and they learn `stored`. None is the product itself, on a
reviewer's job: the draft is compared with whatever asks nothing of a reader that it does not ask,
and what its receipt tells is the service's to guard. Ids follow from the draft's tenant, owner,
verb, command id and part; the same command again is answered by its first receipt, whatever it
holds by then, so derive `command_id` from what the draft is about (run, review, place in it).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hindsight_ray.core import verdict as verdicts
from hindsight_ray.core.admission import Gate, gate, split, without_secrets
from hindsight_ray.core.audience import contained_keys
from hindsight_ray.core.confirm import confirmed
from hindsight_ray.core.digest import digest, memory_uuid
from hindsight_ray.core.nearest import worth_reading
from hindsight_ray.core.opinion import Opinions
from hindsight_ray.core.verdict import Terms, Verdict, judge
from hindsight_ray.domain.access import Revision
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.privacy import SECRETS_ALONE, Privacy
from hindsight_ray.domain.receipt import Receipt, WriteResult
from hindsight_ray.domain.rows import RowFilter, Stated
from hindsight_ray.errors import Unavailable
from hindsight_ray.ports import Unit, Vector
from hindsight_ray.service import commit, foreseen, judging
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.basis import Basis
from hindsight_ray.service.commit import Author
from hindsight_ray.service.foreseen import Foreseen, Part
from hindsight_ray.service.privacy import let_in
from hindsight_ray.service.room import room_for, room_unread, with_room_made
from hindsight_ray.service.settle import changing
from hindsight_ray.service.unshown import hidden_among, unnamed
from hindsight_ray.service.world import World


@dataclass(frozen=True, slots=True)
class Prepared:
    """A draft without secrets, its parts and their vectors: all that needs no transaction."""

    draft: Draft
    parts: tuple[str, ...]
    vectors: Vector
    gate: Gate
    secrets: int
    privacy: Privacy = SECRETS_ALONE
    foreseen: Foreseen | None = None
    opinions: Opinions = field(default_factory=Opinions)

    def redrafted(self, draft: Draft) -> "Prepared":
        """The same texts under what has been decided anew: audience, labels, source, status."""
        return replace(self, draft=without_secrets(draft, self.privacy)[0])


async def prepare(world: World, draft: Draft) -> Prepared:
    """Mask secrets, ask the confidence gates, split and embed. Raises `ModelFailed`."""
    clean, secrets, privacy = let_in(world, draft)
    parts = split(clean.content)
    vectors = await world.embedder.embed(parts, "passage")
    prepared = Prepared(clean, parts, vectors, gate(clean, world.settings), secrets, privacy)
    if world.store.shares_ledger or clean.layer == "episodic":
        return prepared
    return replace(prepared, foreseen=await _foreseen(world, prepared))


async def _foreseen(world: World, prepared: Prepared) -> Foreseen | None:
    """Ask the store ahead of the transaction; None if it is away and changes are queued."""
    try:
        async with world.ledger.reading() as unit:
            rows = await _comparable_rows(unit, prepared, world.clock.now())
            return await foreseen.look(world, unit, rows, prepared.draft.audience, prepared.vectors)
    except Unavailable:
        if world.settings.store_outage != "queue":
            raise
        return None


async def keep(
    world: World, draft: Draft, *, reader: Admitted | None, basis: Basis | None = None
) -> Receipt:
    """Keep a draft in a transaction of its own. See the module's text.

    Raises what `basis` does, what the draft was made from, if that is no longer there.
    """
    prepared = await prepare(world, draft)
    return await judging.judged(
        world, lambda known: _kept(world, draft, replace(prepared, opinions=known), reader, basis)
    )


async def _kept(
    world: World, draft: Draft, prepared: Prepared, reader: Admitted | None, basis: Basis | None
) -> Receipt | judging.Undecided:
    async with changing(world, draft.command_id) as unit:
        if basis is not None:
            await basis.require(unit)
        known = await unit.commands.get(draft.tenant, draft.owner, draft.command_id)
        if known is not None:
            return Receipt.model_validate_json(known[1])
        revision = (await unit.policy.standing(draft.tenant, "")).revision
        by = Author(draft.principal, draft.verb, "", revision, world.clock.now())
        receipt = await commit_draft(world, unit, prepared, by, reader=reader)
        if isinstance(receipt, judging.Undecided):
            return receipt
        await unit.commands.put(
            draft.tenant,
            draft.owner,
            draft.command_id,
            digest(draft),
            receipt.model_dump_json(),
        )
    return receipt


async def commit_draft(
    world: World, unit: Unit, prepared: Prepared, by: Author, *, reader: Admitted | None
) -> Receipt | judging.Undecided:
    """Compare, decide and commit within `unit`; the receipt names what its reader may be shown, but
    tells all to one who may not read the scope: mind who gets it.

    `Undecided`, which `judging.judged` answers, is returned before anything is changed.
    """
    draft = prepared.draft
    if prepared.gate.verdict == "drop":
        return _receipt(draft, by, "refused", (), prepared.gate.why)
    reads = reader is None or reader.may_read(draft.audience, draft.labels)
    judged = (
        await _judged(world, unit, prepared, by) if reads else [Verdict() for _ in prepared.parts]
    )
    asks = tuple(pair for verdict in judged for pair in verdict.asks)
    if asks and judging.has_judge(world):
        return judging.Undecided(draft.tenant, asks)
    known = None
    if all(verdict.duplicate_of is not None for verdict in judged):
        known = await _found_again(unit, draft, judged, by)
    elif len(judged) == 1 and judged[0].merged is not None:
        known = await _merge(unit, prepared, judged[0], by)
    if known is not None:
        if reader is not None and await hidden_among(unit, reader, known.ids):
            known = _as_new(prepared, judged, by)
        return known if reader is None else await unnamed(unit, reader, known)
    made = 0
    if reader is None or reader.may_read(draft.audience):  # whatever labels the draft bears
        touched = {m.id for verdict in judged for m in (*verdict.outdated, *verdict.set_aside)}
        parts = len(prepared.parts)
        made = await room_for(world, unit, draft, by, parts, reader=reader, spare=touched)
    else:
        await room_unread(world, unit, draft, by, len(prepared.parts))
    receipt = with_room_made(await _store(world, unit, prepared, judged, by), made)
    return receipt if reader is None else await unnamed(unit, reader, receipt)


def own_ids(draft: Draft, parts: int) -> tuple[MemoryUuid, ...]:
    """The ids that the draft's records get, whatever is decided about them."""
    names = (draft.tenant, draft.owner, draft.verb, draft.command_id)
    return tuple(memory_uuid(*names, part) for part in range(parts))


async def _judged(world: World, unit: Unit, prepared: Prepared, by: Author) -> list[Verdict]:
    """A verdict for each part. Dated records (episodes) are never taken for one another."""
    draft = prepared.draft
    if draft.layer == "episodic":
        return [Verdict() for _ in prepared.parts]
    rows = await _comparable_rows(unit, prepared, by.now)
    window_s = world.settings.conflict_window_s
    has_judge = judging.has_judge(world)
    terms = Terms(world.embedder.space, by.now, window_s, prepared.opinions, has_judge)
    decisive = ("active", _aim(prepared))  # what waits may be confirmed
    on_topic: Sequence[Memory] = ()
    if draft.topic is not None and _aim(prepared) == "active":
        topical = replace(rows, statuses=rows.statuses | {"pending"})
        topical_rows = await unit.memories.on_topic(topical, draft.topic)
        on_topic = [memory for memory in topical_rows if verdicts.comparable(draft, memory)]
    found: list[Verdict] = []
    for part, content in enumerate(prepared.parts):
        near = await _near(world, unit, prepared, rows, part)
        compared = worth_reading(draft, content, near, decisive, terms)
        aimed = [kept for kept in compared if kept.memory.status in decisive]
        waiting = [kept for kept in compared if kept.memory.status not in decisive]
        verdict = judge(draft, content, aimed, on_topic, terms)
        found.append(confirmed(draft, content, verdict, waiting, terms) if waiting else verdict)
    return found


async def _comparable_rows(unit: Unit, prepared: Prepared, now: datetime) -> RowFilter:
    """Rows of the same scope and type whose audience is contained in the new one's.

    Active ones, and those that wait for a person: the new one may be such a one again.
    """
    draft = prepared.draft
    catalogue = await unit.keys.all(draft.tenant)
    aim = _aim(prepared)
    waiting: frozenset[Status] = frozenset() if aim == "quarantined" else frozenset({"pending"})
    asked: frozenset[Status] = frozenset({"active", aim})
    return RowFilter(
        tenant=draft.tenant,
        now=now,
        keys=contained_keys(catalogue, draft.audience),
        scopes=frozenset({draft.scope}),
        types=frozenset({draft.type}),
        statuses=asked | waiting,
    )


async def _near(
    world: World, unit: Unit, prepared: Prepared, rows: RowFilter, part: int
) -> list[tuple[Stated, float]]:
    draft = prepared.draft
    compared = Part(rows, draft.audience, part, prepared.vectors[part])
    near = await foreseen.nearest(world, unit, prepared.foreseen, compared)
    records = await unit.memories.stated(draft.tenant, [row.ref.id for row in near])
    return [(records[row.ref.id], row.similarity) for row in near if row.ref.id in records]


async def _found_again(unit: Unit, draft: Draft, judged: Sequence[Verdict], by: Author) -> Receipt:
    """Nothing is stored; the kept ones are re-verified where their readers are the same, and are
    the new source's word from then on where that counts for more."""
    kept = [v.duplicate_of for v in judged if v.duplicate_of is not None]
    ids = tuple(dict.fromkeys(memory.id for memory in kept))
    taken = {v.taken_over.id: v.taken_over for v in judged if v.taken_over is not None}
    for memory in taken.values():
        following = {"revision": memory.revision + 1, "updated_at": by.now}
        await commit.put(unit, memory.model_copy(update=following), None, by, judged[0].why)
    equal = [memory.id for memory in kept if verdicts.equal_readers(draft, memory)]
    if equal:
        await unit.stats.verify(draft.tenant, equal, by.now)
    return _receipt(draft, by, "duplicate", ids, judged[0].why)


async def _merge(unit: Unit, prepared: Prepared, verdict: Verdict, by: Author) -> Receipt:
    merged = verdict.merged
    assert merged is not None  # noqa: S101 - the caller has looked
    following = merged.model_copy(update={"revision": merged.revision + 1, "updated_at": by.now})
    vector = prepared.vectors[0] if verdict.new_text else None
    await commit.put(unit, following, vector, by, f"merged: {verdict.why}")
    await unit.stats.verify(merged.tenant, [merged.id], by.now)
    return _receipt(prepared.draft, by, "merged", (merged.id,), verdict.why)


async def _store(
    world: World, unit: Unit, prepared: Prepared, judged: Sequence[Verdict], by: Author
) -> Receipt:
    draft = prepared.draft
    ids = own_ids(draft, len(prepared.parts))
    status = _aim(prepared)
    if status == "active" and any(verdict.pending for verdict in judged):
        status = "pending"
    whole = _whole(world, prepared, by, ids, status=status)
    reasons = [prepared.gate.why, *(verdict.why for verdict in judged)]
    kept_for = commit.joined([draft.told, *(reasons if status == "pending" else ())])
    for part, content in enumerate(prepared.parts):
        memory = _part(whole, ids, part, content, judged[part].tags)
        await commit.put(unit, memory, prepared.vectors[part], by, kept_for)
    outdated = _touched(judged, "outdated", ids) if status == "active" else []
    for kept in outdated:
        await _restate(unit, kept, "outdated", by, superseded_by=ids[0])
    for kept in _touched(judged, "set_aside", ids) if _aim(prepared) == "active" else ():
        await _restate(unit, kept, "pending", by)
    why = _why(prepared, reasons, status)
    result: WriteResult = "stored"
    if status != "active":
        result = "pending"
    elif outdated:
        result = "superseded"
    elif len(ids) > 1:
        result = "split"
    return _receipt(draft, by, result, ids, why)


def _as_new(prepared: Prepared, judged: Sequence[Verdict], by: Author) -> Receipt:
    """What is told to who may not be shown the record that says the same: as if it were new."""
    status, otherwise = _aim(prepared), [verdict.otherwise for verdict in judged]
    stored: WriteResult = "stored" if len(judged) == 1 else "split"
    result: WriteResult = "pending" if status != "active" or any(otherwise) else stored
    why = _why(prepared, [prepared.gate.why, *otherwise], status)
    return _receipt(prepared.draft, by, result, own_ids(prepared.draft, len(judged)), why)


def _why(prepared: Prepared, reasons: Sequence[str], status: Status) -> str:
    apart = "untrusted text: set apart until somebody with `review` accepts it"
    masked = f"secrets masked: {prepared.secrets}" if prepared.secrets else ""
    return commit.joined([*reasons, apart if status == "quarantined" else "", masked])


def _touched(judged: Sequence[Verdict], which: str, own: Sequence[str]) -> list[Memory]:
    """Kept records that any part's verdict touches, each once."""
    found = {
        memory.id: memory
        for verdict in judged
        for memory in (verdict.outdated if which == "outdated" else verdict.set_aside)
    }
    return [memory for name, memory in found.items() if name not in own]


async def _restate(
    unit: Unit,
    kept: Memory,
    status: Status,
    by: Author,
    superseded_by: MemoryUuid | None = None,
) -> None:
    changes = {
        "status": status,
        "superseded_by": superseded_by,
        "revision": kept.revision + 1,
        "updated_at": by.now,
    }
    why = "superseded" if status == "outdated" else "contradicted within the window"
    await commit.put(unit, kept.model_copy(update=changes), None, by, why)


def _part(
    whole: Memory, ids: Sequence[MemoryUuid], part: int, content: str, tags: Sequence[str]
) -> Memory:
    """One part's record. A procedure's steps stay with the first."""
    if part == 0 and not tags:
        return whole  # it is the first one's record already
    changes: dict[str, object] = {"id": ids[part], "content": content, "part": part}
    changes["tags"] = (*whole.tags, *tags)
    if part > 0:
        changes["steps"] = ()
    return Memory.model_validate(dict(whole) | changes)


def _whole(
    world: World, prepared: Prepared, by: Author, ids: Sequence[MemoryUuid], *, status: Status
) -> Memory:
    """What all parts of the draft share, as the first one's record."""
    draft = prepared.draft
    return Memory(
        id=ids[0],
        revision=1,
        tenant=draft.tenant,
        scope=draft.scope,
        audience=draft.audience,
        content=prepared.parts[0],
        type=draft.type,
        layer=draft.layer,
        steps=draft.steps,
        scene=draft.scene,
        topic=draft.topic,
        confidence=draft.confidence,
        importance=draft.importance,
        status=status,
        tags=draft.tags,
        labels=tuple(sorted(set(draft.labels))),
        project=draft.project,
        created_at=by.now,
        updated_at=by.now,
        expires_at=draft.expires_at,
        source=draft.source,
        derived_from=draft.derived_from,
        parts=len(ids),
        whole=ids[0] if len(ids) > 1 else None,
        embedding_model=world.embedder.space.model,
    )


def _aim(prepared: Prepared) -> Status:
    """The status that the statement gets at best."""
    if prepared.draft.status == "quarantined":
        return "quarantined"
    return "pending" if prepared.gate.verdict == "pending" else "active"


def _receipt(
    draft: Draft, by: Author, result: WriteResult, ids: tuple[MemoryUuid, ...], why: str
) -> Receipt:
    return Receipt(
        command_id=draft.command_id,
        result=result,
        ids=ids,
        revision=Revision(by.revision),
        why=why,
    )
