"""Room in a scope for one more memory: the least kept go to the archive before one is refused.

What nobody has stood by goes first, for anybody's word: text from outside, and what is quarantined.
Beyond that only in the author's own scope (its principal's, or that of the user it acts for), and
for what the product keeps itself: elsewhere nobody's write may push out what others rely on. Text
from outside pushes out nothing but its like. An author who may not read a scope makes no room there
and is told nothing of it: so many of its memories are kept there, whatever others wrote.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from hindsight_ray.core.audience import contained_keys, doubted_keys
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.scope import user_scope
from hindsight_ray.errors import OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service import away
from hindsight_ray.service.commit import Author
from hindsight_ray.service.maintain import LIVING, make_room
from hindsight_ray.service.world import World

_SPARE = 100  # one part of so many of a full scope is archived at once, so that few writes pay


async def room_for(
    world: World, unit: Unit, draft: Draft, by: Author, parts: int, *, spare: Collection[str]
) -> int:
    """See that `parts` more fit; return how many had to be archived for that, none of `spare`.

    Counts and archives only what asks nothing of a reader that the draft does not. Raises
    `OverQuota` where too little of that may be archived, or the scope's archive is full.
    """
    limit = world.settings.memories_per_scope_max
    if await unit.memories.change_number(draft.tenant) + parts <= limit:
        return 0  # each memory has come with a change: there cannot be as many
    rows = await beside(unit, draft.tenant, draft.scope, draft.audience, by.now)
    lacking = await unit.memories.count(rows) + parts - limit
    if lacking <= 0:
        return 0
    await away.check(world, unit, rows, draft.scope, lacking)
    doubted = draft.status == "quarantined" or not draft.source.trusted
    own, wanted = _own(draft), max(lacking, limit // _SPARE)
    made = 0
    if own or not doubted:
        made = await _without_doubted(unit, rows, by, wanted, spare)
    if own and not doubted and made < lacking:
        everything = replace(rows, statuses=LIVING | {"pending"})
        weight = draft.source.weight
        made += len(await make_room(unit, everything, by, wanted - made, spare, weight=weight))
    if made < lacking:
        raise OverQuota(
            f"`scope` {draft.scope!r} holds {limit} memories, as many as it may;"
            " forget some or raise `memories_per_scope_max`",
            scope=draft.scope,
            limit=limit,
        )
    return made


async def beside(
    unit: Unit, tenant: str, scope: str, audience: Sequence[str], now: datetime
) -> RowFilter:
    """What counts of a scope for a record of this audience: what asks nothing of a reader that it
    does not, so that no refusal tells of other records."""
    return RowFilter(
        tenant=tenant,
        now=now,
        keys=contained_keys(await unit.keys.all(tenant), audience),
        scopes=frozenset({scope}),
        statuses=frozenset({"active", "pending", "quarantined", "outdated"}),
    )


async def room_unread(world: World, unit: Unit, draft: Draft, by: Author, parts: int) -> None:
    """Raise `OverQuota` where an author leaves too much in a scope that it may not read.

    What counts is what it made there itself, wherever that is by now: a refusal that followed from
    what others wrote would tell of it.
    """
    limit = world.settings.unread_per_author_max
    if await unit.memories.change_number(draft.tenant) + parts <= limit:
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
    unit: Unit, rows: RowFilter, by: Author, count: int, spare: Collection[str]
) -> int:
    """Archive what is set apart, then what is from outside and only marked; return how many."""
    apart = replace(rows, statuses=frozenset({"quarantined"}))
    made = len(await make_room(unit, apart, by, count, spare))
    catalogue = await unit.keys.all(rows.tenant)
    marked = replace(rows, statuses=LIVING, keys=doubted_keys(catalogue) & (rows.keys or set()))
    return made + len(await make_room(unit, marked, by, count - made, spare))


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
