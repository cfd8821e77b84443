"""A caller without a type checker: what is of the wrong type is `InvalidInput` that names it."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.errors import InvalidInput
from tests.clients import Client, client

ONE = "00000000-0000-5000-8000-000000000001"
NO_LISTS: list[Any] = [5, "abc", b"abc"]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Client]:
    async with client(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("wrong", NO_LISTS)
async def test_what_is_no_list_is_named_by_every_verb_that_takes_one(
    home: Client, wrong: Any
) -> None:
    memory = await home.memory(agent="planner", user="alice")
    for field in ("steps", "tags", "labels"):
        with pytest.raises(InvalidInput, match=f"`{field}`"):
            await memory.write("Roll back first", **{field: wrong})
    with pytest.raises(InvalidInput, match="`tags`"):
        await memory.update(ONE, tags=wrong)
    with pytest.raises(InvalidInput, match="`tools`"):
        await memory.search("release", tools=wrong)
    with pytest.raises(InvalidInput, match="`searches`"):
        await memory.search_many(wrong)
    with pytest.raises(InvalidInput, match="`tools`"):
        memory.run(goal="g", tools=wrong)
    with pytest.raises(InvalidInput, match="`actions`"):
        await memory.share("global", to="role:x", actions=wrong)
    with pytest.raises(InvalidInput, match="`memory_ids`"):
        await memory.tiers(wrong)


@pytest.mark.parametrize("field", ["scopes", "types", "layers", "statuses"])
async def test_a_filter_of_a_search_that_is_no_list_is_named(home: Client, field: str) -> None:
    memory = await home.memory(agent="planner", user="alice")
    wrong: Any
    for wrong in (5, b"abc"):
        with pytest.raises(InvalidInput, match=f"`{field}"):
            await memory.search("release", **{field: wrong})


async def test_a_search_among_many_is_a_query(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    wrong: Any = [5]
    with pytest.raises(InvalidInput, match="`searches`"):
        await memory.search_many(wrong, run=ONE)


async def test_a_recorder_names_causes_and_uses_and_a_state_of_the_wrong_type(
    home: Client,
) -> None:
    memory = await home.memory(agent="planner", user="alice")
    odd: Any
    async with memory.run(goal="g") as run:
        for odd in (5, b"abc", None):
            with pytest.raises(InvalidInput, match="`causes`"):
                run.state("s", causes=odd)
        for odd in (*NO_LISTS, None, [[1]], [5]):
            with pytest.raises(InvalidInput, match="`used`"):
                run.decide("d", used=odd)
        for odd in (5, "abc", [1]):
            with pytest.raises(InvalidInput, match="`state`"):
                await run.set_working(state=odd)
        first = run.state("s")
        run.state("t", causes=first)
        assert (await run.flush()).stored == 2


async def test_an_error_of_the_callers_own_generator_stays_as_it_is(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    with pytest.raises(ZeroDivisionError):
        await memory.write("Roll back first", tags=(str(1 // n) for n in (1, 0)))


async def test_bytes_are_no_content(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    raw: Any = b"Roll back first"
    with pytest.raises(InvalidInput, match="`content`"):
        await memory.write(raw)


async def test_an_empty_command_id_is_refused_and_not_made_up(home: Client) -> None:
    memory = await home.memory(agent="planner", user="alice")
    for empty in ("", " "):
        with pytest.raises(InvalidInput, match="`command_id`"):
            await memory.write("Roll back first", command_id=empty)
    with pytest.raises(InvalidInput, match="`command_id`"):
        await memory.run(goal="g", command_id="")
