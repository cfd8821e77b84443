"""What a search costs as the audiences in a tenant grow: the caller reads a few of them all along.

The same home, memories and questions, before and after ten thousand audiences of others are known:
for a caller who reads a few scopes, and for one who reads all of them.
"""

import asyncio
import pathlib
import statistics
import tempfile
import time
from typing import Any

from hindsight_ray.adapters.policy.tickets import create_operator_key
from hindsight_ray.compose.embedded import world_of_home
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.caller import Caller, TicketRequest
from hindsight_ray.domain.settings import Settings
from hindsight_ray.service.search import search
from hindsight_ray.service.world import World
from hindsight_ray.service.write import write

_TENANT = "acme"
_AUDIENCES = 10_000
_MEMORIES = 300
_QUESTIONS = 120
_RATIO_MAX = 1.5


def figures(data: pathlib.Path) -> list[dict[str, Any]]:  # noqa: ARG001 - needs no logs
    """Ratios of medians, from one home."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = asyncio.run(_measured(pathlib.Path(folder)))
    return [
        _figure(
            "audience.many",
            f"p50 of a search where {_AUDIENCES:,} audiences of others are known, to where none is",
            many[0] / few[0],
            _RATIO_MAX,
        ),
        _figure(
            "audience.wide",
            "the same for a caller who reads every scope, and so asks for no audience",
            many[1] / few[1],
            _RATIO_MAX,
        ),
    ]


async def _measured(home: pathlib.Path) -> tuple[tuple[float, float], tuple[float, float]]:
    """Medians of a caller's searches and of one's who reads everything, before and after."""
    create_operator_key(home)
    opened = await world_of_home(home, Settings(embedding="hashed"))
    world = opened.world
    try:
        async with world.ledger.writing() as unit:
            await unit.policy.add_tenant(_TENANT, world.clock.now())
        alice = await _caller(world, agent="planner", user="alice")
        curator = await _caller(world, agent="curator")
        for number in range(_MEMORIES):
            content = f"note {number} of the harbour at pier {number % 7}"
            await write(world, alice, build(c.Write, _written(number, content)))
        few = await _p50_s(world, alice), await _p50_s(world, curator)
        async with world.ledger.writing() as unit:
            for number in range(_AUDIENCES):
                await unit.keys.ensure(_TENANT, (f"agent:a{number}", f"user:u{number % 97}"))
        return few, (await _p50_s(world, alice), await _p50_s(world, curator))
    finally:
        await opened.close()


def _written(number: int, content: str) -> dict[str, object]:
    return {"command_id": f"w{number}", "content": content}


async def _caller(world: World, **names: str) -> Caller:
    request = TicketRequest.model_validate({"tenant": _TENANT, **names})
    token = (await world.tickets.issue(request, world.clock.now())).token
    return await world.tickets.verify(token, world.clock.now())


async def _p50_s(world: World, caller: Caller) -> float:
    taken: list[float] = []
    for number in range(_QUESTIONS):
        started = time.perf_counter()
        await search(world, caller, c.Search(query=f"harbour pier {number % 7}"))
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[_QUESTIONS // 4 :])


def _figure(name: str, what: str, value: float, bound: float) -> dict[str, Any]:
    return {
        "id": name, "what": what, "value": value, "bound": bound, "holds": value <= bound,
        "unit": "×",
    }  # fmt: skip
