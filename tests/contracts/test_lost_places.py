"""A server that has lost what it was told is told again; until then the ledger stands in."""

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.weaviate import schema
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Search
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.ports import Placed
from hindsight_ray.service import settle
from tests import stores, worlds
from tests.apart import counts, receipt, written
from tests.servers.weaviate import Weaviate
from tests.worlds import TENANT, Staged


class _Own(HashedEmbedder):
    """In a space of this test's own: its collection may be dropped without harm to others."""

    def __init__(self) -> None:
        self._own = replace(super().space, model=f"lost-{uuid4().hex}")

    @property
    def space(self) -> EmbeddingSpace:
        return self._own


_TEXTS = ("The database is in Dublin", "The gateway is in Paris", "The archive is in Rome")


async def _filled(staged: Staged) -> str:
    """Some memories that the store was told of; the ticket of their author."""
    token = await staged.ticket(agent="planner", user="alice")
    for number, text in enumerate(_TEXTS):
        await receipt(staged, token, written(f"w{number}", text))
    assert await counts(staged) == (0, len(_TEXTS))
    return token


async def _by_meaning(staged: Staged, token: str) -> set[str]:
    """What the vector route finds, whatever the words."""
    found = await staged.ask(token, Search(query=_TEXTS[0], k=10))
    assert isinstance(found, Found)
    return {hit.memory.content for hit in found.hits if "vector" in hit.routes}


async def _place(staged: Staged) -> str:
    async with staged.world.ledger.reading() as unit:
        place = await unit.intents.place(TENANT)
    assert place is not None
    return place


@pytest.mark.covers("store.lost")
@pytest.mark.parametrize("whole", [False, True], ids=["its place", "its collection"])
@pytest.mark.parametrize("same", [True, False], ids=["one process", "the next process"])
async def test_what_a_server_has_lost_is_found_at_once_and_told_again(
    tmp_path: Path, weaviate_server: Weaviate, *, whole: bool, same: bool
) -> None:
    own = _Own()
    first = stores.weaviate_store(weaviate_server, own.space)
    async with worlds.world(tmp_path, store=first, embedder=own) as staged:
        token = await _filled(staged)
        collection = schema.collection_name(own.space.model)
        collections = await first.collections()
        if whole:
            await collections.delete(collection)
        else:
            await collections.use(collection).tenants.remove([await _place(staged)])
        if same:
            await _goes_on(staged, token)
            return
    second = stores.weaviate_store(weaviate_server, own.space)
    async with worlds.world(tmp_path, store=second, embedder=own) as staged:
        await _goes_on(staged, await staged.ticket(agent="planner", user="alice"))


async def _goes_on(staged: Staged, token: str) -> None:
    assert await _by_meaning(staged, token) >= set(_TEXTS)
    await receipt(staged, token, written("later", "The tower is in Pisa"))
    assert await _by_meaning(staged, token) >= set(_TEXTS)
    await settle.replay_all(staged.world)
    assert await counts(staged) == (0, len(_TEXTS) + 1)
    assert await _by_meaning(staged, token) >= set(_TEXTS)


@pytest.mark.covers("store.lost")
async def test_upkeep_tells_a_server_anew_what_it_should_hold_and_does_not(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    own = _Own()
    store = stores.weaviate_store(weaviate_server, own.space)
    async with worlds.world(tmp_path, store=store, embedder=own) as staged:
        token = await _filled(staged)
        place = await _place(staged)
        (one, *_) = await store.held(place)
        await store.delete([Placed(place, MemoryRef(id=one.id, revision=one.revision))])
        assert await settle.sweep(staged.world, TENANT) == 0
        assert await _by_meaning(staged, token) >= set(_TEXTS)
        await settle.replay_all(staged.world)
        assert await counts(staged) == (0, len(_TEXTS))
        async with staged.world.ledger.reading() as unit:
            assert len(await unit.intents.settled(TENANT)) == len(_TEXTS)
