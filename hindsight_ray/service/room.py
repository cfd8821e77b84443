"""Room in a scope for one more memory: the least kept go to the archive before one is refused.

Only in the author's own scope (its principal's, or that of the user it acts for), and in what the
product keeps itself: elsewhere nobody's write may push out what others rely on.
"""

from collections.abc import Collection

from hindsight_ray.core.audience import contained_keys
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.scope import user_scope
from hindsight_ray.errors import OverQuota
from hindsight_ray.ports import Unit
from hindsight_ray.service.commit import Author
from hindsight_ray.service.maintain import make_room
from hindsight_ray.service.world import World

_SPARE = 100  # one part of so many of a full scope is archived at once, so that few writes pay


async def room_for(
    world: World, unit: Unit, draft: Draft, by: Author, parts: int, *, spare: Collection[str]
) -> int:
    """See that `parts` more fit; return how many had to be archived for that, none of `spare`.

    Counts and archives only what asks nothing of a reader that the draft does not. Raises
    `OverQuota` in another's scope, and where too little of that may be archived.
    """
    catalogue = await unit.keys.all(draft.tenant)
    rows = RowFilter(
        tenant=draft.tenant,
        now=by.now,
        keys=contained_keys(catalogue, draft.audience),
        scopes=frozenset({draft.scope}),
        statuses=frozenset({"active", "pending", "quarantined", "outdated"}),
    )
    limit = world.settings.memories_per_scope_max
    lacking = await unit.memories.count(rows) + parts - limit
    if lacking <= 0:
        return 0
    made = 0
    if _own(draft):
        made = len(await make_room(unit, rows, by, max(lacking, limit // _SPARE), spare))
    if made < lacking:
        raise OverQuota(
            f"`scope` {draft.scope!r} holds {limit} memories, as many as it may;"
            " forget some or raise `memories_per_scope_max`",
            scope=draft.scope,
            limit=limit,
        )
    return made


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
