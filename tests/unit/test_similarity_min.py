"""The least similarity of the vector route: what is left out is counted, as far as one may read."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Search, Write
from hindsight_ray.domain.settings import Settings
from hindsight_ray.service.search import search
from hindsight_ray.service.write import write
from tests.worlds import Staged, world


@pytest.fixture(params=[None, 0.5])
async def home(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Staged]:
    async with world(tmp_path, settings=Settings(search_similarity_min=request.param)) as staged:
        for user, texts in (
            ("alice", ("The depot opens at nine", "Invoices are due on Friday")),
            ("bob", ("Parcels wait in the lobby",)),
        ):
            caller = await staged.caller(user=user)
            for number, text in enumerate(texts):
                named = {"command_id": f"{user}{number}", "content": text}
                await write(staged.world, caller, Write.model_validate(named))
        yield staged


async def _found(home: Staged, caller: Caller, query: str) -> Found:
    return await search(home.world, caller, Search.model_validate({"query": query}))


@pytest.mark.covers("search.similarity_min")
async def test_what_is_too_unlike_is_left_out_and_counted_unless_words_find_it(
    home: Staged,
) -> None:
    alice = await home.caller(user="alice")
    strict = home.world.settings.search_similarity_min is not None
    near = await _found(home, alice, "The depot opens at nine")
    assert near.hits[0].memory.content == "The depot opens at nine"
    assert len(near.hits) == (1 if strict else 2)
    assert near.below_similarity_min == (1 if strict else 0)
    far = await _found(home, alice, "zebra")
    assert len(far.hits) == (0 if strict else 2)
    assert far.below_similarity_min == (2 if strict else 0)
    by_word = await _found(home, alice, "nine zebras and a xylophone")
    assert "The depot opens at nine" in [hit.memory.content for hit in by_word.hits]
    (hit,) = [hit for hit in by_word.hits if "nine" in hit.memory.content]
    assert ("vector" in hit.routes) is not strict


@pytest.mark.covers("search.similarity_min", "G1.search")
async def test_what_one_may_not_read_is_not_counted(home: Staged) -> None:
    carol = await home.caller(user="carol")
    nothing = await _found(home, carol, "zebra")
    assert (nothing.hits, nothing.below_similarity_min) == ((), 0)
