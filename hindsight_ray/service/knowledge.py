"""Let approved experience leave as plain documents, as far as whoever asks may read it."""

from dataclasses import replace

from hindsight_ray.core.knowledge import document
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import ExportKnowledge
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.domain.upkeep import Knowledge
from hindsight_ray.service import commit, offered
from hindsight_ray.service.admit import admit, row_filter
from hindsight_ray.service.seen import presentable, shows, visible
from hindsight_ray.service.world import World

_PAGE = 500


async def export(world: World, caller: Caller, command: ExportKnowledge) -> tuple[Knowledge, ...]:
    """A page of what somebody with `review` has accepted or promoted, active and readable.

    Raises `AccessDenied` for a named scope that the caller may not read, `NotFound` for an `after`
    that it may not be shown: its place among the others is its own. The audit says who took how
    much of which scope.
    """
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        if command.scope is not None:
            admitted.require("read", command.scope)
        rows = replace(
            await row_filter(world, unit, admitted),
            statuses=frozenset({"active"}),
            types=frozenset(command.types),
            scopes=None if command.scope is None else frozenset({command.scope}),
        )
        after = 0
        if command.after is not None:
            last = await visible(unit, admitted, command.after)
            after = (await unit.upkeep.named(caller.tenant, [last.id]))[last.id]
        found: list[Memory] = []
        while len(found) < command.limit:
            page = await unit.upkeep.page(rows, after=after, limit=_PAGE)
            found += [
                memory
                for _, memory in page
                if memory.source.reviewed_by is not None and shows(admitted, memory)
            ]
            if len(page) < _PAGE:
                break
            after = page[-1][0]
        shown = await presentable(unit, admitted, found[: command.limit])
        by = commit.author(admitted, "ExportKnowledge", "read", command.scope or GLOBAL)
        await commit.note(unit, caller.tenant, command.scope or "every scope", by)
        for memory in shown:
            await commit.note(unit, caller.tenant, memory.id, by)
        growth = await offered.showing_memories(unit, admitted, shown)
        await offered.grow_within(unit, admitted, [growth])
    return tuple(document(memory, memory.source.reviewed_by or "") for memory in shown)
