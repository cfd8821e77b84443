"""Another embedding model where a Weaviate searches: a collection beside, then in its place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import hindsight_ray as hr
from hindsight_ray.adapters.stores.weaviate.beside import WeaviateBeside
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.client.memory import Memory
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.errors import HindsightError, SpaceMismatch, StorageFailed
from hindsight_ray.ports import Vector
from tests.contracts.test_store_by_settings import KEY, named
from tests.crash.test_killed_reembedding import killed_after
from tests.places import Places, asked, new_places, places_of
from tests.servers.weaviate import Weaviate

_THINGS = (
    "ropes", "boots", "lamps", "maps", "tents", "stoves",
    "gloves", "axes", "cups", "skis", "nets", "oars",
)  # fmt: skip
_TEXTS = [f"Locker {n} holds the {thing} of team {thing[0]}" for n, thing in enumerate(_THINGS)]
_LATE = "The harbour opens at six in summer"
_OLD, _NEW = "HindsightOf_hashed", "HindsightOf_static"


@pytest.fixture(autouse=True)
def _key(weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, weaviate_server.api_key)


async def _alice(hindsight: Hindsight) -> Memory:
    return hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", user="alice"))


async def _begin(home: Path, **given: Any) -> list[str]:
    async with hr.open(home, **given) as hindsight:
        memory = await _alice(hindsight)
        return [(await memory.write(text)).ids[0] for text in _TEXTS]


async def _meanwhile(home: Path, ids: Sequence[str]) -> None:
    """Write, forget and put away in the space that is in use, whatever is built beside."""
    async with hr.open(home) as hindsight:
        memory = await _alice(hindsight)
        await memory.write(_LATE)
        await memory.forget(ids[1])
        await memory.ask(c.Archive.model_validate({"memory_id": ids[2], "command_id": "away"}))
        found = await memory.search(_TEXTS[0])
        assert "vector" not in found.degraded
        assert hindsight.settings.embedding == "hashed"


async def _move(home: Path, tenant: str = "acme") -> None:
    async with hr.open(home) as hindsight:
        operator = hindsight.operator(tenant)
        while (await operator.reembed("static")).state != "done":
            """The next slice."""


async def _near(home: Path) -> dict[str, list[str]]:
    """By each text: what the vector route names, nearest first."""
    async with hr.open(home) as hindsight:
        memory = await _alice(hindsight)
        assert hindsight.settings.embedding == "static"
        answers: dict[str, list[str]] = {}
        for text in [*_TEXTS, _LATE]:
            found = await memory.search(text, k=20)
            assert found.degraded == ()
            ranked = sorted(
                (hit.routes["vector"], hit.memory.content)
                for hit in found.hits
                if "vector" in hit.routes
            )
            answers[text] = [content for _, content in ranked]
        return answers


def _new_in(server: Weaviate, before: Places, like: str) -> set[str]:
    return {place for _, place in new_places(server, before, like)}


@pytest.mark.covers("space.apart")
@pytest.mark.parametrize("line", ["building 6", "building 12"])
async def test_a_killed_change_on_weaviate_goes_on_to_what_an_embedded_home_answers(
    tmp_path: Path, weaviate_server: Weaviate, line: str
) -> None:
    apart, here = tmp_path / "apart", tmp_path / "here"
    before = places_of(weaviate_server)
    ids = await _begin(apart, **named(weaviate_server))
    killed_after(apart, line)
    await _meanwhile(apart, ids)
    await _move(apart)
    await _meanwhile_embedded(here)
    found = await _near(apart)
    assert found == await _near(here)
    assert all(_TEXTS[1] not in near for near in found.values())
    assert _new_in(weaviate_server, before, _OLD) == set()  # nothing of this home is left there
    (place,) = _new_in(weaviate_server, before, _NEW)
    held = asked(weaviate_server, f"/v1/objects?class={_NEW}&tenant={place}&limit=100")["objects"]
    assert ids[1] not in {one["properties"]["memory"] for one in held}
    assert len(held) == len(_TEXTS)


async def _meanwhile_embedded(home: Path) -> None:
    await _meanwhile(home, await _begin(home, embedding="hashed"))
    await _move(home)


@pytest.mark.covers("space.apart")
async def test_a_process_of_the_space_before_changes_nothing_and_mixes_nothing(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    home = tmp_path / "home"
    ids = await _begin(home, **named(weaviate_server))
    async with hr.open(home) as hindsight:
        memory, operator = await _alice(hindsight), hindsight.operator("acme")
        while (await operator.reembed("static")).state != "switched":
            """The next slice."""
        found = await memory.search(_TEXTS[3])
        assert found.degraded == ("vector",)
        assert found.hits
        for change in (memory.forget(ids[3]), memory.write(_LATE)):
            with pytest.raises(HindsightError) as refused:
                await change
            assert isinstance(refused.value, SpaceMismatch)


@pytest.mark.covers("space.apart")
async def test_a_space_that_was_left_by_a_killed_process_is_dropped_by_upkeep(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    home = tmp_path / "home"
    before = places_of(weaviate_server)
    await _begin(home, **named(weaviate_server))
    killed_after(home, "switched 12")
    assert _new_in(weaviate_server, before, _OLD)
    async with hr.open(home) as hindsight:
        assert (await hindsight.operator("acme").ask(c.Maintain())).done
        memory = await _alice(hindsight)
        found = await memory.search(_TEXTS[3])
        assert found.hits[0].memory.content == _TEXTS[3]
        assert "vector" in found.hits[0].routes
    assert _new_in(weaviate_server, before, _OLD) == set()
    assert _new_in(weaviate_server, before, _NEW)


@pytest.mark.covers("space.apart")
async def test_what_the_server_lost_of_a_space_that_was_built_is_told_with_the_switch(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    home = tmp_path / "home"
    before = places_of(weaviate_server)
    await _begin(home, **named(weaviate_server))
    async with hr.open(home) as hindsight:
        await hindsight.operator("acme").reembed("static")
    (place,) = _new_in(weaviate_server, before, _NEW)
    path = f"/v1/objects?class={_NEW}&tenant={place}&limit=100"
    lost = asked(weaviate_server, path)["objects"][0]
    asked(weaviate_server, f"/v1/objects/{_NEW}/{lost['id']}?tenant={place}", "DELETE")
    assert len(asked(weaviate_server, path)["objects"]) == len(_TEXTS) - 1
    await _move(home)
    held = asked(weaviate_server, path)["objects"]
    assert lost["id"] in {one["id"] for one in held}
    assert len(held) == len(_TEXTS)


@pytest.mark.covers("space.apart")
async def test_a_server_that_does_not_find_what_is_near_is_not_switched_to(
    tmp_path: Path, weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    await _begin(home, **named(weaviate_server))
    named_well = WeaviateBeside.named

    async def itself_only(
        self: WeaviateBeside, place: str, vector: Vector, limit: int
    ) -> Sequence[MemoryRef]:
        return (await named_well(self, place, vector, limit))[:1]

    with monkeypatch.context() as patched:
        patched.setattr(WeaviateBeside, "named", itself_only)
        with pytest.raises(StorageFailed, match="indexes at once"):
            await _move(home)
    async with hr.open(home) as hindsight:
        found = await (await _alice(hindsight)).search(_TEXTS[3])
        assert hindsight.settings.embedding == "hashed"
        assert found.degraded == ()
    await _move(home)
    assert (await _near(home))[_TEXTS[3]][0] == _TEXTS[3]


@pytest.mark.covers("space.apart")
async def test_nothing_is_dropped_where_the_new_space_lacks_what_it_was_told_again(
    tmp_path: Path, weaviate_server: Weaviate, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    before = places_of(weaviate_server)
    ids = await _begin(home, **named(weaviate_server))
    held_well = WeaviateBeside.held

    async def without_one(
        self: WeaviateBeside,
        place: str,
        *,
        after: MemoryRef | None = None,
        limit: int | None = None,
    ) -> Sequence[MemoryRef]:
        found = await held_well(self, place, after=after, limit=limit)
        return [ref for ref in found if ref.id != ids[0]]

    with monkeypatch.context() as patched:
        patched.setattr(WeaviateBeside, "held", without_one)
        with pytest.raises(StorageFailed, match=r"lacks 1 memories .* and 0 wait"):
            await _move(home)
    assert _new_in(weaviate_server, before, _OLD)
    await _move(home)
    assert _new_in(weaviate_server, before, _OLD) == set()
    assert (await _near(home))[_TEXTS[0]][0] == _TEXTS[0]


@pytest.mark.covers("space.apart")
async def test_who_is_erased_while_a_space_is_built_is_erased_there_too(
    tmp_path: Path, weaviate_server: Weaviate
) -> None:
    home = tmp_path / "home"
    before = places_of(weaviate_server)
    await _begin(home, **named(weaviate_server))
    async with hr.open(home) as hindsight:
        operator = hindsight.operator("acme")
        await operator.ask(c.Reembed(model="static", slice=6))
        (place,) = _new_in(weaviate_server, before, _NEW)
        path = f"/v1/objects?class={_NEW}&tenant={place}&limit=100"
        assert len(asked(weaviate_server, path)["objects"]) == 6
        await operator.ask(c.Erase.model_validate({"user": "alice"}))
        assert asked(weaviate_server, path)["objects"] == []
        await hindsight.drop_tenant("acme")
        assert _new_in(weaviate_server, before, "Hindsight") == set()
