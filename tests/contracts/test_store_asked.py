"""How often a memory store on a server is asked while statements come."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from hindsight_ray.adapters.ledger.sql import scopes
from hindsight_ray.adapters.stores.weaviate import connection
from hindsight_ray.adapters.stores.weaviate import store as store_module
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.rows import Near, RowFilter
from hindsight_ray.ports import Unit, Vector
from tests import worlds
from tests.apart import receipt, written
from tests.stores import WrappedStore
from tests.worlds import Staged


class _Asked(WrappedStore):
    """Counts how often it is asked what is near."""

    times = 0

    async def nearest(
        self, unit: Unit, row_filter: RowFilter, vector: Vector, *, limit: int
    ) -> Sequence[Near]:
        self.times += 1
        return await super().nearest(unit, row_filter, vector, limit=limit)


@pytest.mark.covers("store.kept")
@pytest.mark.parametrize(("read", "asked"), [(2, 0), (0, 2)], ids=["kept", "not kept"])
async def test_a_statement_is_compared_by_the_store_until_its_scope_is_kept_here(
    tmp_path: Path,
    store: WeaviateStore,
    monkeypatch: pytest.MonkeyPatch,
    read: int,
    asked: int,
) -> None:
    monkeypatch.setattr(scopes, "ROWS_PER_ASKING", read)
    counting = _Asked(store)
    async with worlds.world(tmp_path, store=counting) as staged:
        token = await staged.ticket(agent="planner", user="alice")
        first = await receipt(staged, token, written("a", "The database is in Dublin"))
        second = await receipt(staged, token, written("b", "Bob prefers tea at noon"))
        counting.times = 0
        for name, said, kept in (
            ("c", "The database is in Dublin", first), ("d", "Bob prefers tea at noon", second),
        ):  # fmt: skip
            again = await receipt(staged, token, written(name, said))
            assert (again.result, again.ids) == ("duplicate", kept.ids)
        assert counting.times == asked


async def test_while_changes_come_the_servers_connection_is_never_idle(
    staged: Staged, store: WeaviateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await staged.ticket(agent="planner", user="alice")
    asked_s: list[float] = []
    now_s = 0.0
    ready = connection.Reached.ready

    async def counted(reached: connection.Reached) -> object:
        asked_s.append(now_s)
        return await ready(reached)

    monkeypatch.setattr(connection.Reached, "ready", counted)
    monkeypatch.setattr(store_module, "_seconds", lambda: now_s)
    for number in range(20):
        now_s += 0.9
        await receipt(staged, token, written(f"w{number}", f"Gate {number} is open"))
    gaps = [later - earlier for earlier, later in pairwise([0.9, *asked_s, now_s])]
    assert max(gaps) < 6
    assert len(set(asked_s)) < 10
    assert store.life == 0
