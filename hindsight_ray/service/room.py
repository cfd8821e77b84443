"""Room in a scope for one more memory: the least kept go to the archive before one is refused.

What nobody has stood by goes first, for anybody's word: text from outside, and what is quarantined.
Beyond that only in the author's own scope (its principal's, or that of the user it acts for), and
for what the product keeps itself: elsewhere nobody's write may push out what others rely on. Text
from outside pushes out nothing but its like. An author who may not read a scope makes no room there
and is told nothing of it: so many of its memories are kept there, whatever others wrote.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from hindsight_ray.core.audience import contained_keys, doubted_keys, readable_keys
from hindsight_ray.core.least import said_by
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.memory import Memory, Status
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.scope import user_scope
from hindsight_ray.errors import OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service import away
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.commit import Author
from hindsight_ray.service.maintain import LIVING, make_room
from hindsight_ray.service.seen import ANSWERED, shows
from hindsight_ray.service.world import World

_HELD: frozenset[Status] = frozenset({"active", "pending", "quarantined", "outdated"})
_SPARE = 100  # one part of so many of a full scope is archived at once, so that few writes pay


@dataclass(frozen=True, slots=True)
class Beside:
    """What counts of a scope for a record of some audience: what asks nothing of a reader that it
    does not, and of that what its author may be shown or made itself. So no refusal tells of other
    records; what lies over the quota beyond that is upkeep's to put right.

    `reader` is None for what the product keeps itself, for which all of it counts.
    """

    rows: RowFilter
    scope: str
    principal: str
    reader: Admitted | None

    async def count(self, unit: Unit, most: int) -> int:
        """How many; any number up to `most` may stand for one that is no larger."""
        held = await unit.memories.count(self.rows)
        if self.reader is None or held <= most:
            return held
        access, keys = self.reader.access, self.rows.keys or frozenset()
        seen = replace(
            self.rows,
            keys=keys & readable_keys(await unit.keys.all(self.rows.tenant), access),
            denied_labels=access.denied_labels,
            statuses=_HELD if access.may("review", self.scope) else ANSWERED,
        )
        shown = await unit.memories.count(seen)
        if shown == held:
            return held
        made = [await unit.upkeep.made(rows, self.principal) for rows in (self.rows, seen)]
        return shown + made[0] - made[1]

    def counts(self, memory: Memory) -> bool:
        """Whether a memory of these rows does."""
        reader = self.reader
        return reader is None or shows(reader, memory) or said_by(memory.source) == self.principal


async def beside(unit: Unit, like: Draft | Memory, by: Author, reader: Admitted | None) -> Beside:
    """What counts for `reader`, who may read the record's audience."""
    rows = RowFilter(
        tenant=like.tenant,
        now=by.now,
        keys=contained_keys(await unit.keys.all(like.tenant), like.audience),
        scopes=frozenset({like.scope}),
        statuses=_HELD,
    )
    return Beside(rows, like.scope, by.principal, reader)


async def room_for(
    world: World,
    unit: Unit,
    draft: Draft,
    by: Author,
    parts: int,
    *,
    reader: Admitted | None,
    spare: Collection[str],
) -> int:
    """See that `parts` more fit; return how many had to be archived for that, none of `spare`.

    Counts and archives only what is `Beside` the draft. Raises `OverQuota` where too little of that
    may be archived, or the scope's archive is full.
    """
    limit = world.settings.memories_per_scope_max
    if await away.surely_fits(unit, draft.tenant, parts, limit):
        return 0
    known = await beside(unit, draft, by, reader)
    lacking = await known.count(unit, limit - parts) + parts - limit
    if lacking <= 0:
        return 0
    if reader is None:
        await away.check(world, unit, known.rows, draft.scope, lacking)
    else:
        await away.room_away(world, unit, reader, draft.scope, lacking)
    doubted = draft.status == "quarantined" or not draft.source.trusted
    own, wanted = _own(draft), max(lacking, limit // _SPARE)

    def among(memory: Memory) -> bool:
        return memory.id not in spare and known.counts(memory)

    made = 0
    if own or not doubted:
        made = await _without_doubted(unit, known.rows, by, wanted, among)
    if own and not doubted and made < lacking:
        everything = replace(known.rows, statuses=LIVING | {"pending"})
        weight = draft.source.weight
        count = wanted - made
        made += len(await make_room(unit, everything, by, count, among=among, weight=weight))
    if made < lacking:
        raise OverQuota(
            f"`scope` {draft.scope!r} holds {limit} memories, as many as it may;"
            " forget some or raise `memories_per_scope_max`",
            scope=draft.scope,
            limit=limit,
        )
    return made


async def room_unread(world: World, unit: Unit, draft: Draft, by: Author, parts: int) -> None:
    """Raise `OverQuota` where an author leaves too much in a scope that it may not read.

    What counts is what it made there itself, wherever that is by now: a refusal that followed from
    what others wrote would tell of it.
    """
    limit = world.settings.unread_per_author_max
    if await away.surely_fits(unit, draft.tenant, parts, limit):
        return
    if await unit.upkeep.first_said(draft.tenant, draft.scope, by.principal) + parts <= limit:
        return
    raise OverQuota(
        f"`{by.principal}` has left as many memories in `scope` {draft.scope!r} as it may without"
        " `read` there",
        scope=draft.scope,
        limit=limit,
    )


async def _without_doubted(
    unit: Unit, rows: RowFilter, by: Author, count: int, among: Callable[[Memory], bool]
) -> int:
    """Archive what is set apart, then what is from outside and only marked; return how many."""
    apart = replace(rows, statuses=frozenset({"quarantined"}))
    made = len(await make_room(unit, apart, by, count, among=among))
    catalogue = await unit.keys.all(rows.tenant)
    marked = replace(rows, statuses=LIVING, keys=doubted_keys(catalogue) & (rows.keys or set()))
    return made + len(await make_room(unit, marked, by, count - made, among=among))


def with_room_made(receipt: Receipt, archived: int) -> Receipt:
    """The receipt, saying how many memories were put away for what it is about."""
    if archived == 0:
        return receipt
    said = f"{archived} of the least kept archived to make room"
    return receipt.model_copy(update={"why": f"{receipt.why}; {said}" if receipt.why else said})


def _own(draft: Draft) -> bool:
    if draft.verb == "review" or draft.scope == draft.principal:
        return True
    return draft.source.user is not None and draft.scope == user_scope(draft.source.user)
