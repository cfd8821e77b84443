"""What the policy costs a home that is in use: after a change, and beside the search it guards."""

import asyncio
import statistics
import tempfile
import time
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from hindsight_ray.adapters.policy.tickets import create_operator_key
from hindsight_ray.compose.embedded import world_of_home
from hindsight_ray.domain.access import Policy
from hindsight_ray.domain.caller import Caller, TicketRequest
from hindsight_ray.domain.commands import Revoke, Search, Share, Write
from hindsight_ray.domain.settings import Settings
from hindsight_ray.service import door
from hindsight_ray.service.admit import admit, policy_index, row_filter
from hindsight_ray.service.world import World

_CHANGES = 30
_SEARCHES = 60
_MEMORIES = 200


@dataclass(frozen=True, slots=True)
class Costs:
    """Medians in seconds over a home whose policy is as large as was given."""

    compile_s: float  # the first access of a caller after a change, its ledger reads included
    compile_p95_s: float
    change_s: float  # a share, committed
    rebuild_s: float  # reading and indexing the whole policy instead, once
    decide_s: float  # admitting a caller and filtering rows, between two searches
    search_s: float  # a search with the built-in model


async def costs(policy: Policy) -> Costs:
    """Measure over a fresh home with this policy; the default profile's rules are part of it."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        create_operator_key(folder)
        opened = await world_of_home(folder, Settings())
        stack.push_async_callback(opened.close)
        world = opened.world
        async with world.ledger.writing() as unit:
            await unit.policy.replace(policy.rules, policy.memberships, world.clock.now())
        owner, other = await _ticket(world, user="owner"), await _ticket(world, agent="reader")
        rebuild_s = await _rebuild_s(world)
        compiled, changed = await _after_changes(world, owner, other)
        decided, searched = await _searches(world, owner)
    return Costs(
        compile_s=statistics.median(compiled),
        compile_p95_s=sorted(compiled)[int(len(compiled) * 0.95)],
        change_s=statistics.median(changed),
        rebuild_s=rebuild_s,
        decide_s=statistics.median(decided),
        search_s=statistics.median(searched),
    )


async def _ticket(world: World, **who: str) -> str:
    async with world.ledger.writing() as unit:
        await unit.policy.add_tenant("t0", world.clock.now())
    request = TicketRequest.model_validate({"tenant": "t0", **who})
    return (await world.tickets.issue(request, world.clock.now())).token


async def _rebuild_s(world: World) -> float:
    started = time.perf_counter()
    async with world.ledger.reading() as unit:
        revision = (await unit.policy.standing("t0", "none")).revision
        world.access.keep_index(await policy_index(world, unit, revision))
    return time.perf_counter() - started


async def _after_changes(world: World, owner: str, other: str) -> tuple[list[float], list[float]]:
    """For each of some shares and revokes: how long it took, and the next caller's compile."""
    caller = await world.tickets.verify(other, world.clock.now())
    compiled: list[float] = []
    changed: list[float] = []
    for number in range(_CHANGES):
        for kind in (Share, Revoke):
            to = f"agent:friend{number}"
            fields = {"command_id": uuid.uuid4().hex, "scope": "user:owner", "to": to}
            started = time.perf_counter()
            await door.call(world, owner, kind.model_validate(fields))
            changed.append(time.perf_counter() - started)
            started = time.perf_counter()
            async with world.ledger.reading() as unit:
                await admit(world, unit, caller)
            compiled.append(time.perf_counter() - started)
    return compiled, changed


async def _searches(world: World, owner: str) -> tuple[list[float], list[float]]:
    for number in range(_MEMORIES):
        content = f"Shelf {number} in the store room holds part {number * 7919}"
        await door.call(world, owner, Write(command_id=f"w{number}", content=content))
    caller: Caller = await world.tickets.verify(owner, world.clock.now())
    decided: list[float] = []
    searched: list[float] = []
    for number in range(_SEARCHES):
        started = time.perf_counter()
        await door.call(world, owner, Search(query=f"where is part number {number}?"))
        searched.append(time.perf_counter() - started)
        async with world.ledger.reading() as unit:
            await unit.policy.standing("t0", "none")  # the snapshot that a search opens anyway
            started = time.perf_counter()
            admitted = await admit(world, unit, caller)
            filtered = await row_filter(world, unit, admitted)
            decided.append(time.perf_counter() - started)
        assert filtered.keys
    return decided, searched


def measured(policy: Policy) -> Costs:
    return asyncio.run(costs(policy))
