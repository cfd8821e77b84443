"""What every ledger counts for quotas: by scope, in archives, and by who made a memory."""

from dataclasses import replace

import pytest

from hindsight_ray.ports import Ledger
from hindsight_ray.service.least import everything
from tests.records import memory_of, name_of, put
from tests.worlds import START, TENANT


@pytest.mark.covers("life.archive_quota", "G9.unread")
async def test_memories_are_counted_by_where_they_are_and_who_made_them(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for word, fields in (
            ("a", {}), ("b", {"status": "archived"}), ("c", {"status": "quarantined"}),
            ("d", {"scope": "user:bob"}), ("e", {}), ("f", {"tenant": "other"}),
        ):  # fmt: skip
            await put(unit, memory_of(word, **fields))
        await unit.memories.forget(TENANT, name_of("e"), by="user:bob", why="asked", at=START)
        key = await unit.keys.ensure(TENANT, ("global",))
        changed = memory_of("a", revision=2)
        await unit.memories.put(changed, None, key=key, terms={}, by="user:bob", why="his word")
    async with ledger.reading() as unit:
        assert await unit.upkeep.scopes(TENANT) == {"global": 2, "user:bob": 1}
        assert await unit.upkeep.scopes(TENANT, archived=True) == {"global": 1}
        assert await unit.upkeep.first_said(TENANT, "global", "agent:writer") == 3
        assert await unit.upkeep.first_said(TENANT, "global", "user:bob") == 0
        assert await unit.upkeep.first_said(TENANT, "user:bob", "agent:writer") == 1
        rows = replace(everything(TENANT), scopes=frozenset({"global"}))
        assert await unit.upkeep.made(rows, "agent:writer") == 3
        assert await unit.upkeep.made(rows, "user:bob") == 0
        apart = replace(rows, statuses=frozenset({"quarantined"}))
        assert await unit.upkeep.made(apart, "agent:writer") == 1
        assert await unit.upkeep.made(replace(rows, keys=frozenset()), "agent:writer") == 0
